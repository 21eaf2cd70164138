// Holds what the relay counts as plain numbers, because the hot path increments them.
import { type Close, closes } from '../../protocol/closes.js';
import { type ErrorCode, errors, framesOnly, type TextRefusal } from '../../protocol/codes.js';
import { type FloorCounts, newFloorCounts, zeros } from './floor-counts.js';

/** Why the relay dropped a frame. */
const dropReasons = [
  /** The socket has no session any more, or its token was rejected. */
  'no_session',
  /** More than the relay keeps until WELCOME, or the socket got no WELCOME. */
  'before_welcome',
  /** It waited too long for WELCOME. */
  'too_old',
  'bad_frame',
  'not_member',
  'listen_only',
  'rate_limited',
  /** All sockets of the user together exceeded their budget. */
  'over_budget',
  'too_many_talkgroups',
  'withdrawn',
  /** Clear where it must be encrypted, or encrypted otherwise than announced. */
  'encryption',
  /** It belongs to a burst that the server ended or denied. */
  'muted',
  /** The first frame of a burst that floor control denied. */
  'denied',
  /** It waited for floor control: for more than 200 ms, or the answer was to ask again later. */
  'unanswered',
  'no_burst',
] as const;
export type DropReason = (typeof dropReasons)[number];

export interface Counts {
  /** Frames of sessions. Each is relayed, or dropped with a reason. */
  framesIn: number;
  framesRelayed: number;
  /** Frames that waited for others under load before they were sent to live receivers. */
  framesHeld: number;
  /** Relayed frames that some receivers did not get: they were buffered when the server revoked their burst. */
  discarded: number;
  bursts: number;
  /** Times uWebSockets.js dropped messages for a receiver with a full buffer. It does not say how many. */
  overruns: number;
  /** Times the audio of a lagging receiver was paused. */
  lagging: number;
  /** Receivers with paused audio now. */
  behind: number;
  /** Frames that receivers missed while their audio was paused, as LAG reports them. Includes receivers that did not return. */
  missed: number;
  /** Pongs that answer no ping of the relay. */
  strayPongs: number;
  /** Sessions that continued on another socket. */
  resumed: number;
  /** Detached sessions that were evicted before their time, for lack of space. */
  forgotten: number;
  /** Sessions that ended by a bug of the relay. */
  failed: number;
  readonly dropped: Record<DropReason, number>;
  /** Text messages that reached no session. */
  readonly textsDropped: Record<'no_session' | 'before_welcome', number>;
  /** Text messages of sessions, rejected ones included. */
  textsIn: number;
  /** By the code of their ERROR. Above a rate, only messages with a `ref` get an ERROR. */
  readonly textsRefused: Record<TextRefusal, number>;
  readonly handshakes: HandshakeCounts;
  /** Requests on the relay's port without a valid upgrade, by status. */
  readonly notUpgraded: Record<string, number>;
  /** Closed sockets that had a session, by close code. */
  readonly closed: Record<string, number>;
  /** Sockets of sessions that the relay closed, by reason. uWebSockets.js sends no reason for a socket that it drops. */
  readonly closes: Record<string, number>;
  readonly floor: FloorCounts;
  readonly positions: PositionCounts;
}

export interface PositionCounts {
  /** POSITIONS written once for all sessions that watch a talkgroup at one interval. */
  published: number;
  /** POSITIONS written for one session. */
  sent: number;
  /** EMERGENCY_POSITION. */
  emergencies: number;
  /** Positions of REST that this relay did not get, because it did not read. */
  dropped: number;
}

export interface HandshakeCounts {
  /** Handshakes that wait for the database now. */
  loading: number;
  /** Handshakes that became or resumed a session. Not those that disconnected during the read. */
  admitted: number;
  /** By the reason of the close. */
  readonly refused: Record<string, number>;
}

export const newCounts = (): Counts => ({
  framesIn: 0,
  framesRelayed: 0,
  framesHeld: 0,
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
  dropped: zeros(dropReasons),
  textsDropped: { no_session: 0, before_welcome: 0 },
  textsIn: 0,
  textsRefused: zeros(textRefusals()),
  handshakes: { loading: 0, admitted: 0, refused: zeros(reasonsTo('handshake')) },
  notUpgraded: zeros(NO_UPGRADE),
  closed: zeros([...CLOSE_CODES, 'other']),
  closes: zeros([...reasonsTo('session'), ...engineDrops]),
  floor: newFloorCounts(),
  positions: { published: 0, sent: 0, emergencies: 0, dropped: 0 },
});

/** Counts a handshake as loading until the returned function is called: with the close, or null when it is admitted. */
export function countHandshake({ handshakes }: Counts): (close: Close | null) => void {
  handshakes.loading++;
  return (close) => {
    handshakes.loading--;
    if (close !== null) add(handshakes.refused, close.reason);
  };
}

/** Counts a handshake that is closed without regard to the database. */
export function countRefused({ handshakes }: Counts, { reason }: Close): void {
  add(handshakes.refused, reason);
}

/** Counts a closed socket. A client may send any code, so all unknown codes share one label. */
export function countClose({ closed }: Counts, code: number): void {
  add(closed, CLOSE_CODES.has(code) ? String(code) : 'other');
}

/** Counts a plain HTTP request that was answered with this status. */
export function countNotUpgraded({ notUpgraded }: Counts, status: number): void {
  add(notUpgraded, String(status));
}

/** Counts a session's socket that the relay closes, or uWebSockets.js drops without a close frame. */
export function countOurClose({ closes }: Counts, reason: string): void {
  add(closes, reason);
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

const textRefusals = () =>
  (Object.keys(errors) as ErrorCode[]).filter(
    (code): code is TextRefusal => !framesOnly.some((one) => one === code),
  );

const reasonsTo = (who: 'handshake' | 'session') =>
  Object.values(closes)
    .filter(({ sentTo }) => sentTo === who || sentTo === 'both')
    .map(({ reason }) => reason);

/** Limits that uWebSockets.js enforces. It sends the client no close frame. */
const engineDrops = [closes.too_big.reason, 'timed out'] as const;

export type EngineDrop = (typeof engineDrops)[number];

/** Statuses that the relay's port answers to plain HTTP. */
const NO_UPGRADE = [400, 403, 404, 405, 426, 500];

/** RFC 6455 section 7.4.1 and the IANA registry. 1005 means no code, 1006 no close frame. */
const CLOSE_CODES: ReadonlySet<number> = new Set([
  1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
]);
