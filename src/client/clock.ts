// Time as the client sees it: monotonic, and handed in so that tests can own it.

/** Monotonic milliseconds (any origin) and one-shot timers; `after` returns what cancels it. */
export type Clock = {
  nowMs(): number;
  after(delayMs: number, run: () => void): () => void;
};

/** The clock of the browser or of Node. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
