// Plays speech faster or slower at the same pitch: leaves out a period of the pitch now and then, or repeats it.
import type { Samples } from './codec.js';

const FASTER_SHARE = 0.05;
/** A relay under load may go from 60 ms at once to 100 ms within 0.3 s. This gains 60 ms in that time. */
const SLOWER_SHARE = 0.2;
/** The pitch of speech, 80 to 400 Hz, as its period in samples at 48 kHz. */
const PERIOD_MIN = 120;
const PERIOD_MAX = 600;
/** Half of the longest period: each pitch has a multiple of its period from here to there. */
const REPEATED_MIN = 300;
/** So much is due before a period is left out: the middle of the range, so that on average the share is right. */
const DUE_MIN = 300;
/** 5 ms, over which the sound before the period fades into the sound after it. */
const FADE = 240;

// LIMIT: frames of less than 20 ms stay as they are in both. Two of them would have to be joined before.

/** Creates the state of one voice. The function returns a frame, or a shorter one that continues the frame before. */
export function createFaster(): (frame: Samples) => Samples {
  let due = 0;
  return (frame) => {
    due += frame.length * FASTER_SHARE;
    if (due < DUE_MIN || frame.length < PERIOD_MAX + FADE) return frame;
    const period = periodOf(frame, PERIOD_MIN);
    due -= period;
    return leaveOut(frame, period);
  };
}

/** The same, 20 % slower. The function returns a frame, or a longer one with the same beginning and end. */
export function createSlower(): (frame: Samples) => Samples {
  // The first frame is longer at once, because the buffer runs empty. What it has too much is then due from the next ones.
  let due = 0;
  return (frame) => {
    due += frame.length * SLOWER_SHARE;
    if (due <= 0 || frame.length < PERIOD_MAX + FADE) return frame;
    const period = periodOf(frame, REPEATED_MIN);
    due -= period;
    return repeat(frame, period);
  };
}

/** The shift, from `least` on, at which the beginning of the frame resembles itself most. */
export function periodOf(frame: Samples, least: number): number {
  let best = PERIOD_MAX;
  let bestLikeness = 0;
  // Every second shift and sample: 29,000 products, 30 µs.
  for (let shift = least; shift <= PERIOD_MAX; shift += 2) {
    let product = 0;
    let power = 1e-9;
    for (let i = 0; i < FADE; i += 2) {
      const later = frame[i + shift] ?? 0;
      product += (frame[i] ?? 0) * later;
      power += later * later;
    }
    const likeness = product / Math.sqrt(power);
    if (likeness > bestLikeness) {
      bestLikeness = likeness;
      best = shift;
    }
  }
  return best;
}

function leaveOut(frame: Samples, period: number): Samples {
  const shorter = frame.slice(period);
  for (let i = 0; i < FADE; i++) {
    const share = i / FADE;
    shorter[i] = (frame[i] ?? 0) * (1 - share) + (shorter[i] ?? 0) * share;
  }
  return shorter;
}

function repeat(frame: Samples, period: number): Samples {
  const longer = new Float32Array(frame.length + period);
  longer.set(frame.subarray(0, period));
  longer.set(frame, period);
  for (let i = 0; i < FADE; i++) {
    const share = i / FADE;
    longer[period + i] = (frame[period + i] ?? 0) * (1 - share) + (frame[i] ?? 0) * share;
  }
  return longer;
}
