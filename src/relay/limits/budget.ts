// Limits what all sockets of one user may send together: frames and bytes per second, in one talkgroup and in all.
import { Bucket } from './bucket.js';

export interface Rate {
  readonly framesPerSecond: number;
  /** Of payload, as FRAME_BYTES counts them. */
  readonly bytesPerSecond: number;
}

/** The settings that the budgets follow from. */
export interface Rates {
  /** Of one session in one talkgroup. All sockets of a user together: twice that. */
  readonly framesPerSecond: number;
  /** Of payload of all sockets of a user in one talkgroup. */
  readonly userBytesPerSecond: number;
  /** Frames sent to receivers for all sockets of a user, beyond one stream of `framesPerSecond`. */
  readonly userDeliveriesPerSecond: number;
}

/** The budget of one user in one talkgroup. */
export const budgetIn = ({ framesPerSecond, userBytesPerSecond }: Rates): Rate => ({
  framesPerSecond: 2 * framesPerSecond,
  bytesPerSecond: userBytesPerSecond,
});

/** Talkgroups that one session may talk in at once. */
const TALKGROUPS = 8;

/** After frames were refused for this time (ms), a burst ends. */
const EXCEEDED_MS_MAX = 2000;
/** After this time (ms) without a refused frame, the count begins again. */
const PAUSE_MS = 1000;

export class Budget {
  private readonly frames: Bucket;
  private readonly bytes: Bucket;
  private exceededSinceMs = 0;
  private exceededAtMs = Number.NEGATIVE_INFINITY;

  /** The burst is the rate of one second: what one session may send at once, and more than any frame. */
  constructor({ framesPerSecond, bytesPerSecond }: Rate, nowMs: number) {
    this.frames = new Bucket(framesPerSecond, framesPerSecond, nowMs);
    this.bytes = new Bucket(bytesPerSecond, bytesPerSecond, nowMs);
  }

  /** Spends a frame with `bytes` of payload and returns true. Returns false and spends nothing beyond the budget. */
  take(bytes: number, nowMs: number): boolean {
    if (!this.frames.take(nowMs)) return false;
    if (this.bytes.take(nowMs, bytes)) return true;
    this.frames.giveBack(1);
    return false;
  }

  /** Returns what `take` spent: a frame that is not relayed costs the user's other sockets nothing. */
  giveBack(bytes: number): void {
    this.frames.giveBack(1);
    this.bytes.giveBack(bytes);
  }

  /** Counts a refused frame. Returns true when frames were refused for 2 s, and begins the next 2 s. */
  isExceededForLong(nowMs: number): boolean {
    if (nowMs - this.exceededAtMs > PAUSE_MS) this.exceededSinceMs = nowMs;
    this.exceededAtMs = nowMs;
    if (nowMs - this.exceededSinceMs < EXCEEDED_MS_MAX) return false;
    this.exceededSinceMs = nowMs;
    return true;
  }
}

/** The budget of one user in all talkgroups, by what comes in and by what goes out. */
export class UserBudget extends Budget {
  /** One stream, which costs nothing however many hear it. */
  private readonly ownStream: Bucket;
  private readonly deliveries: Bucket;

  constructor(rates: Rates, nowMs: number) {
    const { framesPerSecond, bytesPerSecond } = budgetIn(rates);
    const inAll = {
      framesPerSecond: TALKGROUPS * framesPerSecond,
      bytesPerSecond: TALKGROUPS * bytesPerSecond,
    };
    super(inAll, nowMs);
    this.ownStream = new Bucket(rates.framesPerSecond, rates.framesPerSecond, nowMs);
    this.deliveries = new Bucket(rates.userDeliveriesPerSecond, rates.userDeliveriesPerSecond, nowMs);
  }

  /** Spends a frame that so many receivers get. A frame may owe what later ones pay, or it would never be sent. */
  takeFor(receivers: number, bytes: number, nowMs: number): boolean {
    if (!this.take(bytes, nowMs)) return false;
    if (this.ownStream.take(nowMs) || this.deliveries.takeOwing(nowMs, receivers)) return true;
    this.giveBack(bytes);
    return false;
  }

  /** Whether a frame would be refused for its receivers. Spends nothing. */
  isSpent(nowMs: number): boolean {
    return this.ownStream.isEmpty(nowMs) && this.deliveries.isEmpty(nowMs);
  }
}
