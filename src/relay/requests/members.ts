// Answers MEMBERS.
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { mayTalk } from '../members/members.js';
import { type MembersPage, membersText } from '../presence/messages.js';
import { type Asker, membershipOf, refuse, refuseStranger } from './asker.js';

/** Members on a page when the client does not say. */
const LIMIT = 100;

/** Answered with one page of MEMBERS. */
export function listMembers(
  asker: Asker,
  { talkgroup_id, after = 0, limit = LIMIT, ref }: ClientMessageOf<'MEMBERS'>,
): void | Promise<void> {
  const { session, services } = asker;
  const membership = membershipOf(asker, talkgroup_id);
  if (membership === null) return refuseStranger(asker, talkgroup_id, ref);
  if (!mayTalk(membership)) return refuse(asker, 'unavailable', ref);
  const { talkgroup } = membership;
  const answer = (page: MembersPage) => session.send(membersText(talkgroup, page, ref));
  const page = services.membersPage(talkgroup, after, limit);
  if (!(page instanceof Promise)) return answer(page);
  return page.then((whole) => {
    // The permission may have been revoked while other relays were asked.
    if (membershipOf(asker, talkgroup_id) === membership && mayTalk(membership)) answer(whole);
    else refuse(asker, 'unavailable', ref);
  });
}
