// Who may do what here, as last read from the database: reads, withdrawals, and the order between them.
//
// A notice withdraws at once what the change could take away, silently; only a read grants, and only a read confirms
// what cannot be undone. A read during which a notice touching the same user, device or talkgroup arrived grants
// nothing and is repeated. So no order of arrival, and no lost notice once a gap was noticed, leaves a right standing.
import type { Notice } from '../db/notices.js';
import { AppError } from '../errors.js';
import type { TalkgroupId, UserId } from '../ids.js';
import type { Account, TalkgroupRow } from '../talk/store.js';
import { createMembers, type Membership, type User } from './members.js';
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
const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 1000;
/** Ids of notices remembered, 200 bytes each: the second copy comes within a second of the first. */
const SEEN_MAX = 2_000;

export type Rights = ReturnType<typeof createRights>;

export function createRights({
  reads,
  effects,
  nowMs,
  batch,
  waitingMax,
  log,
  pause = sleep,
}: RightsOptions) {
  const members = createMembers();
  const { users, talkgroups } = members;
  const settler = createSettler(members, effects);

  const waiters = new Map<UserId, Waiter[]>();
  let waiting = 0;
  /** By user or talkgroup: who waits for the read that shows it. */
  const confirmations = new Map<UserId | TalkgroupId, (() => void)[]>();
  const seen = new Map<string, Promise<void>>();

  /** What must be read, oldest first. Bounded: held users and talkgroups, and users with a waiter. */
  const dirtyUsers = new Set<UserId>();
  const dirtyTalkgroups = new Set<TalkgroupId>();
  /** Held users to be read again after a gap: beside those whom somebody waits for, in half of each read. */
  const staleUsers = new Set<UserId>();
  /** Keys of the notices that arrived since the read under way began. */
  const touched = new Set<string>();
  let reading = false;
  let closed = false;

  /** Reads the user and calls `done` exactly once, in the same step in which the read is taken for true. */
  function load(id: UserId, done: (loaded: Loaded) => void): void {
    if (closed || waiting >= waitingMax) return done({ kind: 'failed' });
    waiting++;
    const queue = waiters.get(id);
    const waiter = { done, untilMs: nowMs() + LOAD_MS_MAX };
    if (queue === undefined) waiters.set(id, [waiter]);
    else queue.push(waiter);
    dirtyUsers.add(id);
    void readDirty();
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
    void readDirty();
    return acknowledged;
  }

  function take(arrived: Notice): Promise<void> {
    switch (arrived.kind) {
      case 'joined':
        touched.add(arrived.user);
        return reread(arrived.user) ? confirmed(arrived.user) : done;
      case 'left':
        touched.add(arrived.user);
        if (reread(arrived.user)) withdrawMembership(arrived.user, arrived.talkgroup);
        return done;
      case 'talkgroup_deleted':
      case 'talkgroup_changed':
      case 'key_rotated':
      case 'emergency_changed': {
        touched.add(arrived.talkgroup);
        const talkgroup = talkgroups.get(arrived.talkgroup);
        if (talkgroup === undefined) return done;
        if (arrived.kind === 'talkgroup_deleted') talkgroup.withdrawn = true;
        dirtyTalkgroups.add(talkgroup.id);
        // What the new floor mode forbids must have ended when the change is answered.
        return arrived.kind === 'talkgroup_changed' ? confirmed(talkgroup.id) : done;
      }
      case 'device_changed':
        touched.add(arrived.device);
        for (const user of members.usersWith(arrived.device)) withdrawUser(user);
        return done;
      case 'user_revoked': {
        touched.add(arrived.user);
        const user = users.get(arrived.user);
        if (user !== undefined) withdrawUser(user);
        return done;
      }
    }
  }

  /** Whether anybody here cares about the user; if so he is read again. */
  function reread(id: UserId): boolean {
    const cares = users.has(id) || waiters.has(id);
    if (cares) dirtyUsers.add(id);
    return cares;
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
    dirtyUsers.add(user.id);
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
      log.error({ ...about, err: error }, 'change of rights failed');
      failed?.(error);
    }
  }

  /** Notices may have been missed: everything held is read again, with nothing withdrawn on suspicion. */
  function gap(): void {
    // A read under way may have begun before the missed notices.
    for (const id of users.keys()) {
      staleUsers.add(id);
      touched.add(id);
    }
    for (const id of waiters.keys()) touched.add(id);
    for (const id of talkgroups.keys()) {
      dirtyTalkgroups.add(id);
      touched.add(id);
    }
    void readDirty();
  }

  /** One read under way at a time, so that a storm of handshakes is a row of batches and not a storm of queries. */
  async function readDirty(): Promise<void> {
    if (reading) return;
    reading = true;
    let retryMs = RETRY_MS_MIN;
    while (!closed && dirtyUsers.size + dirtyTalkgroups.size + staleUsers.size > 0) {
      const ids = takeFirst(dirtyTalkgroups, batch);
      const people = takeUsers().filter(isWanted);
      touched.clear();
      try {
        // One after the other: what the first read says is gone cannot come back in the second.
        const rows = ids.length === 0 ? [] : await reads.talkgroupsOf(ids);
        const accounts =
          people.length === 0 ? [] : await reads.accountsOf(people, (id) => talkgroups.has(id));
        if (closed) break;
        settleTalkgroups(ids, rows);
        settleUsers(people, accounts);
        retryMs = RETRY_MS_MIN;
        if (waiters.size > 0 && dirtyUsers.size < batch) await pause(GATHER_MS);
      } catch (error) {
        // Expected while the database is away: what was withdrawn stays withdrawn until it answers.
        if (!(error instanceof AppError)) log.error({ err: error }, 'read of rights failed');
        for (const id of ids) dirtyTalkgroups.add(id);
        for (const id of people) dirtyUsers.add(id);
        await pause(retryMs);
        retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs);
      }
    }
    reading = false;
  }

  function takeUsers(): UserId[] {
    // A storm of handshakes may last: what was missed must not wait for its end.
    const urgent = takeFirst(dirtyUsers, staleUsers.size === 0 ? batch : Math.ceil(batch / 2));
    for (const id of urgent) staleUsers.delete(id);
    return [...urgent, ...takeFirst(staleUsers, Math.max(1, batch - urgent.length))];
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

  function settleTalkgroups(ids: readonly TalkgroupId[], rows: readonly TalkgroupRow[]): void {
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of ids) {
      const talkgroup = talkgroups.get(id);
      if (talkgroup !== undefined && touched.has(id)) {
        dirtyTalkgroups.add(id);
        continue;
      }
      if (talkgroup !== undefined)
        attempt({ talkgroup: id }, () => settler.talkgroup(talkgroup, found.get(id) ?? null));
      confirm(id);
    }
  }

  function settleUsers(ids: readonly UserId[], accounts: readonly Account[]): void {
    const found = new Map(accounts.map((account) => [account.id, account]));
    for (const id of ids) {
      const account = found.get(id) ?? null;
      if (isTouched(id, account)) dirtyUsers.add(id);
      else settleUser(id, account);
    }
  }

  function isTouched(id: UserId, account: Account | null): boolean {
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
      dirtyUsers.add(id);
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
      for (const queue of waiters.values()) for (const waiter of queue) waiter.done({ kind: 'failed' });
      waiters.clear();
    },
  };
}

const done = Promise.resolve();
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function takeFirst<T>(from: Set<T>, count: number): T[] {
  const taken: T[] = [];
  for (const item of from) {
    if (taken.length === count) break;
    from.delete(item);
    taken.push(item);
  }
  return taken;
}
