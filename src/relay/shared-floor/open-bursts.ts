// Keeps the oldest burst of `open` when one relay begins to decide: its part may come later than the others.
import type { PartClaim } from './bodies.js';
import type { SharedState } from './state.js';

/** A new home waits for the parts of the others for this time (ms). */
const PARTS_MS = 100;
/** The same while a burst of another relay plays here that began in `open`: its part tells whether it is the oldest one. */
const OPEN_PARTS_MS = 500;

/** For how long (ms) a new home waits for the parts of the others. */
export function partsMs({ turnsHere, services, talkgroup }: SharedState): number {
  const hearsOpen = turnsHere.played === null && services.bursts.remoteIn(talkgroup).size > 0;
  return hearsOpen ? OPEN_PARTS_MS : PARTS_MS;
}

/**
 * The claim of another relay as it is known here. A part takes a while to come, and its burst looks younger by that: it
 * had begun when it was heard here.
 */
export function asHeard({ services, talkgroup }: SharedState, claim: PartClaim): PartClaim {
  if (claim.startedMs === null || claim.turn !== null) return claim;
  for (const { talker, startedAtMs } of services.bursts.remoteIn(talkgroup))
    if (talker.session === claim.session)
      return { ...claim, startedMs: Math.min(claim.startedMs, startedAtMs) };
  return claim;
}
