// Keeps the talkgroups that sessions watch, each once, and what is published for all of their watches.
import type { TalkgroupId } from '../../ids.js';
import type { WatchInterval } from '../../protocol/codes.js';
import type { Publisher } from '../delivery/peer.js';
import type { Talkgroup } from '../members/members.js';
import { DEVICES_MAX, type DevicesRead, type List, type ListChange } from './list.js';
import type { Lists } from './lists.js';
import { partsOf, watchingText } from './messages.js';
import { Round } from './round.js';

export interface SharedOptions {
  readonly lists: Lists;
  readonly read: (talkgroup: TalkgroupId, max: number) => Promise<DevicesRead>;
  readonly publisher: Publisher;
  readonly counts: { published: number };
  readonly nowMs: () => number;
  readonly unixMs: () => number;
}

/** A talkgroup that sessions watch. */
export interface SharedTalkgroup {
  /** As the relay knows it now: it makes another one when its last member left it and one comes back. */
  talkgroup: Talkgroup;
  readonly list: List;
  readonly rounds: Map<WatchInterval, Round>;
}

export function createShared({ lists, read, publisher, counts, nowMs, unixMs }: SharedOptions) {
  const byId = new Map<TalkgroupId, SharedTalkgroup>();
  /** In the order in which they published last. */
  const rounds = new Set<Round>();

  const findBy = (list: List) => [...byId.values()].find((one) => one.list === list);

  return {
    /** It is kept as long as its list is in use. */
    of(talkgroup: Talkgroup): SharedTalkgroup {
      const known = byId.get(talkgroup.id);
      if (known !== undefined) {
        known.talkgroup = talkgroup;
        return known;
      }
      const list = lists.add(() => read(talkgroup.id, DEVICES_MAX), 0);
      const made: SharedTalkgroup = { talkgroup, list, rounds: new Map() };
      byId.set(talkgroup.id, made);
      return made;
    },

    /** The list of a talkgroup that a session watches. */
    listOf: (talkgroup: TalkgroupId): List | undefined => byId.get(talkgroup)?.list,

    roundOf({ talkgroup, list, rounds: own }: SharedTalkgroup, intervalMs: WatchInterval): Round {
      const known = own.get(intervalMs);
      if (known !== undefined) return known;
      const round = new Round({ publisher, counts, talkgroup, intervalMs, nowMs: nowMs(), unixMs });
      own.set(intervalMs, round);
      rounds.add(round);
      list.follow(round);
      return round;
    },

    /** One use of the list less. Rounds without a watch end, and a list that no watch uses. */
    release(list: List): void {
      const of = findBy(list);
      for (const [intervalMs, round] of of?.rounds ?? []) {
        if (round.watches > 0) continue;
        of?.rounds.delete(intervalMs);
        rounds.delete(round);
        list.unfollow(round);
      }
      if (lists.leave(list) && of !== undefined) byId.delete(of.talkgroup.id);
    },

    /** Tells all that get what is published. false: so many came that each watch must list them anew. */
    tell(list: List, { came, gone }: ListChange): boolean {
      const of = findBy(list);
      if (of === undefined || partsOf(came).length > 1) return false;
      const { talkgroup, rounds } = of;
      const news = { talkgroup: talkgroup.id, devices: came, total: list.total, part: 1, parts: 1 };
      for (const round of rounds.values()) {
        if (came.length > 0) publisher.publish(round.topic, watchingText(news), false);
        round.left(gone);
      }
      return true;
    },

    /** Publishes what is due, while `hasTime`. The others are the first ones next time. */
    publish(atMs: number, hasTime: () => boolean): void {
      for (const round of [...rounds]) {
        if (!hasTime()) return;
        if (!round.isDue(atMs)) continue;
        rounds.delete(round);
        rounds.add(round);
        round.publish(atMs);
      }
    },
  };
}
