// Announces once a second which sessions came and left, to the sessions that asked for it, and lists them page by page.
import type { Member } from '../../protocol/bodies.js';
import type { Fanout } from '../delivery/fanout.js';
import type { LiveSession, Membership, Talkgroup } from '../members/members.js';
import { type MembersPage, memberBody, presenceText } from './messages.js';
import { Listing } from './page.js';
import { type Announcement, Roster } from './roster.js';

/** Announcements, one a second, after which a listing is dropped that no client asks for: keeping it current costs time. */
const LISTING_IDLE_MAX = 30;

/** A listing, and for how many announcements no client asked for a page of it. */
interface Listed {
  readonly listing: Listing<LiveSession>;
  idle: number;
}

/** Those that came and left since the last announcement. null: none is told. */
interface Rosters {
  /** Of all relays, for the sessions here that watch. */
  shown: Roster | null;
  /** Of this relay, for other relays where sessions watch. */
  told: Roster | null;
}

/** What other relays are told. */
export interface PresenceElsewhere {
  /** Sessions of this relay came and left. */
  announced(talkgroup: Talkgroup, announcement: Announcement): void;
  /** Whether a session here watches has changed. */
  watching(talkgroup: Talkgroup): void;
}

export type Presence = ReturnType<typeof createPresence>;

export function createPresence(fanout: Pick<Fanout, 'online' | 'onlineHere' | 'presence' | 'watchers'>) {
  /** Of talkgroups that a session watches, here or at another relay. */
  const rosters = new Map<Talkgroup, Rosters>();
  /** Of talkgroups that a client asks for pages of: the sessions that are there. */
  const listings = new Map<Talkgroup, Listed>();

  function rostersOf(talkgroup: Talkgroup): Rosters {
    const known = rosters.get(talkgroup) ?? { shown: null, told: null };
    rosters.set(talkgroup, known);
    return known;
  }

  function tellNow(talkgroup: Talkgroup, elsewhere: Pick<PresenceElsewhere, 'announced'>): void {
    const own = rosters.get(talkgroup)?.told?.flush(fanout.onlineHere(talkgroup.feed)) ?? null;
    if (own !== null) elsewhere.announced(talkgroup, own);
  }

  return {
    /**
     * Other relays are told at once who came and left: before a page that may show it, so that their numbers go with it, and
     * before a session that left is at one of them.
     */
    tellNow,

    /** A session watches the talkgroup from now on. */
    watch(talkgroup: Talkgroup): void {
      rostersOf(talkgroup).shown ??= new Roster();
    },

    /** Whether a session here watches it. */
    isWatched: (talkgroup: Talkgroup): boolean => (rosters.get(talkgroup)?.shown ?? null) !== null,

    /** Sessions of other relays watch it from now on, or none does any more. */
    watchedElsewhere(talkgroup: Talkgroup, isWatched: boolean): void {
      if (isWatched) rostersOf(talkgroup).told = new Roster();
      else rostersOf(talkgroup).told = null;
    },

    /** The session hears of the talkgroup from now on. */
    came(session: LiveSession, membership: Membership): void {
      if (rosters.size + listings.size === 0) return; // thousands come at once
      const { talkgroup } = membership;
      const { shown, told } = rosters.get(talkgroup) ?? NOBODY;
      shown?.joined(memberBody(session, membership));
      told?.joined(memberBody(session, membership));
      listings.get(talkgroup)?.listing.add(session);
    },

    /** It does not hear of the talkgroup any more. */
    went(session: LiveSession, membership: Membership): void {
      if (rosters.size + listings.size === 0) return;
      const { talkgroup } = membership;
      const { shown, told } = rosters.get(talkgroup) ?? NOBODY;
      shown?.left(memberBody(session, membership));
      told?.left(memberBody(session, membership));
      listings.get(talkgroup)?.listing.delete(session);
    },

    /** Sessions of other relays came or left there. */
    recounted(talkgroup: Talkgroup): void {
      rosters.get(talkgroup)?.shown?.recounted();
    },

    /** These sessions of another relay came and left there. */
    toldElsewhere(talkgroup: Talkgroup, joined: readonly Member[], left: readonly number[]): void {
      rosters.get(talkgroup)?.shown?.toldElsewhere(joined, left);
    },

    /** Called once a second: announces the changes since the last call. `elsewhere` is null without other relays. */
    announce(elsewhere: PresenceElsewhere | null): void {
      for (const [talkgroup, each] of rosters) {
        const { feed } = talkgroup;
        if (elsewhere !== null) tellNow(talkgroup, elsewhere);
        if (each.shown !== null && fanout.watchers(feed) === 0) {
          each.shown = null;
          elsewhere?.watching(talkgroup);
        }
        const announcement = each.shown?.flush(fanout.online(feed)) ?? null;
        if (announcement !== null) fanout.presence(feed, presenceText(talkgroup, announcement));
        if (each.shown === null && each.told === null) rosters.delete(talkgroup);
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
      const { shown, told } = rosters.get(talkgroup) ?? NOBODY;
      shown?.listed();
      told?.listed();
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

const NOBODY: Rosters = { shown: null, told: null };

function* sessionsIn(talkgroup: Talkgroup): Iterable<LiveSession> {
  for (const { user, granted } of talkgroup.memberships) {
    if (!granted) continue;
    for (const session of user.sessions) if (session.isLive && session.hears(talkgroup)) yield session;
  }
}
