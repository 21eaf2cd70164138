// Plays speech 5 % faster at the same pitch: leaves out one period of the pitch now and then.
import type { Samples } from './codec.js';

const SHARE = 0.05;
/** The pitch of speech, 80 to 400 Hz, as its period in samples at 48 kHz. */
const PERIOD_MIN = 120;
const PERIOD_MAX = 600;
/** So much is due before a period is left out: the middle of the range, so that on average the share is right. */
const DUE_MIN = 300;
/** 5 ms, over which the sound before the period fades into the sound after it. */
const FADE = 240;

/** Creates the state of one voice. The function returns a frame, or a shorter one that continues the frame before. */
export function createFaster(): (frame: Samples) => Samples {
  let due = 0;
  return (frame) => {
    due += frame.length * SHARE;
    if (due < DUE_MIN || frame.length < PERIOD_MAX + FADE) return frame;
    const period = periodOf(frame);
    due -= period;
    return leaveOut(frame, period);
  };
}

/** The shift at which the beginning of the frame resembles itself most. */
function periodOf(frame: Samples): number {
  let best = PERIOD_MAX;
  let bestLikeness = 0;
  // Every second shift and sample: 29,000 products, 30 µs.
  for (let shift = PERIOD_MIN; shift <= PERIOD_MAX; shift += 2) {
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
