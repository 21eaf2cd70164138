// Describes what the relays that share a floor have told its home, and which turns are in that.

import { laterTurn, NO_TURN, type Turn } from '../../protocol/turn.js';
import type { PartClaim } from './bodies.js';

/** The last part of one relay. */
export interface Told {
  readonly v: number;
  readonly claims: readonly PartClaim[];
  /** Of sessions that have moved on. */
  readonly over: readonly PartClaim[];
  readonly top: Turn;
  /** When it came (monotonic ms). */
  readonly atMs: number;
}

/** The highest turn that plays or ended at one of them. */
export function topOf(parts: Iterable<Told>): Turn {
  let top = NO_TURN;
  for (const each of parts) top = laterTurn(top, each.top);
  return top;
}

/** The last turn with which a burst is known to have begun at one of them. */
export function begunOf(parts: Iterable<Told>): Turn {
  let begun = NO_TURN;
  for (const { claims } of parts)
    for (const { state, turn } of claims) if (state === 'talks' && turn) begun = laterTurn(begun, turn);
  return begun;
}

/** The highest turn that they have told of, or `given`. */
export function seenIn(parts: Iterable<Told>, given: Turn): Turn {
  let seen = given;
  for (const { top, claims } of parts) {
    seen = laterTurn(seen, top);
    for (const { turn } of claims) if (turn !== null) seen = laterTurn(seen, turn);
  }
  return seen;
}
