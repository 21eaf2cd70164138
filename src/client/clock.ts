// Provides monotonic time and timers to the client. Tests pass their own.

/** Monotonic milliseconds (any origin) and one-shot timers. `after` returns a function that cancels the timer. */
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
