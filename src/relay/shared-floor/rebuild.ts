// Makes the floor of a talkgroup out of what each relay tells of its own sessions: for a home that is new, or that heard of
// a grant which another one gave.

import type { RevokeCode } from '../../protocol/codes.js';
import { mayTalkIn, preempts, rankOf } from '../floor/claim.js';
import { inOrder, WAITING_MAX } from '../floor/queue.js';
import { emptyFloor, type Floor } from '../floor/state.js';
import type { PartClaim } from './bodies.js';
import { bare, holderFrom, waitingFrom } from './parts.js';

export interface Rebuilt {
  /** At most one holder, and the queue. */
  readonly floor: Floor;
  /** The claim that keeps the floor. */
  readonly kept: PartClaim | null;
  /** Grants that end. */
  readonly ended: readonly { readonly claim: PartClaim; readonly code: RevokeCode }[];
  /** Places that are lost. */
  readonly denied: readonly { readonly claim: PartClaim; readonly code: 'queue_full' | 'forbidden' }[];
  /** Questions that the floor must answer next, the oldest first. */
  readonly asks: readonly PartClaim[];
}

/**
 * `claims` are those of all relays, each session once, with monotonic times (ms). `isStale`: the relay of the session has not
 * been heard for a while. Not for the floor mode `open`.
 */
export function rebuild(
  claims: readonly PartClaim[],
  { mode, maxTalkMs }: Pick<Floor, 'mode' | 'maxTalkMs'>,
  isStale: (session: number) => boolean,
  nowMs: number,
): Rebuilt {
  const inState = (...states: PartClaim['state'][]) => claims.filter(({ state }) => states.includes(state));
  const holding = inState('has', 'talks').toSorted((a, b) => byRight(a, b, isStale));
  const kept = holding.find((claim) => mayTalkIn(mode, claim)) ?? null;
  const queued = claims.filter(({ state, hasPlace }) => state === 'waits' || hasPlace);
  const waiting = inOrder(queued.map((claim) => waitingFrom(claim, nowMs)));
  const allowed = waiting.filter((claim) => mayTalkIn(mode, claim));
  const placed = new Set(allowed.slice(0, WAITING_MAX).map(({ session }) => session));
  const refused = inState('waits').filter(({ session }) => !placed.has(session)); // a question is answered as such
  return {
    floor: {
      ...emptyFloor(mode, maxTalkMs),
      holders: kept === null ? [] : [holderFrom(kept, nowMs)],
      waiting: allowed.slice(0, WAITING_MAX),
    },
    kept,
    ended: holding
      .filter((claim) => claim !== kept)
      .map((claim) => ({ claim, code: mayTalkIn(mode, claim) ? codeBeside(claim, kept) : 'mode' })),
    denied: refused.map((claim) => ({ claim, code: mayTalkIn(mode, claim) ? 'queue_full' : 'forbidden' })),
    asks: inState('asks').toSorted((a, b) => (a.askedMs ?? nowMs) - (b.askedMs ?? nowMs)),
  };
}

/** Granted in `open`, before the relay read the new mode. */
const isOfOpen = ({ turn, isAlone }: PartClaim) => turn === null && !isAlone;

/**
 * The one that keeps the floor comes first: higher claims, then those of relays that were heard lately, then talkers before
 * unused grants, then the longest burst, then the lower session. Of bursts that began in `open` the oldest one stays, as on
 * one relay.
 */
function byRight(a: PartClaim, b: PartClaim, isStale: (session: number) => boolean): number {
  const ofOpen = Number(isOfOpen(a)) - Number(isOfOpen(b));
  if (ofOpen !== 0) return ofOpen;
  const startedMs = (claim: PartClaim) => claim.startedMs ?? Number.MAX_VALUE;
  const byStart = startedMs(a) - startedMs(b);
  if (isOfOpen(a)) return byStart || a.session - b.session;
  const byRank = rankOf(bare(b)) - rankOf(bare(a));
  const byAge = Number(isStale(a.session)) - Number(isStale(b.session));
  return byRank || byAge || byStart || a.session - b.session;
}

function codeBeside(claim: PartClaim, kept: PartClaim | null): RevokeCode {
  if (isOfOpen(claim)) return 'mode';
  return kept?.isAlone && preempts(kept, claim) ? 'preempted' : 'collision';
}
