// Latencies in an HDR histogram: microseconds up to a minute, to three digits.
import { build, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

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

const createHistogram = () =>
  build({ bitBucketSize: 32, highestTrackableValue: HIGHEST_US, numberOfSignificantValueDigits: 3 });

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
