// How late one receiver is, by pings that queue behind its audio (docs/protocol.md, section 4), and the clock that judges it.

/** Lag above `backlogMs` is slow (1,000 in section 4), lag under `backMs` has caught up (250). */
export interface LagLimits {
  readonly backlogMs: number;
  readonly backMs: number;
}

/** Section 4: stands in until the first pong, so that a first ping behind a long WELCOME over a satellite is no lag. */
const SMALLEST_MS_UNKNOWN = 3000;
/** A ping a second and a close after 10 s without an answer leave 11 open, one sent out of turn 12. */
const OPEN_MAX = 16;
/** So long it answers evenly, if later than it used to, and the way has grown longer: nothing waits for it. */
const EVEN_MS = 5000;
const NONE = -1;

/**
 * One per socket, thousands at once: small integers, and a list only while more than one ping is open, so none for a
 * radio that answers within a second (measured on Node 20: 80 bytes, 264 with the list). Times are FairClock's.
 */
export class Lag {
  private oldestAtMs = NONE;
  /** The open pings behind the oldest, in the order sent. */
  private laterAtMs: number[] | null = null;
  /** When the newest ping was sent, answered or not. */
  private pingedAtMs = NONE;
  /** When the ping was sent that was answered last, and its round trip. */
  private answeredAtMs = NONE;
  private lastMs = 0;
  private smallestMs = NONE;
  private slow = false;
  /** Pings up to here may have audio behind them; those sent later, while slow, have none. */
  private slowAfterMs = NONE;
  /** Since when, while slow, every answer came within `backlogMs`. */
  private evenSinceMs = NONE;

  /** From `slow` or an overrun until `caught_up`. */
  get isSlow(): boolean {
    return this.slow;
  }

  /** When the newest ping was sent, answered or not; below 0 before the first. */
  get newestPingMs(): number {
    return this.pingedAtMs;
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
   * When full, the newest but one is forgotten, and its pong will be a stray. The oldest must stay, for its age is the
   * lag, and so must those next in age, which inherit that part; the newest must stay, for its answer answers all.
   */
  private append(fairMs: number): void {
    this.laterAtMs ??= [];
    if (this.laterAtMs.length === OPEN_MAX - 1) this.laterAtMs.pop();
    this.laterAtMs.push(fairMs);
  }

  /**
   * A pong brought this time, NaN when it brought none: it answers its ping and all older ones. `stray`: it matches no
   * open one and changed nothing.
   * `stoodAtMs` is the clock's: what was under way while the server stood still shows too short a round trip. It counts
   * as the last, but were it taken for the smallest, a satellite link would be called slow ever after.
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

  /** Section 4's lag, never negative: how much longer than at best the way to this receiver and back takes (ms). */
  lagMs(fairMs: number): number {
    const smallestMs = this.smallestMs === NONE ? SMALLEST_MS_UNKNOWN : this.smallestMs;
    return Math.max(0, this.oldestOpenMs(fairMs) - smallestMs, this.lastMs - smallestMs);
  }

  /** Age of the oldest ping without an answer (ms), 0 when all are answered. */
  oldestOpenMs(fairMs: number): number {
    return this.oldestAtMs === NONE ? 0 : fairMs - this.oldestAtMs;
  }

  /**
   * Tells a change once. Coming back takes the answer to a ping sent after the session became slow: no audio was sent
   * since, so whoever answers that one has read all there was. It need not be the newest: where a round trip takes more
   * than a second, a newer one is always under way.
   *
   * A way that became longer for good is no backlog: 5 s of answers within `backlogMs`, to pings with nothing before
   * them, bring it back too.
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
   * The engine's own buffer ran full: slow from now on, whatever the clock says, and `judge` will not repeat it. A ping
   * of this very millisecond may be from before, or from before the audio topics were left, so it proves nothing.
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

/** Section 4: a tick later than this is a stall of the server. Garbage collection and a busy turn stay far below it. */
const LATE_MS_MAX = 100;

/** Stands still while the server did, so that a stall does not count against the receivers. One per relay. */
export class FairClock {
  private readonly periodMs: number;
  private dueMs = Number.POSITIVE_INFINITY;
  private stoodMs = 0;
  private latestMs = 0;
  private stallMs = NONE;

  /** It must be ticked every `periodMs` (ms) from the first tick on, for without ticks it stands still. */
  constructor(periodMs = 20) {
    this.periodMs = periodMs;
  }

  /** A tick later than 100 ms takes its whole lateness out of fair time. `nowMs` is monotonic, and not below 0. */
  tick(nowMs: number): void {
    const lateMs = nowMs - this.dueMs;
    this.dueMs = nowMs + this.periodMs;
    if (lateMs <= LATE_MS_MAX) return;
    this.stoodMs += lateMs;
    this.stallMs = this.at(nowMs);
  }

  /** Fair time (ms), an integer that never goes back. */
  at(nowMs: number): number {
    // In a stall that no tick has noticed yet it goes on for as long as a tick may be late; after it, it waits for that.
    const lastMs = this.dueMs + LATE_MS_MAX;
    this.latestMs = Math.max(this.latestMs, Math.floor(Math.min(nowMs, lastMs) - this.stoodMs));
    if (nowMs > lastMs) this.stallMs = this.latestMs;
    return this.latestMs;
  }

  /** Fair time (ms) of the last stall, -1 before any: a round trip that began no later shows shorter than it was. */
  get stoodAtMs(): number {
    return this.stallMs;
  }
}
