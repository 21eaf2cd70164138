// Limits a rate with a token bucket: tokens per second, and a burst.

/** Tolerance (ms): a sum of fractions may come out slightly above the exact number. */
const ROUNDING_MS = 1e-6;

export class Bucket {
  private readonly tokenMs: number;
  private readonly fullMs: number;
  /** Every token up to this time is spent. One number replaces the count of tokens and the time of that count. */
  private spentUntilMs: number;

  /** Starts full. `nowMs` is monotonic, as in the whole relay. */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.tokenMs = 1000 / perSecond;
    this.fullMs = burst * this.tokenMs;
    this.spentUntilMs = nowMs - this.fullMs;
  }

  /** Spends the tokens and returns true. Returns false and spends nothing when the rate does not allow them. */
  take(nowMs: number, tokens = 1): boolean {
    const spentUntilMs = Math.max(this.spentUntilMs, nowMs - this.fullMs) + tokens * this.tokenMs;
    if (spentUntilMs > nowMs + ROUNDING_MS) return false;
    this.spentUntilMs = spentUntilMs;
    return true;
  }

  isEmpty(nowMs: number): boolean {
    return Math.max(this.spentUntilMs, nowMs - this.fullMs) + this.tokenMs > nowMs + ROUNDING_MS;
  }

  /** Spends the tokens when at least one is left. The rest becomes a debt that later tokens pay. */
  takeOwing(nowMs: number, tokens: number): boolean {
    if (!this.take(nowMs)) return false;
    this.spentUntilMs += (tokens - 1) * this.tokenMs;
    return true;
  }

  /** Returns tokens that `take` spent and the caller did not use. */
  giveBack(tokens: number): void {
    this.spentUntilMs -= tokens * this.tokenMs;
  }
}
