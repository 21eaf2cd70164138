// Counts time that stands still while the server did, so that a stall does not count against the receivers.

/** A tick later than this (ms) is a stall of the server. Garbage collection and a busy turn stay far below it. */
const LATE_MS_MAX = 100;
const NONE = -1;

/** One for each relay (docs/protocol.md, section 4). */
export class FairClock {
  private readonly periodMs: number;
  private dueMs = Number.POSITIVE_INFINITY;
  private stoodMs = 0;
  private latestMs = 0;
  private stallMs = NONE;

  /** It must be ticked every `periodMs` (ms) from the first tick on, or as `expect` says. Without ticks it stands still. */
  constructor(periodMs = 20) {
    this.periodMs = periodMs;
  }

  /** The next tick is due at that time (monotonic ms). */
  expect(dueMs: number): void {
    this.dueMs = dueMs;
  }

  /** A tick that is more than 100 ms late removes its whole delay from fair time. `nowMs` is monotonic, and not below 0. */
  tick(nowMs: number): void {
    const lateMs = nowMs - this.dueMs;
    this.dueMs = nowMs + this.periodMs;
    if (lateMs <= LATE_MS_MAX) return;
    this.stoodMs += lateMs;
    this.stallMs = this.at(nowMs);
  }

  /** Fair time (ms), an integer that never decreases. */
  at(nowMs: number): number {
    // In a stall that no tick has noticed yet, it goes on for as long as a tick may be late, then waits for the tick.
    const lastMs = this.dueMs + LATE_MS_MAX;
    this.latestMs = Math.max(this.latestMs, Math.floor(Math.min(nowMs, lastMs) - this.stoodMs));
    if (nowMs > lastMs) this.stallMs = this.latestMs;
    return this.latestMs;
  }

  /** Fair time (ms) of the last stall, -1 before any. A round trip that began no later appears shorter than it was. */
  get stoodAtMs(): number {
    return this.stallMs;
  }
}
