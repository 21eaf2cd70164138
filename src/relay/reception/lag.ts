// Measures the lag of one receiver with pings that queue behind its audio (docs/protocol.md, section 4).

/** A receiver with a lag above `backlogMs` is slow (1,000 in section 4). Below `backMs` (250) it has caught up. */
export interface LagLimits {
  readonly backlogMs: number;
  readonly backMs: number;
}

/** Smallest round trip (ms) until the first pong: a first ping behind a long WELCOME over a satellite is no lag. */
const SMALLEST_MS_UNKNOWN = 3000;
/** A ping a second and a close after 10 s without an answer leave 11 pings open, with one sent out of turn 12. */
const OPEN_MAX = 16;
/** A receiver whose last answer took this much longer (ms) than its shortest one at most reads what it is sent. */
const PROMPT_MS = 100;
/** After even answers for this time (ms), if later than before, the path has become longer and no audio is queued. */
const EVEN_MS = 5000;
const NONE = -1;

/**
 * One for each socket, thousands at once: small integers, and a list only while more than one ping is open. A radio that
 * answers within a second has no list (measured on Node 20: 80 bytes, 264 with the list). Times are those of FairClock.
 */
export class Lag {
  private oldestAtMs = NONE;
  /** The open pings after the oldest, in the order sent. */
  private laterAtMs: number[] | null = null;
  /** When the newest ping was sent, answered or not. */
  private pingedAtMs = NONE;
  /** When the last answered ping was sent, and its round trip. */
  private answeredAtMs = NONE;
  private lastMs = 0;
  private smallestMs = NONE;
  private slow = false;
  /** Pings up to here may have audio queued behind them. Later ones, sent while slow, have none. */
  private slowAfterMs = NONE;
  /** Since when, while slow, every answer came within `backlogMs`. */
  private evenSinceMs = NONE;

  /** From `slow` or an overrun until `caught_up`. */
  get isSlow(): boolean {
    return this.slow;
  }

  /** All pings are answered, the last one about as fast as any. */
  get isPrompt(): boolean {
    return this.oldestAtMs === NONE && this.smallestMs !== NONE && this.lastMs - this.smallestMs <= PROMPT_MS;
  }

  /** When the newest ping was sent, answered or not. Below 0 before the first. */
  get newestPingMs(): number {
    return this.pingedAtMs;
  }

  /** Of the last answered ping (ms). null: none was answered. */
  get roundTripMs(): number | null {
    return this.answeredAtMs === NONE ? null : this.lastMs;
  }

  /** Notes a ping whose text is `String(fairMs)`. Two of the same millisecond count as one. */
  pinged(fairMs: number): void {
    const isRepeat = this.oldestAtMs !== NONE && fairMs === this.pingedAtMs;
    this.pingedAtMs = fairMs;
    if (isRepeat) return;
    if (this.oldestAtMs === NONE) this.oldestAtMs = fairMs;
    else this.append(fairMs);
  }

  /**
   * When full, forgets the newest but one, and its pong will be a stray. The oldest stays, because its age is the lag, and
   * so do those next in age, which succeed it. The newest stays, because its answer answers all.
   */
  private append(fairMs: number): void {
    this.laterAtMs ??= [];
    if (this.laterAtMs.length === OPEN_MAX - 1) this.laterAtMs.pop();
    this.laterAtMs.push(fairMs);
  }

  /**
   * A pong carried this time, NaN when it carried none. It answers its ping and all older ones. `stray`: it matches no
   * open ping and changed nothing.
   * `stoodAtMs` is that of the clock. A ping under way while the server stood still shows too short a round trip. It
   * counts as the last one, but not as the smallest: with that, a satellite link would count as slow ever after.
   */
  answered(sentAtMs: number, fairMs: number, stoodAtMs: number = NONE): 'newest' | 'older' | 'stray' {
    if (!this.closeUpTo(sentAtMs)) return 'stray';
    this.answeredAtMs = sentAtMs;
    this.lastMs = fairMs - sentAtMs;
    const isSmallest = this.smallestMs === NONE || this.lastMs < this.smallestMs;
    if (isSmallest && sentAtMs > stoodAtMs) this.smallestMs = this.lastMs;
    return sentAtMs === this.pingedAtMs ? 'newest' : 'older';
  }

  private closeUpTo(sentAtMs: number): boolean {
    if (this.oldestAtMs === NONE) return false;
    if (sentAtMs !== this.oldestAtMs) {
      const index = this.laterAtMs?.indexOf(sentAtMs) ?? -1;
      if (index === -1) return false;
      this.laterAtMs?.splice(0, index + 1);
    }
    this.oldestAtMs = this.laterAtMs?.shift() ?? NONE;
    if (this.laterAtMs?.length === 0) this.laterAtMs = null;
    return true;
  }

  /** Lag as section 4 defines it (ms), never negative: the round trip less the smallest one. */
  lagMs(fairMs: number): number {
    const smallestMs = this.smallestMs === NONE ? SMALLEST_MS_UNKNOWN : this.smallestMs;
    return Math.max(0, this.oldestOpenMs(fairMs) - smallestMs, this.lastMs - smallestMs);
  }

  /** Age of the oldest ping without an answer (ms), 0 when all are answered. */
  oldestOpenMs(fairMs: number): number {
    return this.oldestAtMs === NONE ? 0 : fairMs - this.oldestAtMs;
  }

  /**
   * Reports a change once. A slow receiver comes back with the answer to a ping sent after it became slow: no audio was
   * sent since, so its receiver has read everything. It need not be the newest ping: when a round trip takes more than a
   * second, a newer one is always under way.
   *
   * A path that became longer for good is no backlog: 5 s of answers within `backlogMs`, to pings with nothing before
   * them, bring the receiver back, too.
   */
  judge(fairMs: number, { backlogMs, backMs }: LagLimits): 'slow' | 'caught_up' | null {
    const lagMs = this.lagMs(fairMs);
    if (!this.slow) {
      if (lagMs <= backlogMs) return null;
      this.becomeSlow(this.pingedAtMs);
      return 'slow';
    }
    if (this.answeredAtMs <= this.slowAfterMs) return null;
    if (lagMs >= backMs && !this.isEven(lagMs <= backlogMs, fairMs)) return null;
    this.slow = false;
    return 'caught_up';
  }

  private isEven(isWithin: boolean, fairMs: number): boolean {
    if (!isWithin) this.evenSinceMs = NONE;
    else if (this.evenSinceMs === NONE) this.evenSinceMs = fairMs;
    return isWithin && fairMs - this.evenSinceMs >= EVEN_MS;
  }

  /**
   * The send buffer of uWebSockets.js is full: the receiver is slow from now on, and `judge` will not report it again. A
   * ping of this millisecond may be older than that, or than the end of the audio, so its answer proves nothing.
   */
  overrun(fairMs: number): void {
    this.becomeSlow(fairMs);
  }

  private becomeSlow(afterMs: number): void {
    this.slow = true;
    this.slowAfterMs = afterMs;
    this.evenSinceMs = NONE;
  }
}
