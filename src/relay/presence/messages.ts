// Writes the messages of presence: PRESENCE and MEMBERS.
import type { Member, Ref } from '../../protocol/bodies.js';
import { textOf } from '../../protocol/server-messages.js';
import type { LiveSession, Membership, Talkgroup } from '../members/members.js';
import type { Announcement } from './roster.js';

/** A session as PRESENCE and MEMBERS show it. */
export const memberBody = ({ number, user }: LiveSession, { site }: Membership): Member => ({
  session: number,
  user_id: user.id,
  username: user.username,
  site,
});

export const presenceText = (talkgroup: Talkgroup, announcement: Announcement) =>
  textOf({ type: 'PRESENCE', talkgroup_id: talkgroup.id, ...announcement });

/** One page of members. */
export interface MembersPage {
  readonly online: number;
  readonly members: readonly Member[];
  readonly next: number | null;
}

export const membersText = (talkgroup: Talkgroup, page: MembersPage, ref: Ref | undefined) =>
  textOf({ type: 'MEMBERS', ref, talkgroup_id: talkgroup.id, ...page });
