// A histogram of durations as plain numbers: filled where things happen, on any thread, and shown by metrics.ts.

export interface Histogram {
  /** Upper bounds of the buckets (ms), ascending; a last one takes what is longer. */
  readonly boundsMs: readonly number[];
  /** One for each bound and the last; each duration stands in one of them. */
  readonly counts: number[];
  sumMs: number;
}

export const newHistogram = (boundsMs: readonly number[]): Histogram => ({
  boundsMs,
  counts: new Array<number>(boundsMs.length + 1).fill(0),
  sumMs: 0,
});

/** One duration (ms); what a clock read backwards makes negative counts as 0. */
export function observe(histogram: Histogram, ms: number): void {
  const { boundsMs, counts } = histogram;
  let index = 0;
  while (index < boundsMs.length && ms > (boundsMs[index] ?? 0)) index++;
  counts[index] = (counts[index] ?? 0) + 1;
  histogram.sumMs += Math.max(0, ms);
}
