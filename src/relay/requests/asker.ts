// Describes the client that asks, and the answers that every request can have.
import { AppError } from '../../errors.js';
import { readId, type TalkgroupId } from '../../ids.js';
import type { Ref, Snapshot } from '../../protocol/bodies.js';
import type { TextRefusal } from '../../protocol/codes.js';
import type { ReportedFix } from '../../protocol/fix.js';
import { type Draft, textOf } from '../../protocol/server-messages.js';
import type { Emergencies } from '../emergencies/emergencies.js';
import type { FloorControl } from '../floor/control.js';
import type { Membership, Talkgroup } from '../members/members.js';
import type { Positions } from '../positions/positions.js';
import type { MembersPage } from '../presence/messages.js';
import type { Times } from '../session/services.js';
import type { Session } from '../session/session.js';

/** What requests use of the relay. */
export interface RequestServices {
  readonly floor: FloorControl;
  readonly emergencies: Emergencies;
  /** A page of the sessions that hear the talkgroup, at once or when other relays have answered. */
  readonly membersPage: (
    talkgroup: Talkgroup,
    after: number,
    limit: number,
  ) => MembersPage | Promise<MembersPage>;
  /** The talkgroup as it is now, for this member. */
  readonly snapshot: (membership: Membership) => Draft<Snapshot>;
  /** Talkgroups with a connected member. One that is not here may exist all the same. */
  readonly talkgroups: ReadonlyMap<TalkgroupId, Talkgroup>;
  /**
   * Reads the talkgroup, and calls `act` when it is read or `msMax` are over, unless the session is over. A throw ends
   * this session alone.
   */
  readonly readAgain: (
    talkgroup: Talkgroup,
    msMax: number,
    session: Session,
    act: (nowMs: number) => void,
  ) => void;
  /** false: no such device. Rejects when the fix could not be stored. */
  readonly storeFix: (fix: ReportedFix) => Promise<boolean>;
  readonly positions: Pick<Positions, 'watch' | 'unwatch'>;
  /** Unix time (ms). */
  readonly unixMs: () => number;
  readonly log: { error(fields: object, message: string): void };
}

/** The session that asks, and when. Its rates count by `arrivedAtMs`. */
export interface Asker extends Times {
  readonly session: Session;
  readonly services: RequestServices;
}

/** The asker's membership in this talkgroup. null: a malformed id, or not a member. */
export function membershipOf({ session, services }: Asker, text: string): Membership | null {
  const id = readId<TalkgroupId>(text);
  const talkgroup = id === null ? undefined : services.talkgroups.get(id);
  return (talkgroup && session.user.memberships.get(talkgroup.number)) ?? null;
}

/** Also when there is no such talkgroup: a client does not learn which ids exist. */
export const refuseStranger = ({ session }: Asker, talkgroup_id: string, ref: Ref | undefined) =>
  session.refuseText('not_member', { ref, talkgroup_id });

export const refuse = ({ session }: Asker, code: TextRefusal, ref: Ref | undefined) =>
  session.refuseText(code, { ref });

export const okText = (ref: Ref, more: { readonly emergency_id?: string } = {}) =>
  textOf({ type: 'OK', ref, ...more });

/** OK, if the request has a `ref`. */
export function confirm({ session }: Asker, ref: Ref | undefined): void {
  if (ref !== undefined) session.send(okText(ref));
}

/** Does what needs the database, and answers `unavailable` when that fails. */
export async function withDatabase(
  { session, services }: Asker,
  ref: Ref | undefined,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    // Expected: the database is away or late. Anything else is a bug, and is logged as one.
    if (!(error instanceof AppError))
      services.log.error({ session: session.number, err: error }, 'control message failed');
    session.refuseText('unavailable', { ref });
  }
}
