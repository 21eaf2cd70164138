// Provides time and timers to a relay. Tests pass their own, and so run a relay in their time.

/** A timer that is set. */
export interface Timer {
  /** The process may exit before it fires. */
  unref(): unknown;
}

/** All parts of one relay go by one clock. */
export interface Clock {
  /** Monotonic milliseconds. Their origin is any, and they are never below 0. */
  readonly nowMs: () => number;
  /** Monotonic milliseconds for which this thread has waited for events. */
  readonly idleMs: () => number;
  /** Unix time (ms), for messages and for what is stored. It may jump. */
  readonly unixMs: () => number;
  /** Calls `run` once. */
  readonly after: (delayMs: number, run: () => void) => Timer;
  /** Calls `run` in each period. */
  readonly every: (periodMs: number, run: () => void) => Timer;
  /**
   * Ends a timer, also one that has fired. `after` returns no function for it: that would be one more object for each frame
   * of buffered audio, which sets a timer.
   */
  readonly stop: (timer: Timer) => void;
  /** Calls `run` when the sockets were read and uWebSockets.js has written what was published before. It cannot be ended. */
  readonly soon: <Given extends unknown[]>(run: (...given: Given) => void, ...given: Given) => void;
}

/** The clock of the process. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  idleMs: () => performance.eventLoopUtilization().idle,
  unixMs: () => Date.now(),
  after: (delayMs, run) => setTimeout(run, delayMs),
  every: (periodMs, run) => setInterval(run, periodMs),
  stop: (timer) => clearTimeout(timer as NodeJS.Timeout), // of `after` or `every` above
  soon: setImmediate,
};

/** Resolves after `ms`. */
export const pause = (clock: Pick<Clock, 'after'>, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));
