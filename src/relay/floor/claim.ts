// Describes the claim of a session that asks for the floor. Orders claims, and says which of them may talk in a mode.
import type { UserId } from '../../ids.js';
import type { FloorMode } from '../../protocol/codes.js';

/** The priority of a first frame. */
export const FRAME_PRIORITY = 1;

/** The priority of every claim of a user with an open emergency. */
export const EMERGENCY_PRIORITY = 7;

/** The highest priority of a dispatcher. An emergency has 7, so a dispatcher never ends one. */
export const DISPATCHER_PRIORITY_MAX = 6;

/** What a session asks for the floor with. */
export interface Claim {
  readonly session: number;
  /** The user of the session: bursts are counted over all sockets of a user. */
  readonly user: UserId;
  /** 0 to 7, of a dispatcher to 6. From 4 on it preempts. Without `isAdmin` or an open emergency it counts as at most 3. */
  readonly priority: number;
  /** Dispatcher or administrator. Between relays the field has this name, too. */
  readonly isAdmin: boolean;
  /** The user has an open emergency here: every priority counts as 7. */
  readonly inEmergency: boolean;
}

/** The effective priority, 0 to 7. */
export function priorityOf({ priority, isAdmin, inEmergency }: Claim): number {
  if (inEmergency) return EMERGENCY_PRIORITY;
  return isAdmin ? priority : Math.min(priority, 3);
}

/** Orders claims by priority. An administrator's 7 is above an emergency's 7. */
export const rankOf = (claim: Claim) => (claim.isAdmin && claim.priority === 7 ? 8 : priorityOf(claim));

/** Whether the claim takes the floor from the other one. 0 to 3 only order the queue. */
export const preempts = (claim: Claim, other: Claim) =>
  priorityOf(claim) >= 4 && rankOf(claim) > rankOf(other);

/** `broadcast` is for dispatchers, administrators and users with an open emergency. */
export const mayTalkIn = (mode: FloorMode, claim: Claim) =>
  mode !== 'broadcast' || claim.isAdmin || claim.inEmergency;
