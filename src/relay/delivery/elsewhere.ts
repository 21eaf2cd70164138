// Describes the relays elsewhere that have receivers of a talkgroup, as the talkers of this relay use them.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import type { Draft } from '../../protocol/server-messages.js';

/** The running burst of a session of this relay. */
export interface OwnBurst {
  /** Number of its session. */
  readonly sender: number;
  readonly burst: number;
  /** Frames of it relayed so far. */
  readonly frames: number;
}

/** One talkgroup, in which relays elsewhere hear what is said here. */
export interface Elsewhere {
  /** A burst begins. */
  started(burst: Draft<RunningTalker>): void;
  /** The frame just relayed, stamped. */
  frame(burst: OwnBurst, message: ArrayBuffer, nowMs: number): void;
  ended(burst: OwnBurst, code: EndCode, durationMs: number): void;
}
