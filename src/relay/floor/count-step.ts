// Counts what a step of the floor machine did.
import { observe } from '../../histogram.js';
import type { FloorCounts } from '../figures/floor-counts.js';
import { type Floor, type FloorEvent, holderOf, type Step, waitingOf } from './state.js';

/** Counts the step that `event` made of the floor `before`. */
export function countStep(
  counts: FloorCounts,
  { before, event, after, nowMs }: { before: Floor; event: FloorEvent; after: Step; nowMs: number },
): void {
  if (event.kind === 'request') {
    counts.requests++;
    const { session } = event.claim;
    if (!waitingOf(before, session) && waitingOf(after.floor, session)) counts.queued++;
  }
  for (const outcome of after.outcomes) {
    if (outcome.kind === 'denied') counts.denied[outcome.code]++;
    else if (outcome.kind === 'ended') counts.ended[outcome.code]++;
    else if (outcome.kind === 'granted') countGrant(counts, before, outcome.holder.claim.session, nowMs);
  }
}

function countGrant(counts: FloorCounts, before: Floor, session: number, nowMs: number): void {
  if (holderOf(before, session) !== undefined) return; // the grant was repeated
  counts.granted++;
  const waited = waitingOf(before, session);
  if (waited !== undefined) observe(counts.waits, nowMs - waited.sinceMs);
}
