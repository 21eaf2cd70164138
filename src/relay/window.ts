// A sliding window: so many within any so long a time.

/** Remembers at most `max` moments. */
export class Window {
  private readonly max: number;
  private readonly ms: number;
  private readonly taken: number[] = [];

  constructor(max: number, ms: number) {
    this.max = max;
    this.ms = ms;
  }

  /** true: within the limit, and counted. `nowMs` is monotonic. */
  take(nowMs: number): boolean {
    const oldest = this.taken[0];
    if (this.taken.length >= this.max && oldest !== undefined) {
      if (nowMs - oldest < this.ms) return false;
      this.taken.shift();
    }
    this.taken.push(nowMs);
    return true;
  }
}
