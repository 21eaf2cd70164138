// Keeps the epochs of a talkgroup's key, and judges with a passed clock which one is in use.
import type { EpochRow } from '../../directory/records.js';

/** An epoch is accepted for this time (ms) after its successor is in use: a talker learns of the change that late. */
const STALE_MS = 5000;
/** Epochs accepted at once: the one to talk with now, and those announced after it. */
const EPOCHS_MAX = 8;

/** Where an epoch of a new burst belongs. `ahead`: this relay has not read it yet. */
export type EpochVerdict = 'accepted' | 'stale' | 'ahead';

export class Epochs {
  /** The newest counter. */
  counter: number;
  /** Those that were put to use less than STALE_MS ago, or will be: counter, and when (monotonic ms). The newest first. */
  private uses: readonly { readonly counter: number; readonly useAtMs: number }[] = [];

  constructor(counter: number) {
    this.counter = counter;
  }

  /** As a read shows them. */
  set(counter: number, rows: readonly EpochRow[] | null, nowMs: number): void {
    this.counter = counter;
    // One of more that are announced counts as in use, so that the one to talk with is always accepted.
    const known = (rows ?? []).slice(0, EPOCHS_MAX - 1);
    this.uses = known.map(([counter, useInMs]) => ({ counter, useAtMs: nowMs + useInMs }));
  }

  /** The epoch to talk with now. */
  talkCounter(nowMs: number): number {
    let coming = this.counter + 1;
    for (const { counter, useAtMs } of this.uses) if (useAtMs > nowMs) coming = counter;
    return coming - 1;
  }

  /** Time (ms) until the newest epoch is in use. */
  useInMs(nowMs: number): number {
    const useAtMs = this.uses.find(({ counter }) => counter === this.counter)?.useAtMs ?? nowMs;
    return Math.max(0, Math.ceil(useAtMs - nowMs));
  }

  /** Judges the epoch of a burst that begins now. */
  judge(epoch: number, nowMs: number): EpochVerdict {
    if (epoch > this.counter) return 'ahead';
    if (epoch === this.counter) return 'accepted';
    if (epoch <= this.counter - EPOCHS_MAX) return 'stale';
    const successor = this.uses.find(({ counter }) => counter === epoch + 1);
    // Without a row the successor was in use long ago.
    return successor !== undefined && nowMs < successor.useAtMs + STALE_MS ? 'accepted' : 'stale';
  }
}
