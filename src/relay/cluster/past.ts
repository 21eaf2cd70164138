// Keeps the bursts of sessions here that have ended lately: another relay may have lost their last messages.
import { isSame } from '../shared-floor/turns/plays.js';
import { PAST_MAX, type Past } from './bodies.js';

/** The end of a burst is told so long (ms) after it: a relay that lost it asks within 6 s. */
const KEPT_MS = 15_000;

type Burst = Pick<Past, 'session' | 'burst'>;

export class PastBursts {
  /** From old to new. */
  private bursts: { readonly past: Past; readonly atMs: number }[] = [];

  /** A burst ends once. */
  add(past: Past, nowMs: number): void {
    this.bursts.push({ past, atMs: nowMs });
    if (this.bursts.length > PAST_MAX) this.bursts.shift();
  }

  /** Forgets those that are old. */
  expire(nowMs: number): void {
    const [oldest] = this.bursts;
    if (oldest === undefined || nowMs - oldest.atMs < KEPT_MS) return;
    this.bursts = this.bursts.filter(({ atMs }) => nowMs - atMs < KEPT_MS);
  }

  /** All but those that run. */
  without(running: readonly Burst[]): Past[] {
    return this.bursts.flatMap(({ past }) => (running.some((one) => isSame(one, past)) ? [] : [past]));
  }

  /** The last one of the session before this one. */
  before({ session, burst }: Burst): Past | undefined {
    return this.bursts.findLast(({ past }) => past.session === session && past.burst !== burst)?.past;
  }
}
