// A token bucket: so many a second, so many at once.

export class Bucket {
  private readonly perMs: number;
  private readonly burst: number;
  private tokens: number;
  private at: number;

  /** Starts full. `nowMs` is monotonic, as everywhere in the relay. */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.perMs = perSecond / 1000;
    this.burst = burst;
    this.tokens = burst;
    this.at = nowMs;
  }

  /** true: within the rate, and one token is spent. */
  take(nowMs: number): boolean {
    this.tokens = Math.min(this.burst, this.tokens + (nowMs - this.at) * this.perMs);
    this.at = nowMs;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
