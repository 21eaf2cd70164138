import type { PartVerdict } from './bodies.js';

// Keeps which verdicts a home told each relay last, so that it repeats those that changed a moment ago.

/** When verdicts that changed are repeated (ms after the change). */
const REPEATS_MS = [60, 150];
const LAST_REPEAT_MS = Math.max(...REPEATS_MS);
/** To a relay without claims there is nothing to repeat. */
const NONE = '[]';

interface Sent {
  readonly v: number;
  readonly text: string;
  readonly atMs: number;
}

/** One for each relay that shares the floor. */
export class SentVerdicts {
  private readonly sent = new Map<number, Sent>();

  /** Whether these verdicts are news for the relay. From now on they are not. */
  isNews(relay: number, v: number, verdicts: readonly PartVerdict[], nowMs: number): boolean {
    const text = JSON.stringify(verdicts);
    const last = this.sent.get(relay);
    if (last?.text === text && last.v === v) return false;
    // Only a verdict that changed is worth repeating: a part is answered each time.
    this.sent.set(relay, { v, text, atMs: last?.text === text ? last.atMs : nowMs });
    return true;
  }

  /** Relays to which verdicts must be repeated now. `beforeMs` is the time of the last call. */
  toRepeat(nowMs: number, beforeMs: number): readonly number[] {
    return [...this.sent].flatMap(([relay, { atMs, text }]) =>
      text !== NONE && REPEATS_MS.some((ms) => beforeMs < atMs + ms && nowMs >= atMs + ms) ? [relay] : [],
    );
  }

  /** Verdicts are to be repeated after this time. */
  isWaiting(afterMs: number): boolean {
    for (const { atMs, text } of this.sent.values())
      if (text !== NONE && afterMs < atMs + LAST_REPEAT_MS) return true;
    return false;
  }

  forget(relay: number): void {
    this.sent.delete(relay);
  }
}
