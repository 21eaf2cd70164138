// Describes a receiver of audio as delivery uses it.
import type { Voice } from './peer.js';

/** What one session hears. */
export interface Hearer {
  /** Number of its session. */
  readonly number: number;
  /** Sends a frame to it alone, unless `from` is its own socket. Drops a frame that its send buffer has no room for. */
  give(frame: ArrayBuffer, from: Voice): void;
  /** Subscribes to this topic: no older frames are buffered for it any more. */
  arrive(topic: string): void;
  /** Pings it after a frame of the talkgroup with this number, unless it was pinged since `latelyMs` (fair time). */
  askBehindFrame(talkgroup: { readonly number: number }, text: string, latelyMs: number): void;
}
