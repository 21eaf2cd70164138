// Declares the words of the floor machine: floor, holder, event, outcome, step.
import type { EndCode, FloorMode, RevokeCode } from '../../protocol/codes.js';
import type { Claim } from './claim.js';
import type { Waiting } from './queue.js';

/** T2 of a talker in an emergency (ms). */
export const EMERGENCY_TALK_MS_MAX = 120_000;

/** A session that has the floor. In `open` there may be several, else at most one. */
export interface Holder {
  readonly claim: Claim;
  readonly priority: number;
  readonly grantedAtMs: number;
  /** When its first return repeated the grant (ms), null: never. An unused grant expires from here, whatever returns follow. */
  readonly toldAgainAtMs: number | null;
  /** null until the first frame. */
  readonly startedAtMs: number | null;
  /** T2 of this grant (ms), 0: none. Nothing shortens it later. An emergency raised during the burst may lengthen it. */
  readonly talkMsMax: number;
  /** When its socket died, null while the socket is open. */
  readonly lostAtMs: number | null;
}

export interface Floor {
  readonly mode: FloorMode;
  /** T2 of the talkgroup (ms), 0: none. `open` has none. */
  readonly maxTalkMs: number;
  /** In the order of their grants. */
  readonly holders: readonly Holder[];
  /** In the order in which they get the floor. */
  readonly waiting: readonly Waiting[];
}

export const emptyFloor = (mode: FloorMode, maxTalkMs: number): Floor => ({
  mode,
  maxTalkMs,
  holders: [],
  waiting: [],
});

/** The session with this number, when it has the floor. */
export const holderOf = (floor: Floor, session: number) =>
  floor.holders.find(({ claim }) => claim.session === session);

/** The session with this number, when it is queued. */
export const waitingOf = (floor: Floor, session: number) =>
  floor.waiting.find((one) => one.session === session);

/** No holder and no queue: a tick would change nothing. */
export const isIdle = ({ holders, waiting }: Floor) => holders.length === 0 && waiting.length === 0;

export type FloorEvent =
  /** FLOOR_REQUEST. `queue`: it is queued when it is not granted. */
  | { readonly kind: 'request'; readonly claim: Claim; readonly queue: boolean }
  /** The first frame of a burst: a request when there is no grant, else the start of the burst. */
  | { readonly kind: 'frame'; readonly claim: Claim }
  /** END, FLOOR_RELEASE, or silence of T1 in a running burst. A START inside a burst is this, then its frame. */
  | { readonly kind: 'release'; readonly session: number; readonly code: 'released' | 'silence' }
  /** The permission to talk was revoked, or the user's sockets together exceed their budget. */
  | { readonly kind: 'removed'; readonly session: number; readonly code: Removal }
  /** The socket died. `forGood`: the session ended. No other event of this session comes before it returns. */
  | { readonly kind: 'lost'; readonly session: number; readonly forGood: boolean }
  /** The session has another socket. The old one may have died unnoticed. */
  | { readonly kind: 'returned'; readonly session: number }
  /** The talkgroup's settings changed. */
  | { readonly kind: 'settings'; readonly mode: FloorMode; readonly maxTalkMs: number }
  | EmergencyChange
  /** `leewayMs`: a session of another relay has so much more time (ms), because that relay ends what is its own. */
  | { readonly kind: 'tick'; readonly leewayMs?: (session: number) => number };

export type Removal = 'left' | 'deleted' | 'disabled' | 'rate_limited' | 'mode';

/** An emergency of the user of these sessions was raised or cleared. */
export interface EmergencyChange {
  readonly kind: 'emergency';
  readonly sessions: ReadonlySet<number>;
  readonly inEmergency: boolean;
}

/** Announcements, each made exactly once, in this order. */
export type Outcome =
  | { readonly kind: 'granted'; readonly holder: Holder }
  | { readonly kind: 'started'; readonly holder: Holder }
  | { readonly kind: 'denied'; readonly session: number; readonly code: 'busy' | 'queue_full' | 'forbidden' }
  /** The place of a queued session with a socket: a new place, or the answer to a request or a return. */
  | { readonly kind: 'queued'; readonly session: number; readonly position: number; readonly size: number }
  /** The server revoked a grant. `ended` follows when a burst was running. */
  | { readonly kind: 'revoked'; readonly session: number; readonly code: RevokeCode }
  /** A burst ended. */
  | { readonly kind: 'ended'; readonly session: number; readonly code: EndCode }
  /** An emergency began or ended, and with it the priority of this grant. */
  | { readonly kind: 'changed'; readonly holder: Holder };

/** Of an outcome, or a verdict. */
export const sessionOf = (of: { readonly session: number } | { readonly holder: Holder }): number =>
  'holder' in of ? of.holder.claim.session : of.session;

export interface Step {
  readonly floor: Floor;
  readonly outcomes: readonly Outcome[];
}

export const unchanged = (floor: Floor): Step => ({ floor, outcomes: [] });

/** The second step was made on the floor of the first. */
export const both = (first: Step, second: Step): Step => ({
  floor: second.floor,
  outcomes: [...first.outcomes, ...second.outcomes],
});

/** The outcomes when the server revokes a grant. */
export function takenFrom(holder: Holder, code: RevokeCode): Outcome[] {
  const revoked: Outcome = { kind: 'revoked', session: holder.claim.session, code };
  return code === 'unused' ? [revoked] : [revoked, ...endOf(holder, code)];
}

/** The outcome when a grant ends: none if no burst was running. */
export const endOf = (holder: Holder, code: EndCode): Outcome[] =>
  holder.startedAtMs === null ? [] : [{ kind: 'ended', session: holder.claim.session, code }];

/** Those that had something of the floor and have nothing of it now. */
export function leaving(before: Floor, after: Floor): number[] {
  if (before === after) return [];
  const had = [
    ...before.holders.map(({ claim }) => claim.session),
    ...before.waiting.map((one) => one.session),
  ];
  return had.filter((session) => !holderOf(after, session) && !waitingOf(after, session));
}
