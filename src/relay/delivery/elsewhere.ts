// Describes the relays elsewhere that have receivers of a talkgroup, as the talkers of this relay use them.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import type { Draft } from '../../protocol/server-messages.js';
import type { Turn } from '../../protocol/turn.js';

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

/** One talkgroup, in which this relay plays its own bursts and those of other relays in one order. */
export interface OwnTurns {
  /** A burst of this relay is about to begin: what plays here ends before. */
  starting(burst: OwnBurst, nowMs: number): void;
  /** Whether a burst that runs at another relay with this turn may go on at this one, where its session comes. */
  mayGoOn(burst: OwnBurst, turn: Turn): boolean;
  /** It goes on here. */
  goesOnHere(burst: OwnBurst, nowMs: number): void;
  /** It does not, and has ended: the other relays are told. */
  endedBefore(burst: OwnBurst, turn: Turn, code: EndCode, durationMs: number): void;
  /** It has ended: what waited for that begins. */
  over(nowMs: number): void;
}
