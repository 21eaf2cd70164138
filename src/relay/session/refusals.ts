// Tells a talker why frames were refused: once for each stream, not for each of its fifty frames per second.
import { Flood } from '../limits/flood.js';

/** Streams remembered. Beyond these a flooder's frames are dropped without a message. */
const STREAMS_MAX = 16;
/** A stream ends at its next START, or after this time of silence (T1 of the protocol). */
const SILENCE_MS = 2000;

export class Refusals {
  /** By talkgroup number: when its last refused frame came (monotonic ms). */
  private readonly lastAtMs = new Map<number, number>();
  private readonly flood: Flood;

  constructor(framesPerSecond: number) {
    this.flood = new Flood(framesPerSecond);
  }

  /** Counts a refused frame. true: these are so many that the connection must close. */
  isFlood(nowMs: number): boolean {
    return this.flood.hit(nowMs);
  }

  /** Notes a refused frame. true: it is the first of its stream, and its talker should learn why. */
  isNews(talkgroup: number, isStart: boolean, nowMs: number): boolean {
    const lastAtMs = this.lastAtMs.get(talkgroup);
    if (lastAtMs === undefined && this.lastAtMs.size >= STREAMS_MAX) {
      this.forgetSilent(nowMs);
      if (this.lastAtMs.size >= STREAMS_MAX) return false;
    }
    this.lastAtMs.set(talkgroup, nowMs);
    return lastAtMs === undefined || isStart || nowMs - lastAtMs >= SILENCE_MS;
  }

  /** A START was accepted: what is refused after it is another stream. */
  forget(talkgroup: number): void {
    this.lastAtMs.delete(talkgroup);
  }

  private forgetSilent(nowMs: number): void {
    for (const [talkgroup, atMs] of this.lastAtMs) {
      if (nowMs - atMs >= SILENCE_MS) this.lastAtMs.delete(talkgroup);
    }
  }
}
