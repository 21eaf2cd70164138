// Limits events with a sliding window: at most `max` within any period of `ms`.

/** Remembers at most `max` times. */
export class Window {
  private readonly max: number;
  private readonly ms: number;
  private readonly taken: number[] = [];

  constructor(max: number, ms: number) {
    this.max = max;
    this.ms = ms;
  }

  /** Whether one more event would exceed the limit. `nowMs` is monotonic. */
  isFull(nowMs: number): boolean {
    const oldest = this.taken[0];
    return this.taken.length >= this.max && oldest !== undefined && nowMs - oldest < this.ms;
  }

  /** How long ago (ms) the counted events were that still count. */
  ages(nowMs: number): number[] {
    return this.taken.map((atMs) => nowMs - atMs).filter((ageMs) => ageMs < this.ms);
  }

  /** Counts the events with these ages (ms), unless as many are counted: they may be the same. */
  adopt(ages: readonly number[], nowMs: number): void {
    if (ages.length <= this.ages(nowMs).length) return;
    const times = ages.map((ageMs) => nowMs - ageMs).sort((one, other) => one - other);
    this.taken.splice(0, this.taken.length, ...times.slice(-this.max));
  }

  /** Counts one event and returns true. Returns false and counts nothing beyond the limit. */
  take(nowMs: number): boolean {
    if (this.isFull(nowMs)) return false;
    if (this.taken.length >= this.max) this.taken.shift();
    this.taken.push(nowMs);
    return true;
  }
}
