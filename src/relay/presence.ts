// Who is there: told once a second to those who asked to be told, and page by page to whoever asks.
import type { Member } from '../protocol/bodies.js';
import type { Fanout } from './delivery/fanout.js';
import type { Membership, Talkgroup } from './members/members.js';
import { say } from './messages.js';
import { Listing } from './presence/page.js';
import { Roster } from './presence/roster.js';
import type { Session } from './session.js';

/** Announcements, one a second, until a listing that nobody asks for is given up: its sessions change all the time. */
const LISTING_IDLE_MAX = 30;

export type Presence = ReturnType<typeof createPresence>;

export function createPresence(fanout: Fanout) {
  /** Talkgroups of which somebody wants to know. */
  const watched = new Set<Talkgroup>();
  /** Talkgroups with a listing, and for how many announcements nobody asked for a page of it. */
  const listed = new Map<Talkgroup, number>();

  return {
    /** Somebody wants to be told from here on. */
    watch(talkgroup: Talkgroup): void {
      talkgroup.roster ??= new Roster();
      watched.add(talkgroup);
    },

    /** Once a second: what changed since the last time. */
    announce(): void {
      for (const talkgroup of watched) {
        if (fanout.watchers(talkgroup.feed) === 0) {
          talkgroup.roster = null;
          watched.delete(talkgroup);
          continue;
        }
        const announcement = talkgroup.roster?.flush(fanout.online(talkgroup.feed)) ?? null;
        if (announcement !== null) fanout.presence(talkgroup.feed, say.presence(talkgroup, announcement));
      }
      for (const [talkgroup, idle] of listed) {
        listed.set(talkgroup, idle + 1);
        if (idle < LISTING_IDLE_MAX) continue;
        talkgroup.listing = null;
        listed.delete(talkgroup);
      }
    },

    /** Of the sessions that hear the talkgroup, at most `limit` with numbers above `after`, in their order. */
    page(talkgroup: Talkgroup, after: number, limit: number) {
      talkgroup.listing ??= new Listing(sessionsIn(talkgroup));
      listed.set(talkgroup, 0);
      const { page: members, next } = talkgroup.listing.page(after, limit);
      return {
        online: fanout.online(talkgroup.feed),
        members: members.flatMap((one) => {
          const membership = one.user.memberships.get(talkgroup.number);
          return membership === undefined || !one.isLive ? [] : [presentOf(one, membership)];
        }),
        next,
      };
    },
  };
}

function* sessionsIn(talkgroup: Talkgroup): Iterable<Session> {
  for (const { user, granted } of talkgroup.memberships) {
    if (!granted) continue;
    for (const session of user.sessions) {
      if (session.isLive && session.reception.subscriptionTo(talkgroup).mode !== 'none') yield session;
    }
  }
}

/** The session hears of the talkgroup from here on. */
export function came(session: Session, membership: Membership): void {
  membership.talkgroup.roster?.joined(presentOf(session, membership));
  membership.talkgroup.listing?.add(session);
}

/** Not any more. */
export function went(session: Session, membership: Membership): void {
  membership.talkgroup.roster?.left(presentOf(session, membership));
  membership.talkgroup.listing?.delete(session);
}

/** The session as PRESENCE and MEMBERS show it. */
const presentOf = ({ number, user }: Session, { site }: Membership): Member => ({
  session: number,
  user_id: user.id,
  username: user.username,
  site,
});
