// A token bucket: so many a second, so many at once.

/** A sum of fractions may lie a little above the number that it stands for. */
const ROUNDING_MS = 1e-6;

export class Bucket {
  private readonly tokenMs: number;
  private readonly fullMs: number;
  /** Every token up to this moment is spent: one number to keep instead of tokens and when they were counted. */
  private spentUntilMs: number;

  /** Starts full. `nowMs` is monotonic, as everywhere in the relay. */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.tokenMs = 1000 / perSecond;
    this.fullMs = burst * this.tokenMs;
    this.spentUntilMs = nowMs - this.fullMs;
  }

  /** true: within the rate, and so many tokens are spent. */
  take(nowMs: number, tokens = 1): boolean {
    const spentUntilMs = Math.max(this.spentUntilMs, nowMs - this.fullMs) + tokens * this.tokenMs;
    if (spentUntilMs > nowMs + ROUNDING_MS) return false;
    this.spentUntilMs = spentUntilMs;
    return true;
  }

  /** The same, but all of the tokens but one may be owed: true when at least one is left. */
  takeOwing(nowMs: number, tokens: number): boolean {
    if (!this.take(nowMs)) return false;
    this.spentUntilMs += (tokens - 1) * this.tokenMs;
    return true;
  }

  /** What `take` took was not used. */
  giveBack(tokens: number): void {
    this.spentUntilMs -= tokens * this.tokenMs;
  }
}
