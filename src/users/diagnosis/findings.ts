// Says in sentences why a radio may hear nothing: a function of what the database and the relays know.
import type { Answers, RejectionFacts, SessionFacts } from '../../db/session-reports.js';
import type { Reach } from '../../protocol/codes.js';
import type { OneUser } from '../schemas.js';
import type { InQuestion } from './store.js';

/** The causes, in the order in which they are told. */
export const findingCodes = [
  'relay_silent',
  'device_disabled',
  'rejected',
  'no_session',
  'detached',
  'no_talkgroup',
  'not_member',
  'no_permission',
  'no_holder',
  'unsubscribed',
  'events_only',
  'lagging',
  'reach',
  'quiet',
  'in_order',
  'no_device',
] as const;

export interface Finding {
  readonly code: (typeof findingCodes)[number];
  /** One or two sentences. */
  readonly text: string;
  /** What helps. */
  readonly action: string;
}

export interface FoundSession extends SessionFacts {
  readonly node: string;
  readonly thread: string;
  readonly reach: Reach | null;
}

export interface FoundRejection extends RejectionFacts {
  readonly node: string;
}

export interface Facts {
  readonly shown: OneUser;
  /** null: the question names none. */
  readonly talkgroup: InQuestion | null;
  readonly answers: Pick<Answers, 'asked' | 'answered'>;
  readonly sessions: readonly FoundSession[];
  /** The newest first. */
  readonly rejected: readonly FoundRejection[];
  /** When audio was last relayed in the talkgroup. null: not since the nodes started. */
  readonly audioAt: string | null;
  readonly unixMs: number;
}

/** Without audio for this time (ms) a talkgroup is quiet. */
const QUIET_MS = 60_000;

/** In the order of `findingCodes`. Never empty: without a cause it has `in_order`. */
export function findingsOf(facts: Facts): Finding[] {
  const causes = [
    ...silentRelays(facts),
    ...disabledDevice(facts),
    ...missingSession(facts),
    ...missingMembership(facts),
    ...missingKeys(facts),
    ...unheard(facts),
    ...laggingSessions(facts),
    ...cutOff(facts),
    ...quietTalkgroup(facts),
  ];
  return [...causes, ...(causes.length === 0 ? inOrder(facts) : []), ...noDevice(facts)];
}

function* silentRelays({ answers: { asked, answered } }: Facts): Iterable<Finding> {
  if (asked === 0)
    yield {
      code: 'relay_silent',
      text: 'No node of the service is running, or none listens to this database.',
      action: 'Start the service, or name its database.',
    };
  const missing = asked - answered;
  if (missing > 0)
    yield {
      code: 'relay_silent',
      text: `${missing} of ${nodes(asked)} did not answer. Sessions there are missing here.`,
      action: 'Look at /readyz and at the log of each node.',
    };
}

function* disabledDevice({ shown: { device } }: Facts): Iterable<Finding> {
  if (device?.active === false)
    yield {
      code: 'device_disabled',
      text: `The device ${device.name} is disabled.`,
      action: 'Enable the device.',
    };
}

/** A rejection that came after the radio was last connected says more than that it is not. */
function* missingSession({ shown, sessions, rejected, answers }: Facts): Iterable<Finding> {
  const { username } = shown.user;
  const live = sessions.filter((one) => one.detached_since === null);
  const lastSeen =
    sessions
      .map((one) => one.detached_since ?? one.since)
      .sort()
      .at(-1) ?? '';
  const [last] = rejected;
  if (last !== undefined && last.at > lastSeen) yield rejection(last, shown);
  else if (sessions.length === 0)
    yield {
      code: 'no_session',
      text: `No radio of ${username} is connected, on ${nodes(answers.answered)}.`,
      action:
        'Check that the app runs and is logged in, then its address of the service, its network and the certificate.',
    };
  if (live.length > 0) return;
  for (const { detached_since: since } of sessions)
    if (since !== null)
      yield {
        code: 'detached',
        text: `The radio lost its connection at ${clock(since)} and has not returned.`,
        action: 'Check the network of the radio.',
      };
}

function rejection({ at, address, code, reason, issued_at }: FoundRejection, shown: OneUser): Finding {
  const validFrom = shown.tokens_valid_from;
  const isRevoked = validFrom !== null && issued_at < validFrom;
  const because = isRevoked ? `, because its token is older than the revocation at ${clock(validFrom)}` : '';
  return {
    code: 'rejected',
    text: `The last connection, at ${clock(at)} from ${address}, was closed with ${code} “${reason}”${because}.`,
    action: REJECTED[reason] ?? 'Try again. If it stays, look at the log of the node.',
  };
}

/** What helps, by the reason of the close. */
const REJECTED: Readonly<Record<string, string>> = {
  'invalid token': 'Log in again.',
  'unknown user': 'Log in with an account that exists.',
  'device disabled': 'Enable the device.',
  rate_limited: 'The app connects too often. It must wait between two attempts.',
};

function* missingMembership({ shown, talkgroup }: Facts): Iterable<Finding> {
  const { username } = shown.user;
  if (talkgroup === null && shown.talkgroups_total === 0)
    yield {
      code: 'no_talkgroup',
      text: `${username} is a member of no talkgroup.`,
      action: `Add ${username} to a talkgroup, or let the app join one.`,
    };
  if (talkgroup?.is_member === false)
    yield {
      code: 'not_member',
      text: `${username} is not a member of ${talkgroup.name}.`,
      action: `Add ${username}, or let the app join.`,
    };
}

/** The talkgroup in question, or all that are shown. */
const concerned = ({ shown, talkgroup }: Facts) =>
  talkgroup === null ? shown.talkgroups : talkgroup.is_member ? [talkgroup] : [];

function* missingKeys(facts: Facts): Iterable<Finding> {
  const { user, key_holders: holders } = facts.shown;
  const required = concerned(facts).filter(({ encryption }) => encryption === 'required');
  for (const { name, may_have_keys } of required)
    if (!may_have_keys)
      yield {
        code: 'no_permission',
        text: `${name} requires encryption, and ${user.username} may not have its keys.`,
        action: `Permit ${user.username} to have the keys of ${name}.`,
      };
  const [first] = required;
  if (first !== undefined && holders.accepted === 0)
    yield {
      code: 'no_holder',
      text: `${first.name} requires encryption, and ${user.username} has no accepted key holder. ${holders.waiting === 0 ? 'None waits.' : `${holders.waiting} of them wait.`}`,
      action: holders.waiting === 0 ? 'Let the app register a key holder.' : 'Accept the key holder.',
    };
}

function* unheard(facts: Facts): Iterable<Finding> {
  const names = new Map<string, string>(concerned(facts).map(({ id, name }) => [id, name]));
  for (const session of facts.sessions)
    for (const { talkgroup_id, mode } of session.exceptions) {
      const name = names.get(talkgroup_id);
      if (name === undefined || (mode !== 'none' && mode !== 'events')) continue;
      yield {
        code: mode === 'none' ? 'unsubscribed' : 'events_only',
        text:
          mode === 'none'
            ? `${subject(session, facts)} is unsubscribed from ${name}.`
            : `${subject(session, facts)} has ${name} in mode events and gets no audio there.`,
        action: `The app must subscribe to ${name} in mode talk or listen.`,
      };
    }
}

function* laggingSessions(facts: Facts): Iterable<Finding> {
  for (const session of facts.sessions)
    if (session.audio_paused_since !== null && session.detached_since === null)
      yield {
        code: 'lagging',
        text: `Audio is paused since ${clock(session.audio_paused_since)}, because ${subject(session, facts).toLowerCase()} does not read fast enough. It missed ${session.missed} frames.`,
        action: 'Check the network of the radio. Audio goes on by itself.',
      };
}

function* cutOff({ sessions }: Facts): Iterable<Finding> {
  const cut = new Map(sessions.map(({ node, reach }) => [node, reach]));
  for (const [node, reach] of cut)
    if (reach !== null && reach !== 'whole')
      yield {
        code: 'reach',
        text: `The node ${node} of the radio ${reach === 'alone' ? 'reaches no other node' : 'does not reach all nodes'}.`,
        action: 'Check the way from that node to NATS.',
      };
}

function* quietTalkgroup(facts: Facts): Iterable<Finding> {
  const { talkgroup, audioAt, unixMs } = facts;
  if (talkgroup?.is_member !== true) return;
  if (audioAt !== null && unixMs - Date.parse(audioAt) < QUIET_MS) return;
  yield {
    code: 'quiet',
    text:
      audioAt === null
        ? `No audio was relayed in ${talkgroup.name} since the nodes started.`
        : `No audio was relayed in ${talkgroup.name} since ${clock(audioAt)}.`,
    action: 'Let another member talk, and ask again meanwhile.',
  };
}

function* inOrder(facts: Facts): Iterable<Finding> {
  const { talkgroup, sessions, unixMs } = facts;
  for (const session of sessions) {
    const heardS = Math.max(0, Math.round((unixMs - Date.parse(session.heard_at)) / 1000));
    const { round_trip_ms: ms } = session;
    yield {
      code: 'in_order',
      text: `The relay sends ${talkgroup?.name ?? 'all talkgroups'} to ${subject(session, facts).toLowerCase()}, which was heard ${heardS} s ago${ms === null ? '' : ` and answered a ping after ${ms} ms`}.`,
      action: 'Look at volume, mute and sound settings of the app.',
    };
  }
}

function* noDevice({ shown: { user, device } }: Facts): Iterable<Finding> {
  if (device === null)
    yield {
      code: 'no_device',
      text: `${user.username} has no device, so there is no position and no lock by device. This keeps no audio away.`,
      action: 'Link a device by its serial.',
    };
}

const nodes = (count: number) => (count === 1 ? '1 node' : `${count} nodes`);

const subject = ({ session }: SessionFacts, { sessions }: Facts) =>
  sessions.length === 1 ? 'The radio' : `The radio with session ${session}`;

/** `2026-11-29 10:05:00 UTC`. */
const clock = (iso: string) => `${iso.slice(0, 19).replace('T', ' ')} UTC`;
