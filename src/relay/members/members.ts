// Describes a user with live sessions, the user's memberships, and the talkgroups of these.
import type { Account, EmergencyRow, MembershipRow } from '../../directory/records.js';
import type { DeviceId, TalkgroupId, UserId } from '../../ids.js';
import type { Close } from '../../protocol/closes.js';
import type { Encryption, FloorMode } from '../../protocol/codes.js';
import type { LatestFix } from '../../protocol/fix.js';
import { Feed } from '../delivery/feed.js';
import type { Bucket } from '../limits/bucket.js';
import type { Budget, UserBudget } from '../limits/budget.js';
import { Epochs } from './epochs.js';
import { Raisers } from './raisers.js';

/** Open emergencies in a snapshot. `emergencies_total` is the number of all. */
const EMERGENCIES_SHOWN = 8;

/** A session of a user as permissions, presence and the books of members use it. */
export interface LiveSession {
  readonly number: number;
  readonly user: User;
  /** false while it has no socket. */
  readonly isLive: boolean;
  /** When the token of its newest connection was issued (Unix seconds). */
  readonly issuedAt: number;
  /** When its socket last sent anything (monotonic ms). */
  readonly heardAtMs: number;
  /** Whether it subscribes to the talkgroup. */
  hears(talkgroup: Talkgroup): boolean;
  /** The permission is withdrawn until a read: nothing of the talkgroup goes to its socket. */
  withdrawn(membership: Membership): void;
  /** A read confirmed the permission. */
  granted(membership: Membership): void;
  /** Whether it gets the talkgroup's audio has changed, or may have. */
  hearing(membership: Membership): void;
  send(text: string): void;
  /** The user joined the talkgroup. */
  joined(membership: Membership): void;
  /** The membership is gone. */
  left(membership: Membership, reason: 'left' | 'deleted'): void;
  /** It may have missed events in these talkgroups, or in all, and needs snapshots of those that it hears. */
  missed(memberships?: ReadonlySet<Membership>): void;
  close(close: Close, talkEnd?: 'disconnected' | 'disabled'): void;
}

/** A talkgroup with at least one member connected here. */
export class Talkgroup {
  readonly id: TalkgroupId;
  readonly number: number;
  readonly feed: Feed;
  name: string;
  readonly epochs: Epochs;
  encryption: Encryption;
  /** In `required`: a talker with an open emergency may talk in the clear. */
  emergencyMayBeClear: boolean;
  /** Its bursts are recorded and kept for so many days. 0: they are not recorded. */
  recordingDays: number;
  floorMode: FloorMode;
  maxTalkMs: number;
  /** Of these settings. It grows with every change, as long as the database loses none. */
  revision: number;
  /** The highest revision that was held here and that a later read did not show. It is not adopted from other relays. */
  disproved = -1;
  /** When a client last had it read (monotonic ms). */
  readAgainAtMs = Number.NEGATIVE_INFINITY;
  /**
   * Its deletion was announced and not yet read, or it came into memory as it was before a change: no member talks there until
   * it is read.
   */
  withdrawn = false;
  /** Memberships of connected users, granted or withdrawn. */
  readonly memberships = new Set<Membership>();
  /** All open emergencies by id: floor control must know each user in an emergency. */
  private readonly open = new Map<string, EmergencyRow>();
  /** The last of them, made on first use. null after a change. */
  private newest: readonly EmergencyRow[] | null = null;
  private readonly raisers: Raisers;

  /** `raisers` are those of all talkgroups in memory. The row was read at `nowMs`. */
  constructor(row: Omit<MembershipRow, 'site' | 'may_have_keys'>, raisers = new Raisers(), nowMs = 0) {
    this.raisers = raisers;
    this.id = row.id;
    this.number = row.number;
    this.feed = new Feed(row.number);
    this.name = row.name;
    this.epochs = new Epochs(row.rotation_counter);
    this.epochs.set(row.rotation_counter, row.epochs, nowMs);
    this.encryption = row.encryption;
    this.emergencyMayBeClear = row.clear_emergency;
    this.recordingDays = row.recording_days;
    this.floorMode = row.floor_mode;
    this.maxTalkMs = row.max_talk_ms;
    this.revision = row.revision;
    for (const emergency of row.emergencies ?? []) this.setEmergency(emergency);
  }

  /** The newest counter. */
  get rotationCounter(): number {
    return this.epochs.counter;
  }

  /** Open emergencies by id, in the order in which this relay learned of them. */
  get emergencies(): ReadonlyMap<string, EmergencyRow> {
    return this.open;
  }

  /** The emergency is open, or has another state now. */
  setEmergency(emergency: EmergencyRow): void {
    this.open.set(emergency.id, emergency);
    this.raisers.open(this, emergency);
    this.newest = null;
  }

  /** The emergency is cleared. */
  clearEmergency(id: string): void {
    this.open.delete(id);
    this.raisers.close(id);
    this.newest = null;
  }

  /** Where the device of the user that raised it was last. null: nowhere since then. */
  fixIn({ id }: EmergencyRow): LatestFix | null {
    return this.raisers.get(id)?.fix ?? null;
  }

  /** Whether the user has an open emergency here. */
  hasRaised(user: UserId): boolean {
    for (const { user_id } of this.open.values()) if (user_id === user) return true;
    return false;
  }

  /** It is not in memory any more. */
  forget(): void {
    for (const id of this.open.keys()) this.raisers.close(id);
  }

  /** The open emergencies that a snapshot shows, the newest first. */
  get newestEmergencies(): readonly EmergencyRow[] {
    this.newest ??= [...this.open.values()].slice(-EMERGENCIES_SHOWN).reverse();
    return this.newest;
  }
}

/** One user's permission in one talkgroup, shared by all sessions of the user. */
export class Membership {
  readonly user: User;
  readonly talkgroup: Talkgroup;
  readonly site: string;
  /** As the last read of the user shows it. Counts in `required` alone. */
  mayHaveKeys: boolean;
  /** That read showed the talkgroup as `required`: `mayHaveKeys` is newer than the change that accepts all members. */
  isReadRequired = false;
  /** false: withdrawn until the next read. Only a read sets it to true. */
  granted = true;
  /** What the user's sockets together may send here. null before the first talk. */
  budget: Budget | null = null;

  constructor(user: User, talkgroup: Talkgroup, site: string, mayHaveKeys = false) {
    this.user = user;
    this.talkgroup = talkgroup;
    this.site = site;
    this.mayHaveKeys = mayHaveKeys;
  }

  /** Whether its sockets get the talkgroup's audio. Events they get in any case. */
  get mayHear(): boolean {
    return this.mayHaveKeys || this.talkgroup.encryption !== 'required';
  }
}

/** A user with at least one session here. */
export class User {
  readonly id: UserId;
  readonly username: string;
  deviceId: DeviceId | null;
  isAdmin: boolean;
  /** Dispatcher or administrator. */
  mayDispatch: boolean;
  /** Live ones, and those that may still be resumed. */
  readonly sessions = new Set<LiveSession>();
  /** By talkgroup number, as frames name them. */
  readonly memberships = new Map<number, Membership>();
  /** The device may be disabled or the tokens revoked: the relay sends and accepts nothing until a read. */
  withdrawn = false;
  /** What the user's sockets together may send in all talkgroups. null before the first talk. */
  budget: UserBudget | null = null;
  /** Limits the snapshots that its sockets ask for. null before the first. */
  snapshots: Bucket | null = null;

  constructor(account: Account) {
    this.id = account.id;
    this.username = account.username;
    this.deviceId = account.device_id;
    this.isAdmin = account.role === 'admin';
    this.mayDispatch = this.isAdmin || account.is_dispatcher;
  }
}

/** Of a log line. */
export const named = ({ id, username }: Pick<User, 'id' | 'username'>) => ({ user: id, username });

/** The only permission check on the hot path: three loads, no lookup. */
export function mayTalk(membership: Membership): boolean {
  return membership.granted && !membership.user.withdrawn && !membership.talkgroup.withdrawn;
}

/** Whether the member has an open emergency in the talkgroup. */
export const isInEmergency = ({ user, talkgroup }: Membership): boolean => talkgroup.hasRaised(user.id);

/** Whether the member may talk in the clear where encryption is required: with an open emergency, unless a setting forbids it. */
export const mayBeClear = (membership: Membership) =>
  membership.talkgroup.emergencyMayBeClear && isInEmergency(membership);
