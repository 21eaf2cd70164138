// Describes the burst that plays in the order of turns, and the one that is held back.
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
