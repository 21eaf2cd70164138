// Announces once a second which sessions came and left, to the sessions that asked for it, and lists them page by page.
import type { Fanout } from '../delivery/fanout.js';
import type { LiveSession, Membership, Talkgroup } from '../members/members.js';
import { type MembersPage, memberBody, presenceText } from './messages.js';
import { Listing } from './page.js';
import { Roster } from './roster.js';

/** Announcements, one a second, after which a listing is dropped that no client asks for: keeping it current costs time. */
const LISTING_IDLE_MAX = 30;

/** A listing, and for how many announcements no client asked for a page of it. */
interface Listed {
  readonly listing: Listing<LiveSession>;
  idle: number;
}

export type Presence = ReturnType<typeof createPresence>;

export function createPresence(fanout: Pick<Fanout, 'online' | 'presence' | 'watchers'>) {
  /** Of talkgroups that a session watches: those that came and left since the last PRESENCE. */
  const rosters = new Map<Talkgroup, Roster>();
  /** Of talkgroups that a client asks for pages of: the sessions that are there. */
  const listings = new Map<Talkgroup, Listed>();

  return {
    /** A session watches the talkgroup from now on. */
    watch(talkgroup: Talkgroup): void {
      if (!rosters.has(talkgroup)) rosters.set(talkgroup, new Roster());
    },

    /** The session hears of the talkgroup from now on. */
    came(session: LiveSession, membership: Membership): void {
      if (rosters.size + listings.size === 0) return; // thousands come at once
      const { talkgroup } = membership;
      rosters.get(talkgroup)?.joined(memberBody(session, membership));
      listings.get(talkgroup)?.listing.add(session);
    },

    /** It does not hear of the talkgroup any more. */
    went(session: LiveSession, membership: Membership): void {
      if (rosters.size + listings.size === 0) return;
      const { talkgroup } = membership;
      rosters.get(talkgroup)?.left(memberBody(session, membership));
      listings.get(talkgroup)?.listing.delete(session);
    },

    /** Sessions of other relays came or left there. */
    recounted(talkgroup: Talkgroup): void {
      rosters.get(talkgroup)?.recounted();
    },

    /** Called once a second: announces the changes since the last call. */
    announce(): void {
      for (const [talkgroup, roster] of rosters) {
        const { feed } = talkgroup;
        if (fanout.watchers(feed) === 0) {
          rosters.delete(talkgroup);
          continue;
        }
        const announcement = roster.flush(fanout.online(feed));
        if (announcement !== null) fanout.presence(feed, presenceText(talkgroup, announcement));
      }
      for (const [talkgroup, listed] of listings) {
        if (listed.idle >= LISTING_IDLE_MAX) listings.delete(talkgroup);
        listed.idle++;
      }
    },

    /** At most `limit` of the sessions that hear the talkgroup, in the order of their numbers, from above `after`. */
    page(talkgroup: Talkgroup, after: number, limit: number): MembersPage {
      let listed = listings.get(talkgroup);
      if (listed === undefined) {
        listed = { listing: new Listing(sessionsIn(talkgroup)), idle: 0 };
        listings.set(talkgroup, listed);
      }
      listed.idle = 0;
      const { page, next } = listed.listing.page(after, limit);
      return {
        online: fanout.online(talkgroup.feed),
        members: page.flatMap((one) => {
          const membership = one.user.memberships.get(talkgroup.number);
          return membership === undefined || !one.isLive ? [] : [memberBody(one, membership)];
        }),
        next,
      };
    },
  };
}

function* sessionsIn(talkgroup: Talkgroup): Iterable<LiveSession> {
  for (const { user, granted } of talkgroup.memberships) {
    if (!granted) continue;
    for (const session of user.sessions) if (session.isLive && session.hears(talkgroup)) yield session;
  }
}
