// Judges the pongs of one session: they answer our pings or those of uWebSockets.js, or nothing that was asked.
import type { Counts } from '../figures/counts.js';

/** The engine pings a silent socket only, seconds apart. */
const EMPTY_PONGS_MS_MIN = 1000;

export interface Ponging {
  heardAtMs: number;
  readonly reception: { pong(payload: ArrayBuffer, nowMs: number): boolean };
  /** One that nothing has asked for. Too many of them are abuse. */
  pinged(): void;
}

/** An empty one answers the engine's own pings, of which there are few. */
export function judgePong(
  session: Ponging,
  payload: ArrayBuffer,
  { counts, nowMs }: { readonly counts: Pick<Counts, 'strayPongs'>; readonly nowMs: () => number },
): void {
  const now = nowMs();
  const sinceMs = now - session.heardAtMs;
  session.heardAtMs = now;
  const isOurs =
    payload.byteLength === 0 ? sinceMs >= EMPTY_PONGS_MS_MIN : session.reception.pong(payload, now);
  if (isOurs) return;
  counts.strayPongs++;
  session.pinged();
}
