// Says what the connections of a user have to do with it that a radio hears nothing.
import type { SessionFacts } from '../../db/session-reports.js';
import type { Facts, FoundRejection, FoundSession } from './facts.js';
import type { Finding } from './finding.js';
import { clock, nodes } from './wording.js';

/** Closes that pass: a node restarts, is full, or is asked too often. Later they say nothing (ms). */
const PASSING_MS = 600_000;
const POLICY = 1008;

export const connectedOf = ({ sessions }: Facts) => sessions.filter((one) => one.detached_since === null);

/**
 * Those with a connection, the newest first. Without one whose audio is paused, and from which nothing came since a newer one was
 * opened: a radio whose network was lost comes again, perhaps to another node, and its old connection takes a minute to end.
 */
export function liveOf(facts: Facts): readonly FoundSession[] {
  const [newest, ...older] = connectedOf(facts).sort((one, other) => (one.since < other.since ? 1 : -1));
  if (newest === undefined) return [];
  return [
    newest,
    ...older.filter(({ audio_paused_since: paused, heard_at }) => paused === null || heard_at > newest.since),
  ];
}

/** A rejection that came after the radio was last connected says more than that it is not. */
export function* rejection(facts: Facts): Iterable<Finding> {
  const rejected = lastRejection(facts);
  if (rejected === undefined) return;
  const { at, code, reason, issued_at } = rejected;
  const { user, tokens_valid_from: validFrom } = facts.shown;
  const isRevoked = reason === 'invalid token' && validFrom !== null && issued_at < validFrom;
  const because = isRevoked ? `, because tokens issued before ${clock(validFrom)} are revoked` : '';
  yield {
    code: 'rejected',
    text: `A connection of ${user.username} was closed at ${clock(at)} with ${code} “${reason}”${because}.`,
    action:
      facts.shown.device?.active !== false && reason === 'device disabled' ? ENABLED : actionFor(reason),
  };
}

const ENABLED = 'The device is enabled again. The radio tries about once a minute.';

const actionFor = (reason: string) => REJECTED[reason] ?? 'Wait. When it stays, look at the log of the node.';

/** What helps, by the reason of the close. */
const REJECTED: Readonly<Record<string, string>> = {
  'invalid token': 'Log in again.',
  'unknown user': 'Log in with an account that exists.',
  'device disabled': 'Enable the device.',
  rate_limited: 'The app connects too often. It must wait between two attempts.',
};

/** One that says that the token or the account is at fault comes before one that passes by itself. */
function lastRejection({ rejected, sessions, admittedAt, unixMs }: Facts): FoundRejection | undefined {
  const seen = sessions.map((one) => one.detached_since ?? one.since);
  const lastSeen = [...seen, admittedAt ?? ''].sort().at(-1) ?? '';
  const newer = rejected.filter(({ at }) => at > lastSeen);
  return (
    newer.find(({ code }) => code === POLICY) ?? newer.find(({ at }) => unixMs - Date.parse(at) < PASSING_MS)
  );
}

export function* missingSession(facts: Facts): Iterable<Finding> {
  const { shown, sessions, asked, answered, admittedAt } = facts;
  const { username } = shown.user;
  const where = answered < asked ? `the ${nodes(answered)} that answered` : nodes(answered);
  const last = admittedAt === null ? '' : ` The last one connected at ${clock(admittedAt)}.`;
  if (sessions.length === 0 && answered > 0 && lastRejection(facts) === undefined)
    yield {
      code: 'no_session',
      text: `No radio of ${username} is connected, on ${where}.${last}`,
      action:
        'Check that the app runs and is logged in, then its address of the service, its network and the certificate.',
    };
  if (connectedOf(facts).length > 0) return;
  for (const { detached_since: since } of sessions)
    if (since !== null)
      yield {
        code: 'detached',
        text: `The radio of ${username} has had no connection since ${clock(since)} and has not returned.`,
        action: 'Check the network of the radio, and that its app runs.',
      };
}

export function* laggingSessions(facts: Facts): Iterable<Finding> {
  for (const session of liveOf(facts))
    if (session.audio_paused_since !== null)
      yield {
        code: 'lagging',
        text: `Audio has been paused since ${clock(session.audio_paused_since)}, because ${inside(subject(session, facts))} does not read fast enough. It missed ${session.missed} frames.`,
        action: 'Check the network of the radio. Audio goes on by itself.',
      };
}

/** Its relay reaches fewer relays than have answered: a talker there is not heard. */
export function* cutOff(facts: Facts): Iterable<Finding> {
  const cut = new Set<string>();
  for (const { node, reach, relays } of liveOf(facts))
    if ((reach !== null && reach !== 'whole') || relays < facts.relays.answered) cut.add(node);
  for (const node of cut) {
    const others = facts.alone.filter((one) => one !== node);
    yield {
      code: 'reach',
      text: `The node ${node}, where ${facts.shown.user.username} is connected, ${reachOf(facts.alone.includes(node), others)}, so talkers there are not heard.`,
      action: 'Check NATS_URL of each node, and the way to NATS.',
    };
  }
}

function reachOf(isAlone: boolean, others: readonly string[]): string {
  if (isAlone) return 'is cut off from all others';
  return `does not reach ${others.length > 0 ? `the node ${others.join(' and the node ')}` : 'all others'}`;
}

export const subject = ({ session }: SessionFacts, facts: Facts) =>
  `The radio of ${facts.shown.user.username}${connectedOf(facts).length === 1 ? '' : ` with session ${session}`}`;

/** For the middle of a sentence. */
export const inside = (subject: string) => `${subject.charAt(0).toLowerCase()}${subject.slice(1)}`;
