// Applies change notifications: withdraws at once what the change could take away, and says when it is acknowledged.
import type { Notice } from '../../db/notice.js';
import type { DeviceId, TalkgroupId, UserId } from '../../ids.js';
import type { Clock } from '../clock.js';
import type { Members } from '../members/books.js';
import type { Membership, Talkgroup, User } from '../members/members.js';
import type { Due } from './due.js';

export interface NoticesOptions {
  readonly members: Members;
  readonly due: Due;
  /** The reads under way may not show the change of this user or device. */
  readonly touch: (key: UserId | DeviceId) => void;
  /** The same of this talkgroup. `isChanged`: its settings, or it is deleted. */
  readonly leaveBehind: (talkgroup: TalkgroupId, kind: { isChanged: boolean }) => void;
  /** Begins to read what is due. */
  readonly begin: () => void;
  /** The membership was withdrawn. */
  readonly withdrawn: (membership: Membership) => void;
  readonly clock: Pick<Clock, 'nowMs' | 'after'>;
}

/** Between two reads of a talkgroup that clients want (ms): each reads all its open emergencies. A client waits 200. */
const READ_AGAIN_MS = 150;
/** Ids of notifications remembered, 200 bytes each: the second copy comes within a second of the first. */
const SEEN_MAX = 2_000;

export function createNotices({ members, due, touch, leaveBehind, begin, withdrawn, clock }: NoticesOptions) {
  const { users, talkgroups } = members;
  const seen = new Map<string, Promise<void>>();
  /** Users whose sockets are to be told of their key holders, behind the next read. One that leaves before it is forgotten. */
  const holders = new WeakSet<User>();
  /** By user or talkgroup: the notifications that wait for the read that shows it. */
  const confirmations = new Map<UserId | TalkgroupId, (() => void)[]>();
  /** Talkgroups that a client wants read, and that were read for one just now. */
  const planned = new Set<TalkgroupId>();
  /** By talkgroup: the sessions that wait for a read that has not begun. */
  const asking = new Map<TalkgroupId, (() => void)[]>();

  function take(arrived: Notice): Promise<void> {
    switch (arrived.kind) {
      case 'joined':
      case 'user_promoted':
        touch(arrived.user);
        if (arrived.kind === 'user_promoted') readAlarmsOf(arrived.user);
        // The read for a waiting handshake begins now or is repeated: it shows the change as well.
        if (!users.has(arrived.user)) return done;
        due.user(arrived.user, 'changed');
        return confirmed(arrived.user);
      case 'left':
        touch(arrived.user);
        if (users.has(arrived.user)) due.user(arrived.user, 'changed');
        withdrawMembership(arrived.user, arrived.talkgroup);
        return done;
      case 'keys_changed':
        touch(arrived.user);
        if (!users.has(arrived.user)) return done;
        due.user(arrived.user, 'changed');
        // Only a read shows that the member may have them.
        withdrawMembership(arrived.user, arrived.talkgroup);
        return confirmed(arrived.user);
      case 'holders_changed': {
        touch(arrived.user);
        const user = users.get(arrived.user);
        if (user === undefined) return done;
        holders.add(user);
        due.user(arrived.user, 'changed');
        return done;
      }
      case 'talkgroup_deleted':
      case 'talkgroup_changed':
      case 'key_rotated':
      case 'emergency_changed': {
        const isChanged = arrived.kind === 'talkgroup_changed' || arrived.kind === 'talkgroup_deleted';
        leaveBehind(arrived.talkgroup, { isChanged });
        const talkgroup = talkgroups.get(arrived.talkgroup);
        if (talkgroup === undefined) return done;
        if (arrived.kind === 'talkgroup_deleted') talkgroup.withdrawn = true;
        due.talkgroup(talkgroup.id);
        // What the new floor mode forbids must have ended when the change is answered.
        return arrived.kind === 'talkgroup_changed' ? confirmed(talkgroup.id) : done;
      }
      case 'device_changed':
        touch(arrived.device);
        for (const user of members.usersWith(arrived.device)) withdrawUser(user);
        return done;
      case 'user_revoked': {
        touch(arrived.user);
        const user = users.get(arrived.user);
        if (user !== undefined) withdrawUser(user);
        return done;
      }
    }
  }

  /** With another device, the user's open emergencies are where that is. The user may be connected elsewhere. */
  function readAlarmsOf(user: UserId): void {
    for (const talkgroup of talkgroups.values()) {
      if (!talkgroup.hasRaised(user)) continue;
      leaveBehind(talkgroup.id, { isChanged: false });
      due.talkgroup(talkgroup.id);
    }
  }

  const confirmed = (id: UserId | TalkgroupId) => queued(confirmations, id);

  function readNow(id: TalkgroupId): void {
    const talkgroup = talkgroups.get(id);
    if (talkgroup !== undefined) talkgroup.readAgainAtMs = clock.nowMs();
    due.talkgroup(id);
    begin();
  }

  /** Once, for all that ask until then. */
  function later(ms: number, { id }: Talkgroup): void {
    if (planned.has(id)) return;
    const timer = clock.after(ms, () => {
      planned.delete(id);
      readNow(id);
    });
    timer.unref();
    planned.add(id);
  }

  function withdrawMembership(id: UserId, talkgroup: TalkgroupId): void {
    for (const membership of users.get(id)?.memberships.values() ?? []) {
      if (membership.talkgroup.id === talkgroup) withdraw(membership);
    }
  }

  function withdrawUser(user: User): void {
    due.user(user.id, 'changed');
    user.withdrawn = true;
    for (const membership of user.memberships.values()) withdraw(membership);
  }

  function withdraw(membership: Membership): void {
    if (!membership.granted) return;
    membership.granted = false;
    withdrawn(membership);
  }

  return {
    /**
     * Resolves when live sockets follow the change: at once after the withdrawal, and after the read for a join and for
     * the settings of a talkgroup. The second copy of a notification changes nothing and resolves with the first.
     */
    take(arrived: Notice): Promise<void> {
      const first = seen.get(arrived.id);
      if (first !== undefined) return first;
      const acknowledged = take(arrived);
      seen.set(arrived.id, acknowledged);
      // The oldest id goes. If its second copy still comes, it costs one more read.
      const [oldest] = seen.keys();
      if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest);
      begin();
      return acknowledged;
    },

    /**
     * Resolves when a read that began now, or later, has shown the talkgroup, and never when that read fails. The reads under
     * way count for all others, because a client can ask this all the time.
     */
    readAgain(id: TalkgroupId): Promise<void> {
      const shown = queued(asking, id);
      const talkgroup = talkgroups.get(id);
      const waitMs = (talkgroup?.readAgainAtMs ?? 0) + READ_AGAIN_MS - clock.nowMs();
      if (talkgroup !== undefined && waitMs > 0) later(waitMs, talkgroup);
      else readNow(id);
      return shown;
    },

    /** A read of these talkgroups begins: takes what waits for it. */
    takeAsking(ids: readonly TalkgroupId[]): Map<TalkgroupId, (() => void)[]> {
      const taken = new Map<TalkgroupId, (() => void)[]>();
      for (const id of ids) {
        const waiting = asking.get(id);
        if (waiting !== undefined) taken.set(id, waiting);
        asking.delete(id);
      }
      return taken;
    },

    /** The read did not count, so the next one is waited for. */
    askAgain(id: TalkgroupId, waiting: readonly (() => void)[]): void {
      if (waiting.length > 0) asking.set(id, [...waiting, ...(asking.get(id) ?? [])]);
    },

    /** Once after each change. */
    areHoldersNews: (user: User): boolean => holders.delete(user),

    /** A read showed the user or talkgroup. */
    confirm(id: UserId | TalkgroupId): void {
      for (const resolve of confirmations.get(id) ?? []) resolve();
      confirmations.delete(id);
    },
  };
}

const done = Promise.resolve();

function queued<Id>(queues: Map<Id, (() => void)[]>, id: Id): Promise<void> {
  return new Promise((resolve) => {
    const queue = queues.get(id);
    if (queue === undefined) queues.set(id, [resolve]);
    else queue.push(resolve);
  });
}
