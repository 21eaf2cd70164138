// Whom this relay holds: users with live sessions, their memberships, and the talkgroups they are members of.
import type { Account, EmergencyRow, MembershipRow } from '../directory/records.js';
import type { DeviceId, TalkgroupId, UserId } from '../ids.js';
import type { FloorMode } from '../protocol/codes.js';
import { Feed } from './delivery/feed.js';
import { emptyFloor, type Floor } from './floor/state.js';
import type { Bucket } from './limits/bucket.js';
import type { Budget } from './limits/budget.js';
import type { Listing } from './presence/page.js';
import type { Roster } from './presence/roster.js';
import type { Session } from './session.js';
import type { Talk } from './talk.js';

/** Open emergencies in a snapshot; `emergencies_total` says how many there are. */
const EMERGENCIES_SHOWN = 8;

/** A talkgroup with at least one member connected here. */
export class Talkgroup {
  readonly id: TalkgroupId;
  readonly number: number;
  readonly feed: Feed;
  name: string;
  rotationCounter: number;
  floorMode: FloorMode;
  maxTalkMs: number;
  /** Its deletion was announced and not yet read: nothing goes in or out. */
  withdrawn = false;
  /** Memberships of connected users, granted or withdrawn. */
  readonly memberships = new Set<Membership>();
  /** Talks with a running burst, the oldest first. */
  readonly talking = new Set<Talk>();
  floor: Floor;
  /** All open ones by id: the relay must know who is in an emergency, however many there are. */
  private readonly open = new Map<string, EmergencyRow>();
  /** The last of them, made when asked for; null: not since they changed. */
  private newest: readonly EmergencyRow[] | null = null;
  /** Who came and went since the last PRESENCE; null while nobody asked to be told. */
  roster: Roster | null = null;
  /** Who is there; null while nobody asks for pages of it. */
  listing: Listing<Session> | null = null;

  constructor(row: Omit<MembershipRow, 'site'>) {
    this.id = row.id;
    this.number = row.number;
    this.feed = new Feed(row.number);
    this.name = row.name;
    this.rotationCounter = row.rotation_counter;
    this.floorMode = row.floor_mode;
    this.maxTalkMs = row.max_talk_ms;
    this.floor = emptyFloor(row.floor_mode, row.max_talk_ms);
    for (const emergency of row.emergencies ?? []) this.open.set(emergency.id, emergency);
  }

  /** Open emergencies by id, in the order in which this relay learned of them. */
  get emergencies(): ReadonlyMap<string, EmergencyRow> {
    return this.open;
  }

  /** It is open, or in another state now. */
  setEmergency(emergency: EmergencyRow): void {
    this.open.set(emergency.id, emergency);
    this.newest = null;
  }

  /** It is cleared. */
  clearEmergency(id: string): void {
    this.open.delete(id);
    this.newest = null;
  }

  /** As many of the open ones as a snapshot shows, the newest first. */
  get newestEmergencies(): readonly EmergencyRow[] {
    this.newest ??= [...this.open.values()].slice(-EMERGENCIES_SHOWN).reverse();
    return this.newest;
  }
}

/** One user's right in one talkgroup, shared by all his sessions. */
export class Membership {
  readonly user: User;
  readonly talkgroup: Talkgroup;
  readonly site: string;
  /** false: withdrawn until a read says what is true; set only by a read. */
  granted = true;
  /** What the user's sockets together may send here; null before the first talk. */
  budget: Budget | null = null;

  constructor(user: User, talkgroup: Talkgroup, site: string) {
    this.user = user;
    this.talkgroup = talkgroup;
    this.site = site;
  }
}

/** A user with at least one session here. */
export class User {
  readonly id: UserId;
  readonly username: string;
  readonly deviceId: DeviceId | null;
  isAdmin: boolean;
  /** Live ones, and those that may still be resumed. */
  readonly sessions = new Set<Session>();
  /** By talkgroup number, as frames name them. */
  readonly memberships = new Map<number, Membership>();
  /** His device or his tokens may be gone: nothing goes in or out until a read says. */
  withdrawn = false;
  /** What the user's sockets together may send in all talkgroups; null before the first talk. */
  budget: Budget | null = null;
  /** Of the snapshots that its sockets ask for; null: not yet. */
  snapshots: Bucket | null = null;

  constructor(account: Account) {
    this.id = account.id;
    this.username = account.username;
    this.deviceId = account.device_id;
    this.isAdmin = account.role === 'admin';
  }
}

/** The books: everything held, and the ways in and out of them. */
export interface Members {
  readonly users: ReadonlyMap<UserId, User>;
  readonly talkgroups: ReadonlyMap<TalkgroupId, Talkgroup>;
  usersWith(device: DeviceId): Iterable<User>;
  /** Holds the user from here on; the caller opens a session of his in the same step, or drops him. */
  hold(account: Account): User;
  /** A membership as the database shows it. */
  admit(user: User, row: MembershipRow): Membership;
  /** The membership is gone; a talkgroup without any is held no longer. */
  release(membership: Membership): void;
  /** A session of the user ended: with the last one he is held no longer. */
  drop(id: UserId): void;
}

/** Users whose spent budgets are remembered; one more, and the one who left first is forgotten. */
const SPENT_MAX = 10_000;

/** What a user who is held no longer has spent: a new connection gives no new budgets. */
interface Spent extends Pick<User, 'budget' | 'snapshots'> {
  readonly budgets: ReadonlyMap<TalkgroupId, Budget>;
}

export function createMembers(): Members {
  const users = new Map<UserId, User>();
  const spent = new Map<UserId, Spent>();
  const talkgroups = new Map<TalkgroupId, Talkgroup>();
  const byDevice = new Map<DeviceId, Set<User>>();

  function hold(account: Account): User {
    const user = new User(account);
    users.set(user.id, user);
    if (user.deviceId !== null) {
      const others = byDevice.get(user.deviceId);
      if (others === undefined) byDevice.set(user.deviceId, new Set([user]));
      else others.add(user);
    }
    const before = spent.get(user.id);
    spent.delete(user.id);
    user.budget = before?.budget ?? null;
    user.snapshots = before?.snapshots ?? null;
    for (const row of account.memberships) admit(user, row).budget = before?.budgets.get(row.id) ?? null;
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

  function admit(user: User, row: MembershipRow): Membership {
    let talkgroup = talkgroups.get(row.id);
    if (talkgroup === undefined) {
      talkgroup = new Talkgroup(row);
      talkgroups.set(row.id, talkgroup);
    }
    const membership = new Membership(user, talkgroup, row.site);
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
  }

  function drop(id: UserId): void {
    const user = users.get(id);
    if (user === undefined || user.sessions.size > 0) return;
    users.delete(id);
    remember(user);
    for (const membership of user.memberships.values()) release(membership);
    if (user.deviceId === null) return;
    const others = byDevice.get(user.deviceId);
    others?.delete(user);
    if (others?.size === 0) byDevice.delete(user.deviceId);
  }

  return {
    users,
    talkgroups,
    usersWith: (device) => byDevice.get(device) ?? [],
    hold,
    admit,
    release,
    drop,
  };
}

/** The hot path's only question about rights: three loads, no look-up. */
export function mayTalk(membership: Membership): boolean {
  return membership.granted && !membership.user.withdrawn && !membership.talkgroup.withdrawn;
}

/** Whether the member has an open emergency in the talkgroup. */
export function isInEmergency({ user, talkgroup }: Membership): boolean {
  for (const emergency of talkgroup.emergencies.values()) if (emergency.user_id === user.id) return true;
  return false;
}
