// What somebody asks for the floor with, and how claims stand to each other.
import type { UserId } from '../ids.js';
import type { FloorMode } from '../protocol/codes.js';

/** A first frame asks with this. */
export const FRAME_PRIORITY = 1;

/** What somebody asks with. */
export interface Claim {
  readonly session: number;
  /** Whose session it is: a user's bursts are counted over all sockets. */
  readonly user: UserId;
  /** 0 to 7; from 4 on it preempts, and needs the role or an open emergency, else it counts as 3. */
  readonly priority: number;
  readonly isAdmin: boolean;
  /** The user has an open emergency here: whatever he asks with counts as 7. */
  readonly inEmergency: boolean;
}

/** 0 to 7 as it counts. */
export function priorityOf({ priority, isAdmin, inEmergency }: Claim): number {
  if (inEmergency) return 7;
  return isAdmin ? priority : Math.min(priority, 3);
}

/** Orders claims: as the priority, but an admin's own 7 stands above an emergency's 7. */
export const rankOf = (claim: Claim) => (claim.isAdmin && claim.priority === 7 ? 8 : priorityOf(claim));

/** Whether the claim takes the floor from the other one; 0 to 3 only order the queue. */
export const preempts = (claim: Claim, other: Claim) =>
  priorityOf(claim) >= 4 && rankOf(claim) > rankOf(other);

/** `broadcast` is for admins and for whoever calls for help. */
export const mayTalkIn = (mode: FloorMode, claim: Claim) =>
  mode !== 'broadcast' || claim.isAdmin || claim.inEmergency;
