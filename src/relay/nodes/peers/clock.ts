// Compares the clock of another relay with ours, so that a message says how long it was on its way.
import { msBetween, wholeMs } from '../header.js';

/** Samples of `Stalls`: one with each beacon, so about a second. */
const STALL_SAMPLES = 4;

/** How long this relay itself stood still lately. What came late for that reason was sent in time. */
export class Stalls {
  /** Time (ms) that it had stood still in all, at the last samples. */
  private readonly samples: number[] = [];

  /** `stoodMs` grows. */
  sample(stoodMs: number): void {
    this.samples.push(stoodMs);
    if (this.samples.length > STALL_SAMPLES) this.samples.shift();
  }

  latelyMs(stoodMs: number): number {
    return Math.max(0, stoodMs - (this.samples[0] ?? 0));
  }
}

/** The shortest round trip of this time (ms) counts: of both ways it has waited least. */
const WINDOW_MS = 2000;
/** A clock that moved by more than this (ms) is measured anew: its relay stood still, or ours did. */
const MOVED_MS = 250;

interface Sample {
  readonly atMs: number;
  readonly roundTripMs: number;
  /** Their clock less ours. */
  readonly offsetMs: number;
}

/** A difference of two that `msBetween` gave, or their sum, once more within ± 2^31 ms. Half a round trip is no whole number. */
const around = (ms: number): number => ms - 2 ** 32 * Math.round(ms / 2 ** 32);

/** Time (ms) from what we said at `ownAt` to its answer, which came at `nowMs`, without the `heldMs` that it waited there. */
export const roundTripOf = (ownAt: number, heldMs: number, nowMs: number): number =>
  msBetween(ownAt, wholeMs(nowMs)) - heldMs;

/** Clocks are monotonic, in whole ms. */
export class PeerClock {
  private samples: Sample[] = [];
  /** The one with the shortest round trip. Found when a sample comes, because every frame uses it. */
  private best: Sample | null = null;

  /**
   * They answered at `theirAt` what we said at `ownAt` and what had come to them `heldMs` before. `nowMs` is when the
   * answer came.
   */
  answered(theirAt: number, ownAt: number, heldMs: number, nowMs: number): void {
    const roundTripMs = roundTripOf(ownAt, heldMs, nowMs);
    if (roundTripMs < 0 || roundTripMs > WINDOW_MS) return;
    const sample = {
      atMs: nowMs,
      roundTripMs,
      offsetMs: msBetween(wholeMs(nowMs), theirAt) + roundTripMs / 2,
    };
    const { best } = this;
    // A difference that the two round trips explain is none.
    const slackMs = MOVED_MS + (roundTripMs + (best?.roundTripMs ?? 0)) / 2;
    if (best !== null && Math.abs(around(sample.offsetMs - best.offsetMs)) > slackMs) this.reset();
    this.samples.push(sample);
    this.samples = this.samples.filter(({ atMs }) => nowMs - atMs <= WINDOW_MS);
    this.best = this.samples.reduce((least, one) => (one.roundTripMs < least.roundTripMs ? one : least));
  }

  /** How long (ms) a message was on its way that they sent at `theirAt`, 0 while that is not known. */
  delayMs(theirAt: number, nowMs: number): number {
    const { best } = this;
    return best === null ? 0 : Math.max(0, around(msBetween(theirAt, wholeMs(nowMs)) + best.offsetMs));
  }

  /** Forgets what was measured. */
  reset(): void {
    this.samples = [];
    this.best = null;
  }
}
