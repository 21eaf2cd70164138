// Applies what a read shows to what is in memory: the step that grants, and that confirms what cannot be undone.
import type { Account, EmergencyRow, MembershipRow, TalkgroupRow } from '../../directory/records.js';
import type { TalkgroupId } from '../../ids.js';
import { type Members, mayHaveKeysBy } from '../members/books.js';
import type { Membership, Talkgroup, User } from '../members/members.js';

/** What a change of rights does to live sockets. Called synchronously, in the step that decided it. */
export interface RightsChanges {
  /** Nothing of the talkgroup goes to this user's sockets any more, until `granted`. */
  withdrawn(membership: Membership): void;
  granted(membership: Membership): void;
  /** These were withdrawn for a while: the user's sockets need fresh snapshots of them. */
  missed(user: User, memberships: ReadonlySet<Membership>): void;
  joined(membership: Membership): void;
  left(membership: Membership): void;
  deleted(talkgroup: Talkgroup): void;
  rotated(talkgroup: Talkgroup): void;
  /** The key holders of the account changed: so many wait to be accepted. */
  holders(user: User, waiting: number): void;
  /** Whether the member gets the talkgroup's audio may have changed. */
  hearing(membership: Membership): void;
  /** Its name, floor mode, talk limit or encryption is another one now. */
  changed(talkgroup: Talkgroup): void;
  /** After `changed`: encryption is required there from now on. */
  required(talkgroup: Talkgroup): void;
  /** The open emergencies a read shows there. */
  emergencies(talkgroup: Talkgroup, rows: readonly EmergencyRow[]): void;
  /** Device disabled, tokens revoked or user gone. `account` is null when the user does not exist. */
  checked(user: User, account: Account | null): void;
  /** What a change does to this user threw half way: what the user's sockets hear is in doubt, and they end. */
  failed(user: User, error: unknown): void;
}

/** Settings of a talkgroup as another relay tells them. */
export type ToldSettings = Pick<TalkgroupRow, 'revision' | 'floor_mode' | 'max_talk_ms'> &
  Partial<Pick<TalkgroupRow, 'encryption' | 'clear_emergency' | 'recording_days'>>;

export interface Settler {
  /** What another relay tells, as if it was read. */
  adopt(talkgroup: Talkgroup, settings: ToldSettings): void;
  /** null: the talkgroup is gone. */
  talkgroup(talkgroup: Talkgroup, row: TalkgroupRow | null): void;
  /** null: the user is gone. */
  user(user: User, account: Account | null): void;
  /** A user with no session yet. For `old` see Members.hold. */
  newcomer(account: Account, old: ReadonlySet<TalkgroupId>): User;
}

export function createSettler(members: Members, changes: RightsChanges, nowMs: () => number): Settler {
  function talkgroup(held: Talkgroup, row: TalkgroupRow | null): void {
    if (row === null) {
      changes.deleted(held);
      for (const membership of held.memberships) members.release(membership);
      return;
    }
    const wasWithdrawn = held.withdrawn;
    held.withdrawn = false;
    change(held, row);
    follow(held, row);
    changes.emergencies(held, row.emergencies);
    if (!wasWithdrawn) return;
    for (const membership of held.memberships) changes.missed(membership.user, new Set([membership]));
  }

  /**
   * What another relay told counts until this read, because the read began after it: the notice of it repeats a read under
   * way. A row with a lower revision shows that the other relay was wrong, or that the database has lost a change.
   */
  function change(
    held: Talkgroup,
    row: Omit<TalkgroupRow, 'id' | 'number' | 'rotation_counter' | 'epochs' | 'emergencies'>,
  ): void {
    const { name, floor_mode, max_talk_ms, revision, encryption, clear_emergency, recording_days } = row;
    if (revision < held.revision) held.disproved = Math.max(held.disproved, held.revision);
    held.revision = revision;
    const isSame =
      held.name === name &&
      held.floorMode === floor_mode &&
      held.maxTalkMs === max_talk_ms &&
      held.encryption === encryption &&
      held.emergencyMayBeClear === clear_emergency &&
      held.recordingDays === recording_days;
    if (isSame) return;
    const before = held.encryption;
    held.encryption = encryption;
    held.emergencyMayBeClear = clear_emergency;
    held.recordingDays = recording_days;
    const accepted = before === encryption ? [] : changeHearing(held);
    held.name = name;
    held.floorMode = floor_mode;
    held.maxTalkMs = max_talk_ms;
    changes.changed(held);
    if (encryption === 'required' && before !== 'required') changes.required(held);
    for (const membership of accepted) changes.missed(membership.user, new Set([membership]));
  }

  /**
   * The change to `required` accepts all present members, in the statement that makes it. A row that was read after it, as
   * that of a member that joined since, says itself what the member may. Returns those that must be told.
   * LIMIT: two changes, to another value and back to `required`, that one read shows as none leave the old permissions.
   */
  function changeHearing(held: Talkgroup): readonly Membership[] {
    if (held.encryption !== 'required') {
      for (const membership of held.memberships) {
        membership.isReadRequired = false; // the next change to `required` is newer than the row
        changes.hearing(membership);
      }
      return [];
    }
    const withoutKeys = [...held.memberships].filter(({ mayHaveKeys }) => !mayHaveKeys);
    const accepted = withoutKeys.filter(({ isReadRequired }) => !isReadRequired);
    for (const membership of accepted) membership.mayHaveKeys = true;
    for (const membership of withoutKeys) if (!membership.mayHaveKeys) changes.hearing(membership);
    return accepted;
  }

  /** The counter only grows, so a row read earlier than the one we hold changes nothing. */
  function follow(held: Talkgroup, row: Pick<TalkgroupRow, 'rotation_counter' | 'epochs'>): void {
    if (row.rotation_counter <= held.rotationCounter) return;
    held.epochs.set(row.rotation_counter, row.epochs, nowMs());
    changes.rotated(held);
  }

  function user(held: User, account: Account | null): void {
    changes.checked(held, account);
    if (account === null || isOver(held)) return;
    held.withdrawn = false;
    held.isAdmin = account.role === 'admin';
    held.mayDispatch = held.isAdmin || account.is_dispatcher;
    members.link(held, account.device_id);
    const rows = new Map(account.memberships.map((row) => [row.id, row]));
    const missed = new Set<Membership>();
    for (const membership of held.memberships.values()) {
      const row = rows.get(membership.talkgroup.id);
      rows.delete(membership.talkgroup.id);
      if (row === undefined) dismiss(membership);
      else if (renew(membership, row)) missed.add(membership);
    }
    for (const row of rows.values()) {
      if (isOver(held)) return;
      changes.joined(admit(held, row));
    }
    if (missed.size > 0) changes.missed(held, missed);
  }

  /** An effect may close the last session, when its socket is full. Then the user is held no longer. */
  const isOver = (held: User) => held.sessions.size === 0;

  function dismiss(membership: Membership): void {
    changes.left(membership);
    members.release(membership);
  }

  /** true: it was withdrawn, and whatever went by meanwhile was missed. */
  function renew(membership: Membership, row: MembershipRow): boolean {
    follow(membership.talkgroup, row);
    const mayHaveKeys = mayHaveKeysBy(row, membership.talkgroup);
    const isSame = membership.mayHaveKeys === mayHaveKeys;
    membership.mayHaveKeys = mayHaveKeys;
    membership.isReadRequired = row.encryption === 'required';
    if (!isSame) changes.hearing(membership);
    if (membership.granted) return !isSame;
    membership.granted = true;
    changes.granted(membership);
    return true;
  }

  function newcomer(account: Account, old: ReadonlySet<TalkgroupId>): User {
    const held = members.hold(account, old);
    for (const row of account.memberships) catchUp(row);
    return held;
  }

  function admit(held: User, row: MembershipRow): Membership {
    const membership = members.admit(held, row);
    catchUp(row);
    return membership;
  }

  /** A talkgroup held already may be shown newer by the membership of another user. */
  function catchUp(row: MembershipRow): void {
    const held = members.talkgroups.get(row.id);
    if (held !== undefined) follow(held, row);
  }

  function adopt(held: Talkgroup, settings: ToldSettings): void {
    const { name, encryption, emergencyMayBeClear: clear_emergency, recordingDays: recording_days } = held;
    change(held, { name, encryption, clear_emergency, recording_days, ...settings });
  }

  return { adopt, talkgroup, user, newcomer };
}
