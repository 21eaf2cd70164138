// Lets sessions watch where devices are: who watches what, which positions this relay wants, and its own timer.
import type { Notice } from '../../db/notice.js';
import type { DeviceId, TalkgroupId } from '../../ids.js';
import type { Ref } from '../../protocol/bodies.js';
import type { WatchInterval } from '../../protocol/codes.js';
import type { LatestFix } from '../../protocol/fix.js';
import type { Clock, Timer } from '../clock.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Peer, Publisher } from '../delivery/peer.js';
import type { PositionCounts } from '../figures/counts.js';
import { type Membership, mayTalk, type User } from '../members/members.js';
import type { Raisers } from '../members/raisers.js';
import { createAlarms } from './alarms.js';
import { createDevices } from './devices.js';
import { inTime } from './in-time.js';
import type { DevicesRead, List, ListChange } from './list.js';
import { createLists } from './lists.js';
import { createShared, type SharedTalkgroup } from './shared.js';
import { Watch, type WatchedTalkgroup, type WatchingSession } from './watch.js';

export interface PositionReads {
  readonly ofTalkgroup: (talkgroup: TalkgroupId, max: number) => Promise<DevicesRead>;
  readonly ofDevices: (ids: readonly DeviceId[]) => Promise<DevicesRead>;
}

export interface PositionsOptions {
  readonly reads: PositionReads;
  readonly publisher: Publisher;
  readonly fanout: Pick<Fanout, 'tell'>;
  readonly raisers: Raisers;
  readonly counts: PositionCounts;
  /** Whether this relay wants the positions that other relays store has changed. */
  readonly wants: (isWanted: boolean) => void;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

/** What a session asks to watch. */
export type AskedFor =
  | { readonly kind: 'talkgroups'; readonly memberships: readonly Membership[] }
  | { readonly kind: 'devices'; readonly ids: readonly DeviceId[] };

export type Asked = AskedFor & { readonly intervalMs: WatchInterval; readonly ref: Ref | undefined };

const TICK_MS = 50;
/**
 * Of one tick for new watches, as much for messages to single sessions, and for those to all that watch (ms): speech must
 * not wait for them. What is due beyond it waits for the next tick.
 */
const TURN_MS_MAX = 1;
/** Devices in the lists of all watches, 300 bytes each. A WATCH beyond it is refused until others end. */
const WATCHED_MAX = 100_000;
/** Of them those that one user names on all its sockets: a tenth of the sockets that a user may have, with a full WATCH each. */
const NAMED_MAX = 2000;

export type Positions = ReturnType<typeof createPositions>;

export function createPositions(options: PositionsOptions) {
  const { reads, publisher, fanout, raisers, counts, clock, log } = options;
  const { nowMs, unixMs } = clock;
  const devices = createDevices(unixMs);
  const alarms = createAlarms({ raisers, fanout, counts, nowMs, unixMs });
  const lists = createLists({ devices, nowMs, changed, log });
  const shared = createShared({ lists, read: reads.ofTalkgroup, publisher, counts, nowMs, unixMs });
  const watches = new Map<Pick<WatchingSession, 'user'>, Watch>();
  /** The last WATCH of each session that is being read. */
  const asking = new Map<WatchingSession, Asked>();
  /** New watches of which the devices were read. The rate of WATCH bounds them. */
  const turns = new Set<() => void>();
  let timer: Timer | null = null;
  let isWanted = false;
  let isClosed = false;
  raisers.changed = look;

  /** Tells whether positions are wanted, and lets the timer run while there is something to do. */
  function look(): void {
    const isNeeded = watches.size + asking.size > 0 || alarms.areWaiting;
    if (isNeeded && !isClosed) timer ??= clock.every(TICK_MS, guarded);
    else if (timer !== null) {
      clock.stop(timer);
      timer = null;
    }
    const isWantedNow = watches.size + asking.size + raisers.size > 0;
    if (isWantedNow === isWanted) return;
    isWanted = isWantedNow;
    options.wants(isWanted);
  }

  function guarded(): void {
    try {
      tick();
    } catch (error) {
      log.error({ err: error }, 'positions not published'); // a bug. The others must go on
    }
  }

  function tick(): void {
    const startMs = nowMs();
    devices.mark(startMs);
    lists.tick();
    alarms.tick(startMs);
    for (const take of turns) {
      turns.delete(take);
      take();
      if (nowMs() - startMs >= TURN_MS_MAX) break;
    }
    tickWatches(nowMs());
    const publishMs = nowMs();
    shared.publish(startMs, () => nowMs() - publishMs < TURN_MS_MAX);
    look();
  }

  function tickWatches(startMs: number): void {
    let left = watches.size;
    for (const [session, watch] of watches) {
      if (left-- === 0 || nowMs() - startMs >= TURN_MS_MAX) break;
      if (watch.isLost) {
        end(watch);
        continue;
      }
      watch.tick(startMs);
      // From now on it comes behind the others, also when it sent nothing: the next look begins where this one ended.
      watches.delete(session);
      watches.set(session, watch);
    }
  }

  /** The devices of a list are others now. */
  function changed(list: List, change: ListChange): void {
    const isPublished = shared.tell(list, change);
    for (const watch of watches.values()) watch.changed(list, isPublished);
  }

  function end(watch: Watch): void {
    if (watches.get(watch.session) === watch) watches.delete(watch.session);
    watch.end();
    for (const { list } of watch.talkgroups.values()) shared.release(list);
    if (watch.own !== null) shared.release(watch.own);
  }

  /** Begins a watch behind those that were asked for before. */
  function turn<Outcome>(act: () => Outcome): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      turns.add(() => {
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  function begin(
    session: WatchingSession,
    peer: Peer,
    of: readonly SharedTalkgroup[] | List,
    { intervalMs, ref }: Asked,
  ): void {
    const before = watches.get(session);
    const watched =
      'devices' in of
        ? of
        : of.map((one): WatchedTalkgroup => {
            const { talkgroup, list } = one;
            return { talkgroup, list, round: shared.roundOf(one, intervalMs), withdrawnAt: null };
          });
    watches.set(session, new Watch(session, peer, watched, { devices, counts, clock, intervalMs, ref }));
    if (before !== undefined) end(before);
  }

  /** Devices that the other sessions of its user watch by their ids. */
  function namedBesides(session: WatchingSession): number {
    let named = 0;
    for (const watch of watchesOf(session.user)) if (watch.session !== session) named += watch.own?.size ?? 0;
    return named;
  }

  function* watchesOf({ sessions }: User): Iterable<Watch> {
    for (const session of sessions) {
      const watch = watches.get(session);
      if (watch !== undefined) yield watch;
    }
  }

  return {
    /**
     * Replaces what the session watched as soon as the devices were read, and sends WATCHING. `replaced`: it asked for
     * something else meanwhile, or may not watch it any more. `full`: too much is watched. Rejects without the database.
     */
    async watch(session: WatchingSession, asked: Asked): Promise<'watching' | 'replaced' | 'full'> {
      const peer = session.socket;
      if (peer === null) return 'replaced';
      if (lists.size >= WATCHED_MAX) return 'full';
      const memberships = asked.kind === 'talkgroups' ? asked.memberships : [];
      const talkgroups = memberships.map(({ talkgroup }) => shared.of(talkgroup));
      const own =
        asked.kind === 'devices' ? lists.add(() => reads.ofDevices(asked.ids), asked.ids.length) : null;
      const used = own === null ? talkgroups.map(({ list }) => list) : [own];
      for (const list of used) lists.use(list);
      asking.set(session, asked);
      look();
      let isKept = false;
      try {
        await inTime(Promise.all(used.map((list) => lists.ready(list, session.user.id))), clock);
        return await turn(() => {
          const isMember = memberships.every((one) => isStill(one) && mayTalk(one));
          if (isClosed || session.socket !== peer || asking.get(session) !== asked || !isMember)
            return 'replaced';
          if (own !== null && namedBesides(session) + own.size > NAMED_MAX) return 'full';
          isKept = true;
          begin(session, peer, own ?? talkgroups, asked);
          return 'watching';
        });
      } finally {
        if (asking.get(session) === asked) asking.delete(session);
        if (!isKept) for (const list of used) shared.release(list);
        look();
      }
    },

    /** The session watches nothing any more. */
    unwatch(session: WatchingSession): void {
      asking.delete(session);
      const watch = watches.get(session);
      if (watch !== undefined) end(watch);
      look();
    },

    /** These are stored, here or at another relay. One or two look-ups for each that no session watches. */
    located(fixes: readonly LatestFix[]): void {
      if (!isWanted) return;
      for (const fix of fixes) {
        devices.located(fix);
        alarms.located(fix);
      }
      if (alarms.areWaiting) look();
    },

    /** Whether the device belongs to a user with an open emergency. */
    isFollowed: ({ deviceId }: LatestFix): boolean => {
      for (const _ of raisers.of(deviceId)) return true;
      return false;
    },

    /** Whether the positions that others store are wanted here. */
    get isWanted() {
      return isWanted;
    },

    /** A change notification came. */
    noticed(notice: Notice): void {
      if (watches.size + asking.size === 0) return;
      if (notice.kind === 'joined' || notice.kind === 'left') {
        const list = shared.listOf(notice.talkgroup);
        if (list !== undefined) lists.touch(list);
      } else if (notice.kind === 'device_changed') {
        for (const list of lists.all()) if (list.has({ id: notice.device })) lists.touch(list);
      } else if (notice.kind === 'user_promoted') lists.touchAll(); // perhaps with another device, in unknown talkgroups
    },

    /** Change notifications may have been missed. */
    gap: lists.touchAll,

    /** Nothing of the talkgroup goes to the user, until `granted`. */
    withdrawn({ user, talkgroup }: Membership): void {
      for (const watch of watchesOf(user)) watch.withdrawn(talkgroup);
    },

    granted({ user, talkgroup }: Membership): void {
      for (const watch of watchesOf(user)) watch.granted(talkgroup);
    },

    /** The membership is gone, or the talkgroup. */
    left({ user, talkgroup }: Membership): void {
      for (const watch of watchesOf(user)) {
        const list = watch.talkgroups.get(talkgroup)?.list;
        if (list === undefined) continue;
        watch.left(talkgroup);
        shared.release(list);
        if (watch.talkgroups.size === 0) end(watch);
      }
      look();
    },

    /** Sessions that watch. */
    watchers: () => watches.size,

    close(): void {
      isClosed = true;
      for (const take of turns) take();
      turns.clear();
      if (timer !== null) clock.stop(timer);
      timer = null;
    },
  };
}

const isStill = (membership: Membership): boolean =>
  membership.user.memberships.get(membership.talkgroup.number) === membership;
