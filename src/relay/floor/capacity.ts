// Limits how many sessions talk and wait at once: in the floor mode `open`, and of one user in every mode.
import type { UserId } from '../../ids.js';
import type { RemoteTalk } from './bursts.js';
import type { Claim } from './claim.js';

export interface TalkLimits {
  /** Bursts at once in one `open` talkgroup. */
  readonly talkersMax: number;
  /** Bursts at once of one user in one talkgroup, over all sockets. */
  readonly talksPerUser: number;
}

/**
 * What the limits leave to the sessions of this relay, beside these bursts of other relays. A burst of a user in an
 * emergency counts toward neither limit. `user` is absent when no user asks.
 */
export function limitsBeside(
  limits: TalkLimits,
  remote: ReadonlySet<RemoteTalk>,
  user: UserId | undefined,
): TalkLimits {
  if (remote.size === 0) return limits;
  const counted = [...remote].filter(({ talker }) => !talker.emergency);
  const own = counted.filter(({ talker }) => talker.user_id === user);
  return {
    talkersMax: Math.max(0, limits.talkersMax - counted.length),
    talksPerUser: Math.max(0, limits.talksPerUser - own.length),
  };
}

interface Held {
  readonly claim: Claim;
}

/**
 * The answer of an `open` floor to a claim: `free`, the holder that must give way to it, or null when it is denied.
 * `holders` are in the order of their grants.
 */
export function capacityFor<H extends Held>(
  holders: readonly H[],
  claim: Claim,
  limits: TalkLimits,
): 'free' | H | null {
  const own = holders.filter((holder) => holder.claim.user === claim.user).length;
  if (own >= partsMax(claim, limits)) return null;
  if (claim.isAdmin || (claim.inEmergency && own === 0)) return 'free';
  const counts = countByUser(holders);
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (all < limits.talkersMax) return 'free';
  if (own > 0) return null;
  return holders.findLast((holder) => (counts.get(holder.claim.user) ?? 0) > 1) ?? null;
}

/** One burst of a user in an emergency is exempt from both limits. */
const partsMax = ({ inEmergency }: Claim, { talksPerUser }: TalkLimits) =>
  talksPerUser + (inEmergency ? 1 : 0);

/** The bursts of each user, without the one that is exempt from the limits. */
function countByUser(holders: readonly Held[]): ReadonlyMap<UserId, number> {
  const counts = new Map<UserId, number>();
  for (const { claim } of holders)
    counts.set(claim.user, (counts.get(claim.user) ?? (claim.inEmergency ? -1 : 0)) + 1);
  return counts;
}

/** Whether the claim may be queued: one user's sockets must not fill the queue. */
export function mayWait(
  holders: readonly Held[],
  waiting: readonly Claim[],
  claim: Claim,
  limits: TalkLimits,
): boolean {
  if (waiting.some(({ session }) => session === claim.session)) return true;
  const parts = [...holders.map((holder) => holder.claim), ...waiting];
  return parts.filter(({ user }) => user === claim.user).length < partsMax(claim, limits);
}

/** Orders the queue of an `open` floor. A user without a burst comes first: that claim would take back a second burst. */
export function inTurn<W extends Claim>(holders: readonly Held[], waiting: readonly W[]): readonly W[] {
  const talking = new Set(holders.map(({ claim }) => claim.user));
  return waiting.toSorted((a, b) => Number(talking.has(a.user)) - Number(talking.has(b.user)));
}
