// Describes the burst that plays in the order of turns, the one that is held back, and frames of one that is over.
import type { Turn } from '../../../protocol/turn.js';
import type { Ended, Placed } from './plays.js';

/** The burst that plays. */
export interface On<B> {
  /** Another one when its session moves. */
  burst: B;
  readonly isOwn: boolean;
  /** null: a burst of this relay that began without the word of a home. */
  turn: Turn | null;
  index: number;
}

/** A burst that is held back, or (`burst` null) a grant to a session of this relay. */
export interface Held<B> {
  burst: B | null;
  placed: Placed;
  readonly frames: { readonly message: ArrayBuffer; readonly index: number }[];
  /** Index of the last frame before it is heard here. */
  readonly from: number;
  index: number;
  ended: Ended | null;
  readonly sinceMs: number;
}

export const heldBack = <B>(burst: B | null, placed: Placed, from: number, sinceMs: number): Held<B> => ({
  ...{ burst, placed, frames: [], from, index: from, ended: null, sinceMs },
});

/** Frames of a burst that ended here come on for this time (ms): here it ended wrongly. */
const PAST_MS = 150;
/** Time (ms) between two complaints about it. */
const FENCED_MS = 250;

/** Watches for frames of a burst that ended here and goes on elsewhere. */
export class Fence {
  private pastSinceMs = Number.NEGATIVE_INFINITY;
  private pastAtMs = Number.NEGATIVE_INFINITY;
  private fencedAtMs = Number.NEGATIVE_INFINITY;

  /** One came. true: they go on for PAST_MS, which is said at most once in FENCED_MS. */
  isWronglyOver(nowMs: number): boolean {
    if (nowMs - this.pastAtMs > PAST_MS) this.pastSinceMs = nowMs;
    this.pastAtMs = nowMs;
    if (nowMs - this.pastSinceMs < PAST_MS || nowMs - this.fencedAtMs < FENCED_MS) return false;
    this.fencedAtMs = nowMs;
    return true;
  }
}
