// What all sockets of one user together may send: frames and bytes a second, in one talkgroup and in all of them.
import { Bucket } from './bucket.js';
import type { Limits } from './messages.js';

export interface Rate {
  readonly framesPerSecond: number;
  /** Of payload, as FRAME_BYTES. */
  readonly bytesPerSecond: number;
}

type Rates = Pick<Limits, 'framesPerSecond' | 'userBytesPerSecond'>;

/** Of one user in one talkgroup. */
export const budgetIn = ({ framesPerSecond, userBytesPerSecond }: Rates): Rate => ({
  framesPerSecond: 2 * framesPerSecond,
  bytesPerSecond: userBytesPerSecond,
});

/** As many talkgroups at once as one session may talk in. */
const TALKGROUPS = 8;

/** Of one user in all talkgroups. */
export function budgetInAll(limits: Rates): Rate {
  const { framesPerSecond, bytesPerSecond } = budgetIn(limits);
  return { framesPerSecond: TALKGROUPS * framesPerSecond, bytesPerSecond: TALKGROUPS * bytesPerSecond };
}

/** Frames are refused for so long, then a burst ends. */
const EXCEEDED_MS_MAX = 2000;
/** Without a refused frame for so long the count begins anew. */
const PAUSE_MS = 1000;

export class Budget {
  private readonly frames: Bucket;
  private readonly bytes: Bucket;
  private exceededSinceMs = 0;
  private exceededAtMs = Number.NEGATIVE_INFINITY;

  /** A second's worth at once: what one session may send at once, and more than any one frame. */
  constructor({ framesPerSecond, bytesPerSecond }: Rate, nowMs: number) {
    this.frames = new Bucket(framesPerSecond, framesPerSecond, nowMs);
    this.bytes = new Bucket(bytesPerSecond, bytesPerSecond, nowMs);
  }

  /** true: a frame with so many bytes is within it, and spent. */
  take(bytes: number, nowMs: number): boolean {
    if (!this.frames.take(nowMs)) return false;
    if (this.bytes.take(nowMs, bytes)) return true;
    this.frames.giveBack(1);
    return false;
  }

  /** What `take` took was not used: a frame that is not relayed costs the other sockets nothing. */
  giveBack(bytes: number): void {
    this.frames.giveBack(1);
    this.bytes.giveBack(bytes);
  }

  /** A frame was refused; true: frames have been for 2 s, which is counted anew from here on. */
  isExceededForLong(nowMs: number): boolean {
    if (nowMs - this.exceededAtMs > PAUSE_MS) this.exceededSinceMs = nowMs;
    this.exceededAtMs = nowMs;
    if (nowMs - this.exceededSinceMs < EXCEEDED_MS_MAX) return false;
    this.exceededSinceMs = nowMs;
    return true;
  }
}
