import type { PartClaim } from './bodies.js';

// Keeps for a home where sessions moved to: a relay before that may still tell claims of them.

/** A move is remembered for this time (ms) after the last claim. Relays keep a claim that left for 1.5 s. */
const MOVED_MS = 5000;

interface Moved {
  readonly moves: number;
  readonly relay: number;
  readonly atMs: number;
}

/** Bounded by the claims that the relays told within MOVED_MS. */
export class MovedSessions {
  private readonly last = new Map<number, Moved>();

  /** Whether no other relay has told a claim of the session since it moved there. */
  isNewest(relay: number, { session, moves = 0 }: PartClaim): boolean {
    const last = this.last.get(session);
    return last === undefined || moves > last.moves || (moves === last.moves && relay === last.relay);
  }

  heard(relay: number, { session, moves = 0 }: PartClaim, nowMs: number): void {
    if (moves > 0) this.last.set(session, { moves, relay, atMs: nowMs });
  }

  /** Forgets moves of long ago. */
  expire(nowMs: number): void {
    for (const [session, { atMs }] of this.last) if (nowMs - atMs >= MOVED_MS) this.last.delete(session);
  }
}
