// Samples the traffic, so that a frame costs one comparison. The first frame relayed after each tick of the housekeeping
// timer is timed until uWebSockets.js has written it. Its length stands for all frames until the next tick.
import { type Histogram, newHistogram, observe } from '../../histogram.js';
import type { Clock } from '../clock.js';

/** Bounds (ms). A loop turn with little work takes tenths of a millisecond. Every listener hears a turn of a second. */
const LATENCY_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 50, 100, 250, 500, 1000];

/** Longer than any window (ms). A sample that is older was discarded. */
const WAITS_MS_MAX = 1_000;

/** Plain numbers. */
export interface Sampled {
  /** Of sampled frames: from their receipt to the end of the turn in which uWebSockets.js wrote them to all receivers. */
  readonly latency: Histogram;
  /** Frames times the receivers at the next tick. */
  framesOut: number;
  /** Estimated from the length of the sampled frames. */
  bytesIn: number;
  bytesOut: number;
}

export type Sampling = ReturnType<typeof createSampling>;

export function createSampling({ nowMs, soon }: Pick<Clock, 'nowMs' | 'soon'>) {
  const sampled: Sampled = { latency: newHistogram(LATENCY_MS), framesOut: 0, bytesIn: 0, bytesOut: 0 };
  let receivedAtMs = 0;
  let frameBytes = 0;
  /** Where the sample waits to be sent. null: it does not. */
  let waitsIn: object | null = null;

  // Runs after uWebSockets.js has written everything published in this turn to the sockets.
  const close = (fromMs: number) => observe(sampled.latency, nowMs() - fromMs);

  const sampling = {
    sampled,
    /** Whether the next frame is the sample. Each tick sets it. The hot path reads nothing else. */
    isArmed: true,
    /** false: only the length of the next sample is taken. */
    isTimed: true,
    /** Takes a relayed frame as the sample. `atMs` is monotonic. `feed`: where it waits to be sent, null when it was sent. */
    take(atMs: number, bytes: number, feed: object | null): void {
      sampling.isArmed = false;
      frameBytes = bytes;
      // One that waits is timed to its end. One that was discarded never leaves.
      if (!sampling.isTimed || (waitsIn !== null && atMs - receivedAtMs < WAITS_MS_MAX)) return;
      receivedAtMs = atMs;
      waitsIn = feed;
      if (feed === null) soon(close, atMs);
    },
    /** What waited there was sent. */
    left(feed: object): void {
      if (waitsIn !== feed) return;
      waitsIn = null;
      if (nowMs() - receivedAtMs < WAITS_MS_MAX) soon(close, receivedAtMs);
    },
    /** Called with every tick: frames relayed since the last one, and the copies that went out. */
    add(framesIn: number, framesOut: number): void {
      sampled.framesOut += framesOut;
      sampled.bytesIn += framesIn * frameBytes;
      sampled.bytesOut += framesOut * frameBytes;
    },
  };
  return sampling;
}
