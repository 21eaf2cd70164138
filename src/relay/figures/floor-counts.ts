// Holds what floor control counts.
import { type Histogram, newHistogram } from '../../histogram.js';
import { type DenyCode, type EndCode, ends } from '../../protocol/codes.js';

/** Why floor control denies a request or a first frame. */
export type Denial = Extract<DenyCode, 'busy' | 'queue_full' | 'forbidden'>;

/** A first frame without a request counts in `granted` and `denied`, not in `requests`. */
export interface FloorCounts {
  requests: number;
  /** Requests that entered the queue. */
  queued: number;
  granted: number;
  readonly denied: Record<Denial, number>;
  /** Bursts. */
  readonly ended: Record<EndCode, number>;
  /** From entering the queue to the grant. */
  readonly waits: Histogram;
}

/** Bounds (ms). A talk limit is usually 60 s, so two talkers ahead take two minutes. */
const WAITS_MS = [100, 250, 500, 1000, 2500, 5000, 10_000, 20_000, 30_000, 60_000, 120_000];

export const newFloorCounts = (): FloorCounts => ({
  requests: 0,
  queued: 0,
  granted: 0,
  denied: { busy: 0, queue_full: 0, forbidden: 0 },
  ended: zeros(ends),
  waits: newHistogram(WAITS_MS),
});

/** A series begins at 0: a series that began with its first event would show no change. */
export const zeros = <Name extends string | number>(names: Iterable<Name>) =>
  Object.fromEntries([...names].map((name) => [name, 0])) as Record<Name, number>;

/** Of floors that several relays share. Plain numbers, counted since the start. */
export interface SharedCounts {
  /** Questions that no home answered in time. */
  unanswered: number;
  /** Grants and bursts revoked because two had the floor. */
  collisions: number;
  /** Floors made anew out of the parts of all relays. */
  rebuilt: number;
  /** Messages about floors of relays that took another relay for the home than this one did. */
  viewsDiffer: number;
}

export const newSharedCounts = (): SharedCounts => ({
  unanswered: 0,
  collisions: 0,
  rebuilt: 0,
  viewsDiffer: 0,
});
