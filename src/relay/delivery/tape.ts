// Describes how the running burst of a session of this relay is recorded, as the way of a frame and floor control use it.
import type { EndCode } from '../../protocol/codes.js';

/** One running burst, or what follows of it. */
export interface Tape {
  /** Keeps a copy of the frame just relayed, stamped. `index`: its place in the burst, from 1. */
  frame(view: DataView, index: number): void;
  /** The burst has ended, with so many frames. */
  ended(code: EndCode, durationMs: number, frames: number): void;
  /** What another relay needs to go on with it. null: it is not recorded any more. */
  moving(): MovedTape | null;
  /** The burst goes on at another relay. */
  left(): void;
}

/** The recording of a burst on its way to another relay. */
export interface MovedTape {
  readonly days: number;
  readonly piece: number;
  /** Index of the first frame of the piece. */
  readonly from: number;
  /** When the piece began (Unix ms). */
  readonly at: number;
}
