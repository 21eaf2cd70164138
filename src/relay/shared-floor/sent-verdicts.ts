// Keeps which verdicts a home last sent to each relay, and when they are due again.
import type { PartVerdict } from './parts.js';

/** When verdicts that changed are repeated (ms after the change). */
const REPEATS_MS = [60, 150];

interface Sent {
  readonly v: number;
  readonly text: string;
  readonly atMs: number;
}

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
    return [...this.sent].flatMap(([relay, { atMs }]) =>
      REPEATS_MS.some((ms) => beforeMs < atMs + ms && nowMs >= atMs + ms) ? [relay] : [],
    );
  }

  forget(relay: number): void {
    this.sent.delete(relay);
  }
}
