// What the relay counts: plain numbers, because the hot path increments them.
import { type Close, closes } from '../protocol/closes.js';
import type { TextRefusal } from '../protocol/codes.js';
import { type FloorCounts, newFloorCounts } from './floor-counts.js';
import type { Admission } from './relay.js';

export type DropReason =
  /** The socket has no session any more, or its token was refused. */
  | 'no_session'
  /** Beyond what is kept until WELCOME, or the socket got no WELCOME. */
  | 'before_welcome'
  /** It waited for WELCOME for too long. */
  | 'too_old'
  | 'bad_frame'
  | 'not_member'
  | 'listen_only'
  | 'rate_limited'
  /** All sockets of the user together sent too much. */
  | 'over_budget'
  | 'too_many_talkgroups'
  | 'withdrawn'
  /** Of a burst that the server ended or denied. */
  | 'muted'
  /** The first of a burst that the floor denied. */
  | 'denied'
  | 'no_burst';

export interface Counts {
  /** Of sessions; each is relayed or dropped with a reason. */
  framesIn: number;
  framesRelayed: number;
  /** Relayed ones that some receivers were not given: held for them when the server took their burst back. */
  discarded: number;
  bursts: number;
  /** Times the engine dropped what was meant for a receiver whose buffer was full; how much it dropped it does not say. */
  overruns: number;
  /** Times a receiver was taken out of the audio for being too slow. */
  lagging: number;
  /** Receivers out of the audio right now. */
  behind: number;
  /** Frames that went by receivers while they were out of it: what LAG tells them, or would have told who did not return. */
  missed: number;
  /** Pongs that answer no ping of ours. */
  strayPongs: number;
  /** Sessions that went on over another socket. */
  resumed: number;
  /** Sessions kept for their return that were given up before their time, for want of room. */
  forgotten: number;
  /** Sessions that ended by a fault of ours. */
  failed: number;
  readonly dropped: Record<DropReason, number>;
  /** Text messages that no session received. */
  readonly textsDropped: Record<'no_session' | 'before_welcome', number>;
  /** Text messages of sessions, refused ones included. */
  textsIn: number;
  /** By the code of their ERROR, which beyond a rate only those get that ask for an answer. */
  readonly textsRefused: Record<TextRefusal, number>;
  readonly handshakes: HandshakeCounts;
  /** Requests on the relay's port that are no upgrade or a bad one, by status. */
  readonly notUpgraded: Record<string, number>;
  /** Closed sockets that had a session, by close code. */
  readonly closed: Record<string, number>;
  /** Sockets of sessions that we closed, by the reason they were given; those that the engine dropped were given none. */
  readonly closes: Record<string, number>;
  readonly floor: FloorCounts;
}

export interface HandshakeCounts {
  /** Those that wait for the database right now. */
  loading: number;
  /** Those that became or resumed a session: not who had gone while it was loaded. */
  admitted: number;
  /** By the reason of the close. */
  readonly refused: Record<string, number>;
}

export const newCounts = (): Counts => ({
  framesIn: 0,
  framesRelayed: 0,
  discarded: 0,
  bursts: 0,
  overruns: 0,
  lagging: 0,
  behind: 0,
  missed: 0,
  strayPongs: 0,
  resumed: 0,
  forgotten: 0,
  failed: 0,
  dropped: {
    no_session: 0,
    before_welcome: 0,
    too_old: 0,
    bad_frame: 0,
    not_member: 0,
    listen_only: 0,
    rate_limited: 0,
    over_budget: 0,
    too_many_talkgroups: 0,
    withdrawn: 0,
    muted: 0,
    denied: 0,
    no_burst: 0,
  },
  textsDropped: { no_session: 0, before_welcome: 0 },
  textsIn: 0,
  textsRefused: {
    bad_message: 0,
    unknown_type: 0,
    not_member: 0,
    not_holder: 0,
    too_many_talkgroups: 0,
    rate_limited: 0,
    unknown_device: 0,
    unknown_emergency: 0,
    forbidden: 0,
    unavailable: 0,
  },
  handshakes: { loading: 0, admitted: 0, refused: zeros(REFUSALS.map(({ reason }) => reason)) },
  notUpgraded: zeros(NO_UPGRADE),
  closed: zeros([...CLOSE_CODES, 'other']),
  closes: zeros([...ENDS.map(({ reason }) => reason), ...engineDrops]),
  floor: newFloorCounts(),
});

/** Counts a handshake as loading until it is answered with `done`. */
export function countHandshake(
  { handshakes }: Counts,
  done: (admission: Admission) => void,
): (admission: Admission) => void {
  handshakes.loading++;
  return (admission) => {
    handshakes.loading--;
    if ('close' in admission) add(handshakes.refused, admission.close.reason);
    done(admission);
  };
}

/** A handshake that is closed before anything is loaded for it, or whatever the database says of it later. */
export function countRefused({ handshakes }: Counts, { reason }: Close): void {
  add(handshakes.refused, reason);
}

/** A client closes with whatever code it likes, and labels must not be without end: the unknown ones are one. */
export function countClose({ closed }: Counts, code: number): void {
  add(closed, CLOSE_CODES.has(code) ? String(code) : 'other');
}

/** A request of plain HTTP, answered with that status. */
export function countNotUpgraded({ notUpgraded }: Counts, status: number): void {
  add(notUpgraded, String(status));
}

/** A session's socket that we close. */
export function countOurClose({ closes }: Counts, { reason }: Close): void {
  add(closes, reason);
}

/** A session's socket that the engine dropped without a close frame. */
export function countEngineDrop({ closes }: Counts, reason: EngineDrop): void {
  add(closes, reason);
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** A series begins at 0 and not with its first event, which nobody would see as a change. */
const zeros = (names: Iterable<string | number>): Record<string, number> =>
  Object.fromEntries([...names].map((name) => [name, 0]));

/** What ends a session's socket; the session ends with it, is kept, or goes on over another one. */
const ENDS = [
  closes.resumed,
  closes.invalid_token,
  closes.unknown_user,
  closes.device_disabled,
  closes.too_big,
  closes.internal,
  closes.restart,
  closes.slow_consumer,
  closes.rate_limited,
  closes.replaced,
];

/** Limits that the engine keeps for us, which tells nobody but us. */
const engineDrops = [closes.too_big.reason, 'timed out'] as const;

export type EngineDrop = (typeof engineDrops)[number];

/** What a handshake can be answered with. */
const REFUSALS = [
  closes.invalid_token,
  closes.unknown_user,
  closes.device_disabled,
  closes.overloaded,
  closes.restart,
  closes.internal,
  closes.rate_limited,
];

/** What the relay's port answers to plain HTTP. */
const NO_UPGRADE = [400, 403, 404, 405, 426, 500];

/** RFC 6455 section 7.4.1 and the IANA registry; 1005 and 1006 stand for no code and no close frame at all. */
const CLOSE_CODES: ReadonlySet<number> = new Set([
  1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
]);
