// What floor control counts, told by a step of the pure machine: what was before it, what happened, what came of it.
import { type Histogram, newHistogram, observe } from '../histogram.js';
import type { EndCode } from '../protocol/codes.js';
import { type Floor, type FloorEvent, holderOf, type Outcome, type Step, waitingOf } from '../talk/floor.js';

/** Why the floor says no. */
export type Denial = Extract<Outcome, { kind: 'denied' }>['code'];

/** A first frame that was not asked for is no request, but it is granted or denied like one. */
export interface FloorCounts {
  requests: number;
  /** Requests that had to wait. */
  queued: number;
  granted: number;
  readonly denied: Record<Denial, number>;
  /** Bursts. */
  readonly ended: Record<EndCode, number>;
  /** From the place in the queue to the grant. */
  readonly waits: Histogram;
}

/** A talk limit is 60 s as a rule: two talkers ahead are two minutes. */
const WAITS_MS = [100, 250, 500, 1000, 2500, 5000, 10_000, 20_000, 30_000, 60_000, 120_000];

export const newFloorCounts = (): FloorCounts => ({
  requests: 0,
  queued: 0,
  granted: 0,
  denied: { busy: 0, queue_full: 0, forbidden: 0 },
  ended: {
    released: 0,
    silence: 0,
    too_long: 0,
    preempted: 0,
    disconnected: 0,
    left: 0,
    deleted: 0,
    disabled: 0,
    rate_limited: 0,
    mode: 0,
  },
  waits: newHistogram(WAITS_MS),
});

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
  if (holderOf(before, session) !== undefined) return; // told again
  counts.granted++;
  const waited = waitingOf(before, session);
  if (waited !== undefined) observe(counts.waits, nowMs - waited.sinceMs);
}
