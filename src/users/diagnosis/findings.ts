// Says in sentences why a radio may hear nothing: a function of what the database and the relays know.
import type { SessionFacts } from '../../db/session-reports.js';
import type { OneUser } from '../schemas.js';
import type { Facts, FoundRejection } from './facts.js';

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

/** Closes that pass: a node restarts, is full, or is asked too often. Later they say nothing (ms). */
const PASSING_MS = 600_000;
const POLICY = 1008;
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

function* silentRelays({ asked, answered, relays }: Facts): Iterable<Finding> {
  if (asked === 0)
    yield {
      code: 'relay_silent',
      text: 'No node of the service is running, or none listens to this database.',
      action: 'Start the service, or name its database.',
    };
  else if (answered < asked)
    yield {
      code: 'relay_silent',
      text: `${asked - answered} of ${nodes(asked)} did not answer. Sessions there are missing here.`,
      action: 'Look at /readyz and at the log of each node.',
    };
  else if (relays.answered < relays.known)
    yield {
      code: 'relay_silent',
      text: `The nodes know of ${relays.known} relay threads, and ${relays.answered} answered. The others have lost the database. Sessions there are missing here.`,
      action: 'Look at /readyz of each node.',
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

const liveOf = ({ sessions }: Facts) => sessions.filter((one) => one.detached_since === null);

/** A rejection that came after the radio was last connected says more than that it is not. */
function* missingSession(facts: Facts): Iterable<Finding> {
  const { shown, sessions, answered } = facts;
  const rejected = lastRejection(facts);
  if (rejected !== undefined) yield rejection(rejected, shown);
  else if (sessions.length === 0 && answered > 0)
    yield {
      code: 'no_session',
      text: `No radio of ${shown.user.username} is connected, on ${nodes(answered)}.`,
      action:
        'Check that the app runs and is logged in, then its address of the service, its network and the certificate.',
    };
  if (liveOf(facts).length > 0) return;
  for (const { detached_since: since } of sessions)
    if (since !== null)
      yield {
        code: 'detached',
        text: `The radio has had no connection since ${clock(since)}, and has not returned.`,
        action: 'Check the network of the radio, and that its app runs.',
      };
}

/** One that says that the token or the account is at fault comes before one that passes by itself. */
function lastRejection({ rejected, sessions, admittedAt, unixMs }: Facts): FoundRejection | undefined {
  const seen = sessions.map((one) => one.detached_since ?? one.since);
  const lastSeen = [...seen, admittedAt ?? ''].sort().at(-1) ?? '';
  const newer = rejected.filter(({ at }) => at > lastSeen);
  return (
    newer.find(({ code }) => code === POLICY) ?? newer.find(({ at }) => unixMs - Date.parse(at) < PASSING_MS)
  );
}

function rejection({ at, address, code, reason, issued_at }: FoundRejection, shown: OneUser): Finding {
  const validFrom = shown.tokens_valid_from;
  const isRevoked = reason === 'invalid token' && validFrom !== null && issued_at < validFrom;
  const because = isRevoked ? `, because its token is older than the revocation at ${clock(validFrom)}` : '';
  return {
    code: 'rejected',
    text: `A connection at ${clock(at)} from ${address} was closed with ${code} “${reason}”${because}.`,
    action: REJECTED[reason] ?? 'Wait. When it stays, look at the log of the node.',
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
  const without = required.filter(({ may_have_keys }) => !may_have_keys).map(({ name }) => name);
  if (without.length > 0)
    yield {
      code: 'no_permission',
      text: `Encryption is required in ${list(without)}, and ${user.username} may not have the keys.`,
      action: `Permit ${user.username} to have the keys.`,
    };
  if (required.length === 0 || (holders.accepted > 0 && holders.waiting === 0)) return;
  const names = list(required.map(({ name }) => name));
  yield {
    code: 'no_holder',
    text:
      holders.waiting > 0
        ? `Encryption is required in ${names}, and ${holders.waiting} of the key holders of ${user.username} wait to be accepted.`
        : `Encryption is required in ${names}, and ${user.username} has no key holder.`,
    action:
      holders.waiting > 0 ? 'Accept the key holder of the radio.' : 'Let the app register a key holder.',
  };
}

/** As `Fire 1 and 3 other talkgroups`. */
function list(names: readonly string[]): string {
  const [first = '', ...others] = names;
  if (others.length === 0) return first;
  return `${first} and ${others.length === 1 ? '1 other talkgroup' : `${others.length} other talkgroups`}`;
}

function* unheard(facts: Facts): Iterable<Finding> {
  const names = new Map<string, string>(concerned(facts).map(({ id, name }) => [id, name]));
  for (const session of liveOf(facts)) {
    const inMode = (wanted: string) =>
      session.exceptions.flatMap(({ talkgroup_id, mode }) =>
        mode === wanted ? (names.get(talkgroup_id) ?? []) : [],
      );
    const [none, events] = [inMode('none'), inMode('events')];
    if (none.length > 0)
      yield {
        code: 'unsubscribed',
        text: `${subject(session, facts)} is unsubscribed from ${list(none)}.`,
        action: 'The app must subscribe in mode talk or listen.',
      };
    if (events.length > 0)
      yield {
        code: 'events_only',
        text: `${subject(session, facts)} has ${list(events)} in mode events and gets no audio there.`,
        action: 'The app must subscribe in mode talk or listen.',
      };
  }
}

function* laggingSessions(facts: Facts): Iterable<Finding> {
  for (const session of liveOf(facts))
    if (session.audio_paused_since !== null)
      yield {
        code: 'lagging',
        text: `Audio has been paused since ${clock(session.audio_paused_since)}, because ${subject(session, facts).toLowerCase()} does not read fast enough. It missed ${session.missed} frames.`,
        action: 'Check the network of the radio. Audio goes on by itself.',
      };
}

/** Its relay reaches fewer relays than have answered: who talks there is not heard. */
function* cutOff(facts: Facts): Iterable<Finding> {
  const cut = new Set<string>();
  for (const { node, reach, relays } of liveOf(facts))
    if ((reach !== null && reach !== 'whole') || relays < facts.relays.answered) cut.add(node);
  for (const node of cut)
    yield {
      code: 'reach',
      text: `The node ${node} of the radio does not reach all others.`,
      action: 'Check NATS_URL of each node, and the way to NATS.',
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
        ? `No relay remembers audio in ${talkgroup.name}.`
        : `No audio was relayed in ${talkgroup.name} since ${clock(audioAt)}.`,
    action: 'Let another member talk, and ask again meanwhile.',
  };
}

function* inOrder(facts: Facts): Iterable<Finding> {
  const { talkgroup, unixMs } = facts;
  for (const session of liveOf(facts)) {
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

const subject = ({ session }: SessionFacts, facts: Facts) =>
  liveOf(facts).length === 1 ? 'The radio' : `The radio with session ${session}`;

/** `2026-11-29 10:05:00 UTC`. */
const clock = (iso: string) => `${iso.slice(0, 19).replace('T', ' ')} UTC`;
