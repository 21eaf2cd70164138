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

  /** true: one more would be beyond the limit. `nowMs` is monotonic. */
  isFull(nowMs: number): boolean {
    const oldest = this.taken[0];
    return this.taken.length >= this.max && oldest !== undefined && nowMs - oldest < this.ms;
  }

  /** true: within the limit, and counted. */
  take(nowMs: number): boolean {
    if (this.isFull(nowMs)) return false;
    if (this.taken.length >= this.max) this.taken.shift();
    this.taken.push(nowMs);
    return true;
  }
}
