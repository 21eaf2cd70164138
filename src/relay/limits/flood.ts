// Detects abuse: ten times a rate for two seconds. A lower excess may be an accident.

const FACTOR = 10;
const WINDOW_MS = 2000;

export class Flood {
  private readonly max: number;
  private count = 0;
  private sinceMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number) {
    this.max = (FACTOR * perSecond * WINDOW_MS) / 1000;
  }

  /** Counts one event. Returns true when the events of this window are abuse. `nowMs` is monotonic. */
  hit(nowMs: number): boolean {
    if (nowMs - this.sinceMs > WINDOW_MS) {
      this.sinceMs = nowMs;
      this.count = 0;
    }
    return ++this.count > this.max;
  }
}
