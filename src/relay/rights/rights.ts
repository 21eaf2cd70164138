// Keeps the permissions as last read from the database: reads, withdrawals, and the order between them.
//
// A change notification withdraws at once what the change could take away, silently. Only a read grants, and only a read
// confirms what cannot be undone. When a notification for the same user or device arrives during a read, the read grants
// nothing and is repeated. When it names a talkgroup, the membership counts and the talkgroup is read again. No member talks in
// a talkgroup that comes into memory as it was before such a change, until then. So no order of arrival leaves a revoked
// permission in force, nor does a lost notification once its gap was noticed.
import type { Account, TalkgroupRow } from '../../directory/records.js';
import type { DeviceId, TalkgroupId, UserId } from '../../ids.js';
import type { Clock } from '../clock.js';
import { createMembers } from '../members/books.js';
import type { Talkgroup, User } from '../members/members.js';
import { type Batch, type Cause, createDue } from './due.js';
import { createLoads, type Loaded } from './loads.js';
import { createNotices } from './notices.js';
import { createReading, type Touched } from './reading.js';
import { createSettler, type RightsChanges, type ToldSettings } from './settle.js';

/** The reads of this module. Each may be repeated, and each may fail. */
export interface RightsReads {
  /** Without the emergencies of talkgroups for which `isHeld` is true. */
  readonly accountsOf: (
    users: readonly UserId[],
    isHeld: (talkgroup: TalkgroupId) => boolean,
  ) => Promise<readonly Account[]>;
  readonly talkgroupsOf: (ids: readonly TalkgroupId[]) => Promise<readonly TalkgroupRow[]>;
}

export interface RightsOptions {
  readonly reads: RightsReads;
  readonly changes: RightsChanges;
  readonly clock: Clock;
  /** Users in one query. */
  readonly batch: number;
  /** Loads that may wait. One more fails at once. */
  readonly waitingMax: number;
  readonly log: { error(fields: object, message: string): void };
}

/** Handshakes that follow within this time (ms) share a query: a query costs as much as ten users. */
const GATHER_MS = 10;
export type Rights = ReturnType<typeof createRights>;

export function createRights({ reads, changes, clock, batch, waitingMax, log }: RightsOptions) {
  const { nowMs } = clock;
  const members = createMembers(nowMs);
  const { users, talkgroups, raisers } = members;
  const settler = createSettler(members, changes, nowMs);

  const loads = createLoads({ nowMs, waitingMax });
  /** Bounded: users and talkgroups in memory, and users with a waiting load. */
  const due = createDue(batch);
  const reading = createReading({
    due,
    read,
    isWanted,
    gatherMs: (lane) => (loads.waiting.size > 0 && lane.count() < batch ? GATHER_MS : 0),
    clock,
    log,
  });
  const notices = createNotices({
    members,
    due,
    touch: reading.touch,
    leaveBehind: reading.leaveBehind,
    begin: reading.begin,
    clock,
    withdrawn: (membership) => ofUser(membership.user, () => changes.withdrawn(membership)),
  });
  /** Users whose last read was thrown away for a talkgroup that changed. There is one such repetition. */
  const repeated = new Set<UserId>();
  let closed = false;

  /** Reads the user and calls `done` exactly once, in the same step in which the read is applied. */
  function load(id: UserId, done: (loaded: Loaded) => void): void {
    if (closed || !loads.add(id, done)) return done({ kind: 'failed' });
    due.user(id, 'arriving');
    reading.begin();
  }

  /** An exception concerns this user alone. */
  function ofUser(user: User, act: () => void): void {
    attempt({ user: user.id }, act, (error) => changes.failed(user, error));
  }

  /** An exception is a bug, and no reason to read again: the next read would throw again, and delay all others. */
  function attempt(about: object, act: () => void, failed?: (error: unknown) => void): void {
    try {
      act();
    } catch (error) {
      log.error({ ...about, err: error }, 'permission change failed');
      failed?.(error);
    }
  }

  /** Notifications may have been missed: reads everything in memory again, and withdraws nothing meanwhile. */
  function gap(): void {
    // A read under way may have begun before the missed notifications.
    for (const id of users.keys()) {
      due.user(id, 'missed');
      reading.touch(id);
    }
    for (const id of loads.waiting.keys()) reading.touch(id);
    for (const id of talkgroups.keys()) {
      due.talkgroup(id);
      reading.leaveBehind(id, { isChanged: true });
    }
    reading.begin();
  }

  async function read({ talkgroups: ids, users: people }: Batch, touched: Touched): Promise<void> {
    const asking = notices.takeAsking(ids);
    // One after the other: what the first read shows as deleted cannot come back in the second.
    const rows = ids.length === 0 ? [] : await reads.talkgroupsOf(ids);
    const accounts = people.length === 0 ? [] : await reads.accountsOf(people, (id) => talkgroups.has(id));
    if (closed) return;
    due.shown({ talkgroups: ids, users: people });
    settleTalkgroups(ids, rows, { touched, asking });
    settleUsers(people, accounts, touched);
  }

  /** false: the last session ended while a read was due, and nothing waits for that read. */
  function isWanted(id: UserId): boolean {
    if (users.has(id) || loads.waiting.has(id)) return true;
    notices.confirm(id);
    repeated.delete(id);
    return false;
  }

  function settleTalkgroups(
    ids: readonly TalkgroupId[],
    rows: readonly TalkgroupRow[],
    { touched, asking }: { touched: Touched; asking: ReadonlyMap<TalkgroupId, (() => void)[]> },
  ): void {
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) {
      const talkgroup = talkgroups.get(id);
      const waiting = asking.get(id) ?? [];
      if (talkgroup !== undefined && touched.behind.has(id)) {
        due.talkgroup(id);
        notices.askAgain(id, waiting);
        continue;
      }
      if (talkgroup !== undefined)
        attempt({ talkgroup: id }, () => settler.talkgroup(talkgroup, found.get(id) ?? null));
      notices.confirm(id);
      for (const resolve of waiting) resolve();
    }
  }

  function settleUsers(
    ids: readonly UserId[],
    accounts: readonly Account[],
    { unsure, behind, changed }: Touched,
  ): void {
    const found = new Map(accounts.map((account) => [account.id, account]));
    for (const id of ids) {
      const account = found.get(id) ?? null;
      if (isTouched(id, account, unsure) || mustRepeat(id, account, changed)) due.user(id, causeOf(id));
      else settleUser(id, account, changed);
    }
    for (const id of behind) if (talkgroups.has(id)) due.talkgroup(id);
  }

  const causeOf = (id: UserId): Cause => (users.has(id) ? 'changed' : 'arriving');

  function isTouched(id: UserId, account: Account | null, touched: ReadonlySet<UserId | DeviceId>): boolean {
    if (touched.has(id)) return true;
    if (account === null) return false;
    if (account.device_id !== null && touched.has(account.device_id)) return true;
    return isStale(account);
  }

  /**
   * The read would take a talkgroup into memory as it was before a change. A dispatcher in 1,000 talkgroups that change one
   * after another must be admitted all the same, so this handshake gets the second such read. A new member may talk as soon
   * as the call is answered, so its talkgroup is never suspended.
   */
  function mustRepeat(id: UserId, account: Account | null, changed: ReadonlySet<TalkgroupId>): boolean {
    const isOld = account?.memberships.some((row) => changed.has(row.id) && !talkgroups.has(row.id));
    if (!isOld || (repeated.has(id) && !users.has(id))) return false;
    repeated.add(id);
    return true;
  }

  /** A talkgroup was in memory when the read began, and its last member left since: its emergencies are unknown now. */
  const isStale = ({ memberships }: Account) =>
    memberships.some(({ id, emergencies }) => emergencies === null && !talkgroups.has(id));

  function settleUser(id: UserId, account: Account | null, old: ReadonlySet<TalkgroupId>): void {
    repeated.delete(id);
    const user = users.get(id);
    if (user !== undefined) ofUser(user, () => settler.user(user, account));
    if (user !== undefined && account !== null && notices.areHoldersNews(user))
      ofUser(user, () => changes.holders(user, account.holders_waiting));
    // This may have ended sessions, and removed the user's talkgroups from memory.
    if (account !== null && loads.waiting.has(id) && isStale(account)) {
      due.user(id, causeOf(id));
      return;
    }
    for (const done of loads.take(id)) {
      attempt({ user: id }, () =>
        done(
          account === null
            ? { kind: 'unknown' }
            : { kind: 'loaded', account, user: users.get(id) ?? settler.newcomer(account, old) },
        ),
      );
    }
    notices.confirm(id);
    // A load whose handshake was abandoned meanwhile leaves nothing in memory.
    members.drop(id);
  }

  return {
    load,
    noticed: notices.take,
    /** Another relay has read these settings. What it did not tell stays as it is. */
    adopt(talkgroup: Talkgroup, settings: ToldSettings): void {
      attempt({ talkgroup: talkgroup.id }, () => settler.adopt(talkgroup, settings));
    },
    /** Reads the talkgroup, and resolves when the read is applied. */
    readAgain: notices.readAgain,
    gap,
    drop: members.drop,
    expire: loads.expire,
    users,
    talkgroups,
    raisers,
    close(): void {
      closed = true;
      reading.stop();
      loads.close();
    },
  };
}
