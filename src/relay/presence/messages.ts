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

/** One page of all, made of the first page of each relay: its `limit` lowest sessions. One that moves may be in two pages. */
export function joinPages(pages: readonly Omit<MembersPage, 'online'>[], limit: number) {
  const sorted = pages.flatMap(({ members }) => members).sort((one, other) => one.session - other.session);
  const all = sorted.filter(({ session }, at) => session !== sorted[at - 1]?.session);
  const members = all.slice(0, limit);
  const hasMore = all.length > limit || pages.some(({ next }) => next !== null);
  return { members, next: hasMore ? (members.at(-1)?.session ?? null) : null };
}

export const membersText = (talkgroup: Talkgroup, page: MembersPage, ref: Ref | undefined) =>
  textOf({ type: 'MEMBERS', ref, talkgroup_id: talkgroup.id, ...page });
