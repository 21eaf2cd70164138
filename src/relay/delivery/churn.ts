// Detects a mass reconnect: sockets that open and close by the hundred, as when a network fails and returns.
//
// uWebSockets.js sends what was published at the end of a turn of the loop, after all sockets that opened and closed in
// it. During a mass reconnect that end is half a second away, so the relay sends audio to each receiver instead.

/** Sockets that open or close, about 50 µs of the relay thread each. */
export interface Churn {
  /** One socket opened or closed. */
  passes(): void;
  /** Whether a turn of the loop may be long now. */
  isHigh(nowMs: number): boolean;
}

/** 100 sockets in 50 ms take a tenth of the relay thread. */
const SOCKETS = 100;
const WITHIN_MS = 50;
/** How long it stays high (ms): a turn that begins with a frame may go on with the next hundred sockets. */
const LASTS_MS = 1000;

export function createChurn(nowMs: () => number): Churn {
  let passed = 0;
  let sinceMs = Number.NEGATIVE_INFINITY;
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    passes() {
      const now = nowMs();
      if (now - sinceMs > WITHIN_MS) {
        sinceMs = now;
        passed = 0;
      }
      if (++passed >= SOCKETS) untilMs = now + LASTS_MS;
    },
    isHigh: (now) => now < untilMs,
  };
}
