// Counts frames of bursts that ended here before they ended at their talker's relay: listeners miss them.
import { type BurstName, isSame } from './plays.js';

/** Time (ms) between two counts that are told. */
const MISSED_MS = 500;

/** Of the last such burst. */
export class Cut<B extends BurstName> {
  private readonly missed: (burst: B, frames: number, nowMs: number) => void;
  private burst: B | null = null;
  /** Of the last frame that was counted, and of the last one that was told. */
  private index = 0;
  private toldIndex = 0;
  private toldAtMs = 0;

  constructor(missed: (burst: B, frames: number, nowMs: number) => void) {
    this.missed = missed;
  }

  /** The burst ended here behind the frame with this index. */
  begin(burst: B, index: number, nowMs: number): void {
    this.tell(nowMs);
    this.burst = burst;
    this.index = index;
    this.toldIndex = index;
    this.toldAtMs = nowMs;
  }

  /** A frame of some burst is not played. */
  frame(name: BurstName, index: number, nowMs: number): void {
    if (this.burst === null || index <= this.index || !isSame(this.burst, name)) return;
    this.index = index;
    if (nowMs - this.toldAtMs >= MISSED_MS) this.tell(nowMs);
  }

  /** The burst ended at its relay, or begins here again: `index` is that of its last frame. */
  end(name: BurstName, index: number, nowMs: number): void {
    if (this.burst === null || !isSame(this.burst, name)) return;
    this.index = Math.max(this.index, index);
    this.tell(nowMs);
    this.burst = null;
  }

  /** Its relay cannot be reached. */
  forget(): void {
    this.burst = null;
  }

  private tell(nowMs: number): void {
    const { burst, index, toldIndex } = this;
    if (burst === null || index <= toldIndex) return;
    this.toldIndex = index;
    this.toldAtMs = nowMs;
    this.missed(burst, index - toldIndex, nowMs);
  }
}

/** Frames of a burst that ended here come on for this time (ms): here it ended wrongly. */
const PAST_MS = 150;
/** Time (ms) between two complaints about it. */
const FENCED_MS = 250;

/** Sees that a burst which ended here goes on elsewhere. */
export class PastFrames {
  private sinceMs = Number.NEGATIVE_INFINITY;
  private atMs = Number.NEGATIVE_INFINITY;
  private fencedAtMs = Number.NEGATIVE_INFINITY;

  /** One more came. true: they go on for PAST_MS, told once in FENCED_MS. */
  isTooMany(nowMs: number): boolean {
    if (nowMs - this.atMs > PAST_MS) this.sinceMs = nowMs;
    this.atMs = nowMs;
    if (nowMs - this.sinceMs < PAST_MS || nowMs - this.fencedAtMs < FENCED_MS) return false;
    this.fencedAtMs = nowMs;
    return true;
  }
}
