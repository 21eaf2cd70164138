// Keeps the other relays that share the floor of a home, and waits for the parts that are missing.

/** A new home waits for the parts of the others for this time (ms). */
export const PARTS_MS = 100;
/** It asks for a part again after this time (ms). */
const WANT_MS = 40;

export class Sharers {
  private others: ReadonlySet<number> = new Set();
  /** Relays whose part is missing, and when they were asked for it. */
  private readonly wanted = new Map<number, number>();
  private sinceMs: number;

  constructor(nowMs: number) {
    this.sinceMs = nowMs;
  }

  /** These relays share the floor from now on. The answer is those that do not any more. */
  share(others: readonly number[], nowMs: number): readonly number[] {
    const gone = [...this.others].filter((relay) => !others.includes(relay));
    for (const relay of others) if (!this.others.has(relay)) this.wanted.set(relay, Number.NEGATIVE_INFINITY);
    for (const relay of gone) this.wanted.delete(relay);
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

  /** The parts of all are here, or it has waited for long enough. */
  isComplete(nowMs: number): boolean {
    return this.wanted.size === 0 || nowMs - this.sinceMs >= PARTS_MS;
  }

  /** Relays to be asked for their part now. */
  toAsk(nowMs: number): readonly number[] {
    const due = [...this.wanted].flatMap(([relay, atMs]) => (nowMs - atMs >= WANT_MS ? [relay] : []));
    for (const relay of due) this.wanted.set(relay, nowMs);
    return due;
  }

  /** Its part is here. */
  protected heardPart(relay: number): void {
    this.wanted.delete(relay);
  }
}
