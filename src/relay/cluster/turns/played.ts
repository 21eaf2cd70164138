// Describes the bursts of other relays that play: those with a turn, and those of `open`.
import type { RunningTalker } from '../../../protocol/bodies.js';
import type { Turn } from '../../../protocol/turn.js';
import type { PlayedBurst } from '../stage.js';
import type { AskedWith } from './plays.js';

/** Bursts of other relays that were heard in `open`. One of them may go on with a turn. */
export interface KeptBursts {
  /** null: it is none of them. From now on it is none of them. `index` is that of the last frame. */
  take(session: number, burst: number): { readonly played: PlayedBurst; readonly index: number } | null;
  /** They do not go on: another burst begins. */
  end(): void;
}

/** The burst of another relay that plays here. */
export interface PlayedTurn {
  readonly relay: number;
  readonly talker: RunningTalker;
  /** null: its relay did not tell. */
  readonly claim: AskedWith | null;
  readonly turn: Turn;
  readonly startedAtMs: number;
  /** When its last frame was played, or it began (monotonic ms). */
  readonly frameAtMs: number;
}

/** A burst that goes on in `open`. */
export interface HandedOver {
  readonly relay: number;
  readonly session: number;
  readonly heard: { burst: number; played: PlayedBurst; seq: number; index: number };
}
