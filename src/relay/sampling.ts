// Traffic by sample, so that a frame pays one comparison: the first frame relayed after each pulse is timed until the
// engine has written it, and its length stands for those of all frames until the next pulse.
import { type Histogram, newHistogram, observe } from '../histogram.js';

/** A turn of the loop takes tenths of a millisecond when there is little to do; a second of it is heard by everybody. */
const LATENCY_MS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 50, 100, 250, 500, 1000];

/** Plain numbers. */
export interface Sampled {
  /** Of sampled frames, from their receipt to the end of the turn in which the engine wrote them to all receivers. */
  readonly latency: Histogram;
  /** Frames times the receivers there were at the pulse behind them. */
  framesOut: number;
  /** By the length of the sampled frames. */
  bytesIn: number;
  bytesOut: number;
}

export interface Sampling {
  readonly sampled: Sampled;
  /** The next frame is the sample; set by the pulse, and all that the hot path asks. */
  isArmed: boolean;
  /** false: of the next sample only its length is taken. */
  isTimed: boolean;
  /** A relayed frame, received at that moment (monotonic ms). */
  take(receivedAtMs: number, bytes: number): void;
  /** Called with every pulse: what was relayed since the last, and in how many copies it went out. */
  add(framesIn: number, framesOut: number): void;
}

export function createSampling(nowMs: () => number): Sampling {
  const sampled: Sampled = { latency: newHistogram(LATENCY_MS), framesOut: 0, bytesIn: 0, bytesOut: 0 };
  let receivedAtMs = 0;
  let frameBytes = 0;

  // Runs behind the engine's part of the turn, in which it writes to the sockets what was published to them.
  const close = () => observe(sampled.latency, nowMs() - receivedAtMs);

  const sampling: Sampling = {
    sampled,
    isArmed: true,
    isTimed: true,
    take(atMs, bytes) {
      sampling.isArmed = false;
      frameBytes = bytes;
      if (!sampling.isTimed) return;
      receivedAtMs = atMs;
      setImmediate(close);
    },
    add(framesIn, framesOut) {
      sampled.framesOut += framesOut;
      sampled.bytesIn += framesIn * frameBytes;
      sampled.bytesOut += framesOut * frameBytes;
    },
  };
  return sampling;
}
