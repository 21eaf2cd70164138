// What a thread shows of itself: its loop, its heap and its log.
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { lines } from './log.js';

export interface ThreadFigures {
  /** How long its loop has not been waiting for something to do (ms). */
  readonly busyMs: number;
  readonly heapBytes: number;
  /** Buffers and the like, outside of the heap. */
  readonly externalBytes: number;
  readonly linesLost: number;
}

/** Of the thread that calls it; takes some microseconds. */
export function threadFigures(): ThreadFigures {
  const { active } = performance.eventLoopUtilization();
  const { used_heap_size, external_memory } = getHeapStatistics();
  return {
    busyMs: active,
    heapBytes: used_heap_size,
    externalBytes: external_memory,
    linesLost: lines.lost,
  };
}
