// Describes bursts of one talkgroup as the order of their turns sees them, and what becomes of them.
import type { EndCode } from '../../../protocol/codes.js';
import type { Turn } from '../../../protocol/turn.js';
import type { Claim } from '../../floor/claim.js';
import type { RemoteBurst } from '../../floor/remote.js';

/** A burst by its names for ever, and `relay`, where its session is now. */
export interface BurstName {
  readonly relay: number;
  /** Times that its session had moved to another relay. undefined: 0. */
  readonly moves?: number;
  readonly session: number;
  readonly burst: number;
}

type Name = Pick<BurstName, 'session' | 'burst'>;
export const isSame = (one: Name, other: Name) => one.session === other.session && one.burst === other.burst;

/** Whether the session of the burst has moved since it was told as `known`. */
export const hasMoved = (known: BurstName, told: BurstName) => (told.moves ?? 0) > (known.moves ?? 0);

/** What a talker asked for the floor with. `priority` is its own, whatever it counts as. */
export type AskedWith = Pick<Claim, 'priority' | 'isAdmin'>;

export interface Ended {
  readonly code: EndCode;
  readonly durationMs: number | null;
  /** Frames in all. */
  readonly frames: number;
}

/** What becomes of bursts here. Calls back in the order in which listeners must hear of it. */
export interface Plays<B extends BurstName> {
  /** A burst of another relay begins. `frames` is the index of the last frame before. */
  begin(burst: B, frames: number, nowMs: number): void;
  frame(burst: B, message: ArrayBuffer, index: number, nowMs: number): void;
  /** So many frames of it are not played, though its relay relayed them. It may not have begun here. */
  missed(burst: B, frames: number, nowMs: number): void;
  end(burst: B, ended: Ended, nowMs: number): void;
  /** Nothing plays any more that the grant had to wait for. */
  ready(turn: Turn, nowMs: number): void;
}

/** What a relay knows beside the turns. */
export interface Views<B extends BurstName> {
  /** The home of the talkgroup, as this relay sees it now. */
  home(): number;
  /** The rank of the claim with which a burst of another relay has the floor. The higher one keeps it. */
  rankOf(burst: B): number;
}

/** A frame as its header names it. The same object may be passed again and again. */
export interface FrameHead extends BurstName {
  readonly count: number;
  readonly home: number;
  readonly index: number;
}

/**
 * `unknown`: of a burst whose start was not heard. `fenced`: of a burst that ended here and goes on elsewhere, told at most
 * once in 250 ms.
 */
export type FrameFate = 'played' | 'held' | 'dropped' | 'unknown' | 'fenced';

/** The burst of another relay that plays here. */
export interface PlayedTalk {
  readonly relay: number;
  readonly claim: Claim;
  readonly turn: Turn;
  /** When it began (monotonic ms). */
  readonly startedAtMs: number;
  /** When its last frame came here, or its start (monotonic ms). */
  readonly frameAtMs: number;
}

/** Plays one burst of another relay here. */
export type PlayedBurst = Pick<RemoteBurst, 'frame' | 'missed' | 'end' | 'drop'>;

/** Bursts of other relays that were heard in `open`. One of them may go on with a turn. */
export interface KeptBursts {
  /** null: it is none of them. From now on it is none of them. `index` is that of the last frame. */
  take(session: number, burst: number): { readonly played: PlayedBurst; readonly index: number } | null;
  /** They do not go on: another burst begins. */
  end(): void;
}

/** A burst that goes on in `open`. */
export interface HandedOver {
  readonly relay: number;
  readonly session: number;
  readonly heard: { burst: number; played: PlayedBurst; seq: number; index: number };
}
