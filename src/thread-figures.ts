// Reads the figures of the current thread: event loop, heap and log.
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { lines } from './log.js';

/** Figures of one thread. */
export interface ThreadFigures {
  /** Time that the event loop was busy (ms). */
  readonly busyMs: number;
  readonly heapBytes: number;
  /** Memory of buffers outside the heap. */
  readonly externalBytes: number;
  readonly linesLost: number;
}

/** Reads the figures of the calling thread. Takes some microseconds. */
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
