// Who may do what here, as last read from the database: reads, withdrawals, and the order between them.
//
// A notice withdraws at once what the change could take away, silently; only a read grants, and only a read confirms
// what cannot be undone. A read during which a notice touching the same user, device or talkgroup arrived grants
// nothing and is repeated. So no order of arrival, and no lost notice once a gap was noticed, leaves a right standing.
import type { Notice } from '../db/notices.js';
import type { Account, TalkgroupRow } from '../directory/records.js';
import type { TalkgroupId, UserId } from '../ids.js';
import { type Batch, type Cause, createDue } from './due.js';
import { createMembers, type Membership, type User } from './members.js';
import { createReading } from './reading.js';
import { createSettler, type RightsEffects } from './settle.js';

/** The questions this module asks; each may be repeated, each may fail. */
export interface RightsReads {
  /** Without the emergencies of talkgroups that are held. */
  readonly accountsOf: (
    users: readonly UserId[],
    isHeld: (talkgroup: TalkgroupId) => boolean,
  ) => Promise<readonly Account[]>;
  readonly talkgroupsOf: (ids: readonly TalkgroupId[]) => Promise<readonly TalkgroupRow[]>;
}

/** The outcome of a load: the account and its held user, no such user, or no answer in time. */
export type Loaded =
  | { readonly kind: 'loaded'; readonly account: Account; readonly user: User }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed' };

interface Waiter {
  readonly done: (loaded: Loaded) => void;
  readonly untilMs: number;
}

export interface RightsOptions {
  readonly reads: RightsReads;
  readonly effects: RightsEffects;
  readonly nowMs: () => number;
  /** Users in one query. */
  readonly batch: number;
  /** Loads that may wait; one more fails at once. */
  readonly waitingMax: number;
  readonly log: { error(fields: object, message: string): void };
  readonly pause?: (ms: number) => Promise<void>;
}

/** A handshake waits no longer for its memberships. */
const LOAD_MS_MAX = 2000;
/** When handshakes follow close upon each other, those of so long share a query: each costs as much as ten users do. */
const GATHER_MS = 10;
/** Ids of notices remembered, 200 bytes each: the second copy comes within a second of the first. */
const SEEN_MAX = 2_000;

export type Rights = ReturnType<typeof createRights>;

export function createRights({ reads, effects, nowMs, batch, waitingMax, log, pause }: RightsOptions) {
  const members = createMembers();
  const { users, talkgroups } = members;
  const settler = createSettler(members, effects);

  const waiters = new Map<UserId, Waiter[]>();
  let waiting = 0;
  /** By user or talkgroup: who waits for the read that shows it. */
  const confirmations = new Map<UserId | TalkgroupId, (() => void)[]>();
  const seen = new Map<string, Promise<void>>();

  /** Bounded: held users and talkgroups, and users with a waiter. */
  const due = createDue(batch);
  const reading = createReading({
    due,
    read,
    isWanted,
    gatherMs: (lane) => (waiters.size > 0 && lane.count() < batch ? GATHER_MS : 0),
    log,
    pause,
  });
  let closed = false;

  /** Reads the user and calls `done` exactly once, in the same step in which the read is taken for true. */
  function load(id: UserId, done: (loaded: Loaded) => void): void {
    if (closed || waiting >= waitingMax) return done({ kind: 'failed' });
    waiting++;
    const queue = waiters.get(id);
    const waiter = { done, untilMs: nowMs() + LOAD_MS_MAX };
    if (queue === undefined) waiters.set(id, [waiter]);
    else queue.push(waiter);
    due.user(id, 'arriving');
    reading.begin();
  }

  /** Fails the loads whose time is over; called every tick, for a read may hang until its deadline. */
  function expire(): void {
    const now = nowMs();
    for (const [id, queue] of waiters) {
      const late = queue.filter((waiter) => waiter.untilMs <= now);
      if (late.length === 0) continue;
      const rest = queue.filter((waiter) => waiter.untilMs > now);
      if (rest.length === 0) waiters.delete(id);
      else waiters.set(id, rest);
      waiting -= late.length;
      for (const waiter of late) waiter.done({ kind: 'failed' });
    }
  }

  /**
   * Resolves when live sockets follow the change: at once after the withdrawal, for a join and for the settings of a
   * talkgroup after the read.
   * The second copy of a notice changes nothing and resolves with the first.
   */
  function notice(arrived: Notice): Promise<void> {
    const first = seen.get(arrived.id);
    if (first !== undefined) return first;
    const acknowledged = take(arrived);
    seen.set(arrived.id, acknowledged);
    // The oldest id goes; should its second copy still come, it costs one more read.
    const [oldest] = seen.keys();
    if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest);
    reading.begin();
    return acknowledged;
  }

  function take(arrived: Notice): Promise<void> {
    switch (arrived.kind) {
      case 'joined':
      case 'user_promoted':
        reading.touch(arrived.user);
        // The read for a handshake that waits begins now or is repeated: it shows the change as well.
        if (!users.has(arrived.user)) return done;
        due.user(arrived.user, 'changed');
        return confirmed(arrived.user);
      case 'left':
        reading.touch(arrived.user);
        if (users.has(arrived.user)) due.user(arrived.user, 'changed');
        withdrawMembership(arrived.user, arrived.talkgroup);
        return done;
      case 'talkgroup_deleted':
      case 'talkgroup_changed':
      case 'key_rotated':
      case 'emergency_changed': {
        reading.touch(arrived.talkgroup);
        const talkgroup = talkgroups.get(arrived.talkgroup);
        if (talkgroup === undefined) return done;
        if (arrived.kind === 'talkgroup_deleted') talkgroup.withdrawn = true;
        due.talkgroup(talkgroup.id);
        // What the new floor mode forbids must have ended when the change is answered.
        return arrived.kind === 'talkgroup_changed' ? confirmed(talkgroup.id) : done;
      }
      case 'device_changed':
        reading.touch(arrived.device);
        for (const user of members.usersWith(arrived.device)) withdrawUser(user);
        return done;
      case 'user_revoked': {
        reading.touch(arrived.user);
        const user = users.get(arrived.user);
        if (user !== undefined) withdrawUser(user);
        return done;
      }
    }
  }

  const confirmed = (id: UserId | TalkgroupId) =>
    new Promise<void>((resolve) => {
      const queue = confirmations.get(id);
      if (queue === undefined) confirmations.set(id, [resolve]);
      else queue.push(resolve);
    });

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
    ofUser(membership.user, () => effects.withdrawn(membership));
  }

  /** A throw meets this user alone. */
  function ofUser(user: User, act: () => void): void {
    attempt({ user: user.id }, act, (error) => effects.failed(user, error));
  }

  /** A throw is a bug, and no reason to read again: whatever threw would throw again, and before everybody. */
  function attempt(about: object, act: () => void, failed?: (error: unknown) => void): void {
    try {
      act();
    } catch (error) {
      log.error({ ...about, err: error }, 'permission change failed');
      failed?.(error);
    }
  }

  /** Notices may have been missed: everything held is read again, with nothing withdrawn on suspicion. */
  function gap(): void {
    // A read under way may have begun before the missed notices.
    for (const id of users.keys()) {
      due.user(id, 'missed');
      reading.touch(id);
    }
    for (const id of waiters.keys()) reading.touch(id);
    for (const id of talkgroups.keys()) {
      due.talkgroup(id);
      reading.touch(id);
    }
    reading.begin();
  }

  async function read(
    { talkgroups: ids, users: people }: Batch,
    touched: ReadonlySet<string>,
  ): Promise<void> {
    // One after the other: what the first read says is gone cannot come back in the second.
    const rows = ids.length === 0 ? [] : await reads.talkgroupsOf(ids);
    const accounts = people.length === 0 ? [] : await reads.accountsOf(people, (id) => talkgroups.has(id));
    if (closed) return;
    due.shown({ talkgroups: ids, users: people });
    settleTalkgroups(ids, rows, touched);
    settleUsers(people, accounts, touched);
  }

  /** false: the last session went while a read was due, and with it whoever waited for what it would show. */
  function isWanted(id: UserId): boolean {
    if (users.has(id) || waiters.has(id)) return true;
    confirm(id);
    return false;
  }

  function confirm(id: UserId | TalkgroupId): void {
    for (const resolve of confirmations.get(id) ?? []) resolve();
    confirmations.delete(id);
  }

  function settleTalkgroups(
    ids: readonly TalkgroupId[],
    rows: readonly TalkgroupRow[],
    touched: ReadonlySet<string>,
  ): void {
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) {
      const talkgroup = talkgroups.get(id);
      if (talkgroup !== undefined && touched.has(id)) {
        due.talkgroup(id);
        continue;
      }
      if (talkgroup !== undefined)
        attempt({ talkgroup: id }, () => settler.talkgroup(talkgroup, found.get(id) ?? null));
      confirm(id);
    }
  }

  function settleUsers(
    ids: readonly UserId[],
    accounts: readonly Account[],
    touched: ReadonlySet<string>,
  ): void {
    const found = new Map(accounts.map((account) => [account.id, account]));
    for (const id of ids) {
      const account = found.get(id) ?? null;
      if (isTouched(id, account, touched)) due.user(id, causeOf(id));
      else settleUser(id, account);
    }
  }

  const causeOf = (id: UserId): Cause => (users.has(id) ? 'changed' : 'arriving');

  function isTouched(id: UserId, account: Account | null, touched: ReadonlySet<string>): boolean {
    if (touched.has(id)) return true;
    if (account === null) return false;
    if (account.device_id !== null && touched.has(account.device_id)) return true;
    return isStale(account) || account.memberships.some((membership) => touched.has(membership.id));
  }

  /** A talkgroup was held as the read began, and its last member went since: its emergencies are not known any more. */
  const isStale = ({ memberships }: Account) =>
    memberships.some(({ id, emergencies }) => emergencies === null && !talkgroups.has(id));

  function settleUser(id: UserId, account: Account | null): void {
    const user = users.get(id);
    if (user !== undefined) ofUser(user, () => settler.user(user, account));
    // With the sessions that this ended, the user's talkgroups may have gone.
    if (account !== null && waiters.has(id) && isStale(account)) {
      due.user(id, causeOf(id));
      return;
    }
    const queue = waiters.get(id) ?? [];
    waiters.delete(id);
    waiting -= queue.length;
    for (const waiter of queue) {
      attempt({ user: id }, () =>
        waiter.done(
          account === null
            ? { kind: 'unknown' }
            : { kind: 'loaded', account, user: users.get(id) ?? settler.newcomer(account) },
        ),
      );
    }
    confirm(id);
    // A load whose handshake was given up in the meantime leaves nothing behind.
    members.drop(id);
  }

  return {
    load,
    notice,
    gap,
    drop: members.drop,
    expire,
    users,
    talkgroups,
    close(): void {
      closed = true;
      reading.stop();
      for (const queue of waiters.values()) for (const waiter of queue) waiter.done({ kind: 'failed' });
      waiters.clear();
    },
  };
}

const done = Promise.resolve();
