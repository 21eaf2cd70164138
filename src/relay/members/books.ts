// Keeps the users with live sessions, their memberships and talkgroups: everything held here, and the ways in and out.
import type { Account, MembershipRow } from '../../directory/records.js';
import type { DeviceId, TalkgroupId, UserId } from '../../ids.js';
import type { Budget } from '../limits/budget.js';
import { Membership, Talkgroup, User } from './members.js';
import { Raisers } from './raisers.js';

export interface Members {
  readonly users: ReadonlyMap<UserId, User>;
  readonly talkgroups: ReadonlyMap<TalkgroupId, Talkgroup>;
  /** The open emergencies of these. */
  readonly raisers: Raisers;
  usersWith(device: DeviceId): Iterable<User>;
  /** The user has this device from now on. */
  link(user: User, device: DeviceId | null): void;
  /**
   * Holds the user from now on. In the same step the caller opens a session of the user, or drops the user. No member talks in
   * a talkgroup that comes into memory by a row known to be `old`, until the talkgroup is read.
   */
  hold(account: Account, old?: ReadonlySet<TalkgroupId>): User;
  /** Adds a membership as the database shows it. */
  admit(user: User, row: MembershipRow): Membership;
  /** Removes the membership, and the talkgroup with its last membership. */
  release(membership: Membership): void;
  /** Called when a session of the user ended. Removes the user after the last session. */
  drop(id: UserId): void;
}

/** Users whose spent budgets are remembered. Beyond it, the user that left first is forgotten. */
const SPENT_MAX = 10_000;

const NONE: ReadonlySet<TalkgroupId> = new Set();

/** A row from before the change to `required` does not show that the change accepted the member, with all others. */
export const mayHaveKeysBy = (row: MembershipRow, { encryption, revision }: Talkgroup) =>
  row.may_have_keys ||
  (encryption === 'required' && row.encryption !== 'required' && row.revision < revision);

/** The spent budgets of a user without a session: a new connection gives no new budgets. */
interface Spent extends Pick<User, 'budget' | 'snapshots'> {
  readonly budgets: ReadonlyMap<TalkgroupId, Budget>;
}

export function createMembers(nowMs: () => number): Members {
  const users = new Map<UserId, User>();
  const spent = new Map<UserId, Spent>();
  const talkgroups = new Map<TalkgroupId, Talkgroup>();
  const byDevice = new Map<DeviceId, Set<User>>();
  const raisers = new Raisers();

  function hold(account: Account, old: ReadonlySet<TalkgroupId> = NONE): User {
    const user = new User(account);
    users.set(user.id, user);
    enlist(user);
    const before = spent.get(user.id);
    spent.delete(user.id);
    user.budget = before?.budget ?? null;
    user.snapshots = before?.snapshots ?? null;
    for (const row of account.memberships) admit(user, row, old).budget = before?.budgets.get(row.id) ?? null;
    return user;
  }

  function remember({ id, budget, snapshots, memberships }: User): void {
    if (budget === null && snapshots === null) return;
    const budgets = [...memberships.values()].flatMap(({ talkgroup, budget }) =>
      budget === null ? [] : [[talkgroup.id, budget] as const],
    );
    spent.set(id, { budget, snapshots, budgets: new Map(budgets) });
    const [first] = spent.keys();
    if (spent.size > SPENT_MAX && first !== undefined) spent.delete(first);
  }

  function admit(user: User, row: MembershipRow, old = NONE): Membership {
    let talkgroup = talkgroups.get(row.id);
    if (talkgroup === undefined) {
      talkgroup = new Talkgroup(row, raisers, nowMs());
      talkgroup.withdrawn = old.has(row.id);
      talkgroups.set(row.id, talkgroup);
    }
    const membership = new Membership(user, talkgroup, row.site, mayHaveKeysBy(row, talkgroup));
    membership.isReadRequired = row.encryption === 'required';
    user.memberships.set(talkgroup.number, membership);
    talkgroup.memberships.add(membership);
    return membership;
  }

  function release(membership: Membership): void {
    const { user, talkgroup } = membership;
    user.memberships.delete(talkgroup.number);
    talkgroup.memberships.delete(membership);
    if (talkgroup.memberships.size > 0) return;
    talkgroups.delete(talkgroup.id);
    talkgroup.forget();
  }

  function drop(id: UserId): void {
    const user = users.get(id);
    if (user === undefined || user.sessions.size > 0) return;
    users.delete(id);
    remember(user);
    for (const membership of user.memberships.values()) release(membership);
    strike(user);
  }

  function enlist(user: User): void {
    if (user.deviceId === null) return;
    const others = byDevice.get(user.deviceId);
    if (others === undefined) byDevice.set(user.deviceId, new Set([user]));
    else others.add(user);
  }

  function strike(user: User): void {
    if (user.deviceId === null) return;
    const others = byDevice.get(user.deviceId);
    others?.delete(user);
    if (others?.size === 0) byDevice.delete(user.deviceId);
  }

  function link(user: User, device: DeviceId | null): void {
    if (user.deviceId === device) return;
    strike(user);
    user.deviceId = device;
    enlist(user);
  }

  return {
    users,
    talkgroups,
    raisers,
    usersWith: (device) => byDevice.get(device) ?? [],
    link,
    hold,
    admit,
    release,
    drop,
  };
}
