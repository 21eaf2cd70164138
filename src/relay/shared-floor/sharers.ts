// Keeps the other relays that share the floor of a home, and waits for the parts that are missing.

/** It asks for a part again after this time (ms), SHORT_PAUSES times. Then each pause is twice the last, up to WANT_MS_MAX. */
const WANT_MS = 40;
const WANT_MS_MAX = 1000;
const SHORT_PAUSES = 3;
const NOT_ASKED = { times: 0, askedMs: Number.NEGATIVE_INFINITY };

export class Sharers {
  private others: ReadonlySet<number> = new Set();
  /** Relays whose part is missing: how often they were asked for it, and when they last were. */
  private readonly wanted = new Map<number, { readonly times: number; readonly askedMs: number }>();
  /** Relays whose part was given up. What plays of them here may be over. */
  private readonly lapsed = new Set<number>();
  private sinceMs: number;

  constructor(nowMs: number) {
    this.sinceMs = nowMs;
  }

  /** These relays share the floor from now on. The answer is those that do not any more. */
  share(others: readonly number[], nowMs: number): readonly number[] {
    const gone = [...this.others].filter((relay) => !others.includes(relay));
    for (const relay of others) if (!this.others.has(relay)) this.wanted.set(relay, NOT_ASKED);
    for (const relay of gone) this.heardPart(relay);
    if (this.others.size === 0) this.sinceMs = nowMs;
    this.others = new Set(others);
    return gone;
  }

  shares(relay: number): boolean {
    return this.others.has(relay);
  }

  get isAlone(): boolean {
    return this.others.size === 0;
  }

  /** A part is missing. */
  get isWanting(): boolean {
    return this.wanted.size > 0;
  }

  /** The parts of all are here, or it has waited for this time (ms). */
  isComplete(waitMs: number, nowMs: number): boolean {
    return this.wanted.size === 0 || nowMs - this.sinceMs >= waitMs;
  }

  /**
   * Relays to be asked for their part now. While no session uses the floor, each of them once a second, and when `mayAskIdle`
   * says so.
   */
  toAsk(isUsed: boolean, mayAskIdle: (nowMs: number) => boolean, nowMs: number): readonly number[] {
    return [...this.wanted].flatMap(([relay, { times, askedMs }]) => {
      const pauseMs = WANT_MS * 2 ** Math.max(0, times - SHORT_PAUSES);
      if (nowMs - askedMs < (isUsed ? Math.min(pauseMs, WANT_MS_MAX) : WANT_MS_MAX)) return [];
      if (!isUsed && !mayAskIdle(nowMs)) return [];
      this.wanted.set(relay, { times: times + 1, askedMs: nowMs });
      return [relay];
    });
  }

  protected hasLapsed(relay: number): boolean {
    return this.lapsed.has(relay);
  }

  /** No part came for too long. It is asked for again. */
  protected missPart(relay: number): void {
    this.lapsed.add(relay);
    this.wanted.set(relay, NOT_ASKED);
  }

  /** Its part is here. */
  protected heardPart(relay: number): void {
    this.wanted.delete(relay);
    this.lapsed.delete(relay);
  }
}
