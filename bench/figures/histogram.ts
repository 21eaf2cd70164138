// Records latencies in an HDR histogram: microseconds up to one minute, three digits.
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram,
} from 'hdr-histogram-js';
import type { Series } from './result.js';

/** Percentiles in milliseconds, and the whole histogram (microseconds) in HdrHistogram's own V2 encoding. */
export interface Latency {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  readonly hdr: string;
}

const HIGHEST_US = 60_000_000;

export interface Recorder {
  record(ms: number): void;
  latency(): Latency;
}

export function createRecorder(): Recorder {
  const histogram = createHistogram();
  return {
    record: (ms) => histogram.recordValue(Math.min(HIGHEST_US, Math.max(1, Math.round(ms * 1000)))),
    latency: () => summarize(histogram),
  };
}

/** All that several recorders saw, also those of other processes. Of none it is empty, and its percentiles are 0. */
export function mergeLatencies(latencies: readonly Latency[]): Latency {
  const all = createHistogram();
  for (const { count, hdr } of latencies) if (count > 0) all.add(decode(hdr));
  return summarize(all);
}

/** For a plot of kind `percentiles`: per cent of all that were as fast or faster, and the milliseconds. */
export function percentilePoints({ hdr }: Latency): Series['points'] {
  const histogram = decode(hdr);
  return PERCENTILES.map((percentile) => [percentile, histogram.getValueAtPercentile(percentile) / 1000]);
}

/** Denser towards 100, where a tail shows. */
const PERCENTILES: readonly number[] = [
  ...Array.from({ length: 18 }, (_, i) => 5 * i),
  90,
  92.5,
  95,
  97,
  98,
  99,
  99.5,
  99.75,
  99.9,
  99.95,
  99.975,
  99.99,
  99.999,
  100,
];

const createHistogram = () =>
  build({ bitBucketSize: 32, highestTrackableValue: HIGHEST_US, numberOfSignificantValueDigits: 3 });

const decode = (hdr: string): Histogram => decodeFromCompressedBase64(hdr, 32);

function summarize(histogram: Histogram): Latency {
  const ms = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1000;
  return {
    count: histogram.totalCount,
    p50Ms: ms(50),
    p95Ms: ms(95),
    p99Ms: ms(99),
    p999Ms: ms(99.9),
    maxMs: ms(100),
    hdr: encodeIntoCompressedBase64(histogram),
  };
}
