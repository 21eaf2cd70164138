// Measures how loud the microphone is: the peak of each 100 ms, in dBFS, and as bars of a meter.

/** Below it speech is not heard: the microphone is muted, or another device than the user speaks into. */
export const SILENT_DBFS = -60;
/** The first bar of a meter. Below it even the noise of a quiet room is not shown. */
export const FLOOR_DBFS = -72;
const PERIOD_S = 0.1;

/** Takes samples (-1 to 1) of `rate` Hz. Returns the peak (0 to 1) when 100 ms are full, else null. It creates no object. */
export function createPeaks(rate: number): (samples: Float32Array) => number | null {
  const length = Math.round(rate * PERIOD_S);
  let peak = 0;
  let count = 0;
  return (samples) => {
    for (let at = 0; at < samples.length; at++) peak = Math.max(peak, Math.abs(samples[at] ?? 0));
    count += samples.length;
    if (count < length) return null;
    const full = peak;
    peak = 0;
    count = 0;
    return full;
  };
}

/** Of a peak from 0 to 1. 0 is -Infinity. */
export const dbfsOf = (peak: number): number => 20 * Math.log10(peak);

/** How many of `count` bars are lit. A peak of 1 lights all, and each bar has the same number of dB. */
export function barsOf(peak: number, count: number): number {
  const share = 1 - dbfsOf(peak) / FLOOR_DBFS;
  return Math.min(count, Math.max(0, Math.ceil(share * count)));
}

/** The bar at which SILENT_DBFS ends, for the mark of a meter (0 to `count`). */
export const silentBars = (count: number): number => (1 - SILENT_DBFS / FLOOR_DBFS) * count;
