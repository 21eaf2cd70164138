// Declares what a read shows of accounts, memberships, talkgroups, open emergencies and devices.
import type { DeviceId, TalkgroupId, UserId } from '../ids.js';
import type { EmergencyState, Encryption, FloorMode } from '../protocol/codes.js';
import type { LatestFix } from '../protocol/fix.js';

/** `[rotation counter, ms until talkers use it]`, below 0 when they do. */
export type EpochRow = readonly [number, number];

export interface TalkgroupRow {
  readonly id: TalkgroupId;
  /** u32, identifies the talkgroup in an audio frame. */
  readonly number: number;
  readonly name: string;
  readonly rotation_counter: number;
  readonly floor_mode: FloorMode;
  readonly max_talk_ms: number;
  readonly encryption: Encryption;
  /** In `required`: a talker with an open emergency may talk in the clear. */
  readonly clear_emergency: boolean;
  /** How long its recordings are kept (days). 0: it is not recorded. */
  readonly recording_days: number;
  /** Those in use for less than 5 s, or later, the newest first. null: the newest one is in use for longer. */
  readonly epochs: readonly EpochRow[] | null;
  /** Grows with every change of these settings. */
  readonly revision: number;
  /** The open ones, oldest first. */
  readonly emergencies: readonly EmergencyRow[];
}

/** An emergency that is not cleared. */
export interface EmergencyRow {
  readonly id: string;
  readonly user_id: UserId;
  readonly username: string;
  readonly state: Exclude<EmergencyState, 'cleared'>;
  /** Degrees in WGS 84 and metres above it, null where the radio did not know them. */
  readonly lat: number | null;
  readonly lng: number | null;
  readonly alt: number | null;
  /** ISO 8601. */
  readonly raised_at: string;
  /** Device of the user. null: none, or not told by the relay that announced the emergency. */
  readonly device_id: DeviceId | null;
  /** Where the device was last. null: it was nowhere since the emergency was raised. */
  readonly fix: LatestFix | null;
}

export interface MembershipRow extends Omit<TalkgroupRow, 'emergencies'> {
  /** null when they were not read, because the relay has the talkgroup in memory. */
  readonly emergencies: TalkgroupRow['emergencies'] | null;
  readonly site: string;
  /** In `required`: whether the user gets keys, hears and talks. */
  readonly may_have_keys: boolean;
}

export interface Account {
  readonly id: UserId;
  readonly username: string;
  readonly role: 'admin' | 'user';
  readonly is_dispatcher: boolean;
  /** Unix seconds. Tokens issued earlier are rejected. */
  readonly valid_from: number;
  readonly device_id: DeviceId | null;
  /** Also true for a user without a device. */
  readonly device_active: boolean;
  /** Its key holders that wait to be accepted. */
  readonly holders_waiting: number;
  readonly memberships: readonly MembershipRow[];
}

/** A device whose position is watched. */
export interface DeviceRow {
  readonly id: DeviceId;
  readonly name: string;
  /** One of its users, the same each time. null: it has none. */
  readonly user: { readonly id: UserId; readonly username: string } | null;
  readonly fix: LatestFix | null;
}
