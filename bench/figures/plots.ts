// Draws the plots that several scenarios have: percentile curves of named latencies.
import { type Latency, percentilePoints } from './histogram.js';
import type { Plot } from './result.js';

type Named = readonly [name: string, latency: Latency];

/** One curve for each latency. `note` says in a sentence how to read them. */
export const percentilesOf = (title: string, note: string, latencies: readonly Named[]): Plot => ({
  kind: 'percentiles',
  title,
  note,
  series: latencies.map(([name, latency]) => ({ name, points: percentilePoints(latency) })),
});
