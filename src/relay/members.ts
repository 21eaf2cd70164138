// Whom this relay holds: users with live sessions, their memberships, and the talkgroups they are members of.
import type { DeviceId, TalkgroupId, UserId } from '../ids.js';
import type { Account, FloorMode, TalkgroupRow } from '../talk/store.js';
import type { Session } from './session.js';
import type { Talk } from './talk.js';

/** A talkgroup with at least one member connected here. */
export class Talkgroup {
  readonly id: TalkgroupId;
  readonly number: number;
  readonly audioTopic: string;
  readonly eventTopic: string;
  name: string;
  rotationCounter: number;
  floorMode: FloorMode;
  maxTalkMs: number;
  /** Number of the last event published here; a client that sees a gap missed one. */
  event = 0;
  /** Its deletion was announced and not yet read: nothing goes in or out. */
  withdrawn = false;
  /** Memberships of connected users, granted or withdrawn. */
  readonly memberships = new Set<Membership>();
  /** Talks with a running burst. */
  readonly talking = new Set<Talk>();

  constructor(row: TalkgroupRow) {
    this.id = row.id;
    this.number = row.number;
    this.audioTopic = `a${row.number}`;
    this.eventTopic = `e${row.number}`;
    this.name = row.name;
    this.rotationCounter = row.rotation_counter;
    this.floorMode = row.floor_mode;
    this.maxTalkMs = row.max_talk_ms;
  }
}

/** One user's right in one talkgroup, shared by all his sessions. */
export class Membership {
  readonly user: User;
  readonly talkgroup: Talkgroup;
  readonly site: string;
  /** false: withdrawn until a read says what is true; set only by a read. */
  granted = true;
  /** The talkgroup's event number when it was withdrawn: what came after was missed. */
  eventAtWithdrawal = 0;

  constructor(user: User, talkgroup: Talkgroup, site: string) {
    this.user = user;
    this.talkgroup = talkgroup;
    this.site = site;
  }
}

/** A user with at least one live session here. */
export class User {
  readonly id: UserId;
  readonly username: string;
  readonly deviceId: DeviceId | null;
  readonly sessions = new Set<Session>();
  /** By talkgroup number, as frames name them. */
  readonly memberships = new Map<number, Membership>();
  /** His device or his tokens may be gone: nothing goes in or out until a read says. */
  withdrawn = false;

  constructor(account: Account) {
    this.id = account.id;
    this.username = account.username;
    this.deviceId = account.device_id;
  }
}

/** The hot path's only question about rights: three loads, no look-up. */
export function mayTalk(membership: Membership): boolean {
  return membership.granted && !membership.user.withdrawn && !membership.talkgroup.withdrawn;
}
