// Clocks for relays in tests: that of the process with a time of the test's own, and one that only the test moves.
import { type Clock, systemClock, type Timer } from '../../../src/relay/clock.js';

/** Timers are those of the process. */
export const clockAt = (nowMs: () => number): Clock => ({ ...systemClock, nowMs });

/** A timer that never fires, or that is never stopped. */
export const NO_TIMER: Timer = { unref() {} };

interface Due extends Timer {
  atMs: number;
  /** null: it fires once. */
  readonly periodMs: number | null;
  readonly run: () => void;
}

/** A clock that only `pass` moves. Timers fire in order, each at its own time, and behind each what is to run soon. */
export function virtualClock(startMs = 1000): Clock & { pass(ms: number): void } {
  let nowMs = startMs;
  /** Those that were set first come first. */
  const timers = new Set<Due>();
  const acts: (() => void)[] = [];

  function set(ms: number, periodMs: number | null, run: () => void): Timer {
    const timer = { atMs: nowMs + ms, periodMs, run, unref() {} };
    timers.add(timer);
    return timer;
  }

  function next(untilMs: number): Due | null {
    let first: Due | null = null;
    for (const timer of timers)
      if (timer.atMs <= untilMs && (first === null || timer.atMs < first.atMs)) first = timer;
    return first;
  }

  function fire(timer: Due): void {
    timers.delete(timer);
    nowMs = Math.max(nowMs, timer.atMs);
    if (timer.periodMs !== null) {
      timer.atMs = nowMs + timer.periodMs;
      timers.add(timer);
    }
    timer.run();
  }

  /** What these bring is for the next turn. */
  function turn(): void {
    for (const act of acts.splice(0)) act();
  }

  return {
    nowMs: () => nowMs,
    idleMs: () => nowMs,
    unixMs: () => nowMs,
    after: (delayMs, run) => set(delayMs, null, run),
    every: (periodMs, run) => set(periodMs, periodMs, run),
    stop: (timer) => void timers.delete(timer as Due), // of `set`
    soon: (run, ...given) => void acts.push(() => run(...given)),
    pass(ms) {
      const untilMs = nowMs + ms;
      turn();
      for (let timer = next(untilMs); timer !== null; timer = next(untilMs)) {
        fire(timer);
        turn();
      }
      nowMs = untilMs;
    },
  };
}
