// Keeps histograms of durations as plain numbers, which any thread fills and a scrape of the metrics reads.

/** A histogram of durations. */
export interface Histogram {
  /** Upper bounds of the buckets (ms), ascending. One more bucket counts longer durations. */
  readonly boundsMs: readonly number[];
  /** Durations in each bucket. Each duration counts in one bucket. */
  readonly counts: number[];
  sumMs: number;
}

/** Bounds (ms) for the delays of an event loop: from a late timer on an idle machine to a stall that every listener hears. */
export const LOOP_DELAYS_MS = [1, 2.5, 5, 10, 20, 50, 100, 250, 500, 1000, 2500];

/** Creates an empty histogram. */
export const newHistogram = (boundsMs: readonly number[]): Histogram => ({
  boundsMs,
  counts: new Array<number>(boundsMs.length + 1).fill(0),
  sumMs: 0,
});

/** Adds one duration (ms). A negative one, from a clock that was set back, counts as 0. */
export function observe(histogram: Histogram, ms: number): void {
  const { boundsMs, counts } = histogram;
  let index = 0;
  while (index < boundsMs.length && ms > (boundsMs[index] ?? 0)) index++;
  counts[index] = (counts[index] ?? 0) + 1;
  histogram.sumMs += Math.max(0, ms);
}
