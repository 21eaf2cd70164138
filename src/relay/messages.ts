// What the relay says: the JSON messages of the protocol from its side.
import type { EmergencyRow } from '../directory/records.js';
import type {
  Emergency,
  Member,
  MissedAudio,
  Ref,
  Refused,
  RunningTalker,
  Snapshot,
  Talker,
} from '../protocol/bodies.js';
import {
  type DenyCode,
  type EmergencyState,
  type EndCode,
  type ErrorCode,
  errors,
  type RevokeCode,
} from '../protocol/codes.js';
import { type Draft, type ServerMessageOf, textOf } from '../protocol/server-messages.js';
import type { TalkLimits } from './floor/capacity.js';
import { budgetIn } from './limits/budget.js';
import type { Talkgroup } from './members/members.js';
import type { Announcement } from './presence/roster.js';
import type { Session } from './session.js';
import type { Talk } from './talk.js';

/** What of the asked is named in an ERROR. */
export interface ErrorAbout {
  readonly ref?: Ref | undefined;
  readonly talkgroup_id?: string | undefined;
  readonly number?: number;
}

export interface Limits extends TalkLimits {
  readonly frameBytes: number;
  /** Of one session in one talkgroup; of all sockets of a user twice that. */
  readonly framesPerSecond: number;
  /** Bytes of payload of all sockets of a user in one talkgroup. */
  readonly userBytesPerSecond: number;
  readonly textBytes: number;
  /** Lag beyond which a receiver gets no more audio until it has caught up. */
  readonly backlogMs: number;
  /** How long a session is kept for its client's return; 0: not at all. */
  readonly resumeMs: number;
}

// So that one snapshot fits into one message of 32 KiB whatever is stored, with names and codecs of the greatest length.
/** Running bursts in a snapshot; `talkers_total` says how many there are. */
const SNAPSHOT_TALKERS_MAX = 32;
/** Of these, as JSON: 32 without `codec` always fit. */
const SNAPSHOT_TALKERS_BYTES_MAX = 22 * 1024;

/** What a client needs to take part in a talkgroup from here on; `online` counts sessions. */
export function snapshotOf(talkgroup: Talkgroup, online: number): Draft<Snapshot> {
  return {
    talkgroup_id: talkgroup.id,
    number: talkgroup.number,
    name: talkgroup.name,
    rotation_counter: talkgroup.rotationCounter,
    floor_mode: talkgroup.floorMode,
    max_talk_ms: talkgroup.maxTalkMs,
    event: talkgroup.feed.event,
    talkers: talkersOf(talkgroup),
    talkers_total: talkgroup.talking.size,
    emergencies: talkgroup.newestEmergencies.map((emergency) =>
      emergencyBody(talkgroup, emergency, emergency.state),
    ),
    emergencies_total: talkgroup.emergencies.size,
    online,
  };
}

/** The oldest bursts, as many as there is room for. */
function talkersOf({ talking }: Talkgroup): Draft<RunningTalker>[] {
  const talkers: Draft<RunningTalker>[] = [];
  let bytes = 0;
  for (const talk of talking) {
    const talker = { ...talkBody(talk), frames: talk.frames, sequence: talk.sequence };
    bytes += Buffer.byteLength(JSON.stringify(talker));
    if (talkers.length === SNAPSHOT_TALKERS_MAX || bytes > SNAPSHOT_TALKERS_BYTES_MAX) break;
    talkers.push(talker);
  }
  return talkers;
}

/** What one message tells of several talkgroups. */
export interface Part {
  /** As JSON. */
  readonly snapshots: readonly string[];
  /** Others follow. */
  readonly more: boolean;
}

type Welcome = ServerMessageOf<'WELCOME'>;
type Subscribed = ServerMessageOf<'SUBSCRIBED'>;

/** The message with its snapshots behind all else. */
const withSnapshots = (
  message: Draft<Omit<Welcome, 'talkgroups'> | Omit<Subscribed, 'talkgroups'>>,
  { snapshots }: Part,
) => `${JSON.stringify(message).slice(0, -1)},"talkgroups":[${snapshots.join(',')}]}`;

function talkBody(talk: Talk): Draft<Talker> {
  const { session, membership } = talk;
  return {
    talkgroup_id: membership.talkgroup.id,
    session: session.number,
    burst: talk.burst,
    user_id: membership.user.id,
    username: membership.user.username,
    priority: talk.priority,
    emergency: talk.emergencyFlag !== 0,
    ...(talk.codec !== null && { codec: talk.codec }),
    started_at: new Date(talk.startedAt).toISOString(),
  };
}

function emergencyBody(talkgroup: Talkgroup, emergency: EmergencyRow, state: EmergencyState): Emergency {
  const { id, user_id, username, lat, lng, alt, raised_at } = emergency;
  return {
    emergency_id: id,
    talkgroup_id: talkgroup.id,
    user_id,
    username,
    state,
    ...(lat !== null && { lat }),
    ...(lng !== null && { lng }),
    ...(alt !== null && { alt }),
    raised_at,
  };
}

/** Answers carry the question's `ref`; JSON leaves out what is undefined. */
type MaybeRef = Ref | undefined;

/** Why FLOOR_REQUEST or a first frame was not granted; `talker` has the floor. */
export interface FloorDenial {
  readonly code: DenyCode;
  readonly ref: MaybeRef;
  readonly talker?: Talk | undefined;
  readonly retryMs?: number | undefined;
}

/** The texts of the relay's messages; each function is one message of docs/protocol.md. */
export const say = {
  welcome: (
    { number, user }: Session,
    resume: { readonly resume_token: string; readonly resumed: boolean },
    limits: Limits,
    first: Part & { readonly total: number },
  ) =>
    withSnapshots(
      {
        type: 'WELCOME',
        protocol: 1,
        session: number,
        user_id: user.id,
        username: user.username,
        device_id: user.deviceId,
        ...resume,
        server_time: Date.now(),
        limits: {
          frame_bytes: limits.frameBytes,
          frames_per_second: limits.framesPerSecond,
          user_frames_per_second: budgetIn(limits).framesPerSecond,
          user_bytes_per_second: limits.userBytesPerSecond,
          talks_per_user: limits.talksPerUser,
          talkers_max: limits.talkersMax,
          text_bytes: limits.textBytes,
          backlog_ms: limits.backlogMs,
        },
        talkgroups_total: first.total,
      },
      first,
    ),
  pong: (t: number, ref: MaybeRef) => textOf({ type: 'PONG', ref, t, server_time: Date.now() }),
  ok: (ref: Ref, more: { readonly emergency_id?: string } = {}) => textOf({ type: 'OK', ref, ...more }),
  error: (code: ErrorCode, about: ErrorAbout) =>
    textOf({ type: 'ERROR', ...about, code, message: errors[code] }),
  goaway: (reconnectAfterMs: number) => textOf({ type: 'GOAWAY', reconnect_after_ms: reconnectAfterMs }),
  lag: (talkgroups: readonly MissedAudio[], sinceMs: number) =>
    textOf({ type: 'LAG', talkgroups, since_ms: sinceMs }),
  subscribed: (part: Part, refused: readonly Refused[], ref: MaybeRef) =>
    withSnapshots({ type: 'SUBSCRIBED', ref, more: part.more, refused }, part),
  synced: (snapshot: Draft<Snapshot>, ref: MaybeRef) => textOf({ type: 'SYNCED', ref, ...snapshot }),
  talkgroupJoined: (snapshot: Draft<Snapshot>) => textOf({ type: 'TALKGROUP_JOINED', ...snapshot }),
  talkgroupLeft: (talkgroup: Talkgroup, reason: 'left' | 'deleted') =>
    textOf({ type: 'TALKGROUP_LEFT', talkgroup_id: talkgroup.id, reason }),
  talkgroupChanged: ({ id, name, floorMode, maxTalkMs }: Talkgroup) =>
    textOf({
      type: 'TALKGROUP_CHANGED',
      talkgroup_id: id,
      name,
      floor_mode: floorMode,
      max_talk_ms: maxTalkMs,
    }),
  presence: (talkgroup: Talkgroup, announcement: Announcement) =>
    textOf({ type: 'PRESENCE', talkgroup_id: talkgroup.id, ...announcement }),
  members: (
    talkgroup: Talkgroup,
    page: { readonly online: number; readonly members: readonly Member[]; readonly next: number | null },
    ref: MaybeRef,
  ) => textOf({ type: 'MEMBERS', ref, talkgroup_id: talkgroup.id, ...page }),
  floorGranted: ({ membership, burst, priority }: Talk, talkMsMax: number, ref: MaybeRef) =>
    textOf({
      type: 'FLOOR_GRANTED',
      ref,
      talkgroup_id: membership.talkgroup.id,
      burst,
      priority,
      max_talk_ms: talkMsMax,
    }),
  floorDenied: (talkgroupId: string, { code, ref, talker, retryMs }: FloorDenial) =>
    textOf({
      type: 'FLOOR_DENIED',
      ref,
      talkgroup_id: talkgroupId,
      code,
      talker: talker && talkBody(talker),
      retry_ms: retryMs,
    }),
  floorQueued: (
    { membership }: Talk,
    { position, size }: { readonly position: number; readonly size: number },
    ref: MaybeRef,
  ) => textOf({ type: 'FLOOR_QUEUED', ref, talkgroup_id: membership.talkgroup.id, position, size }),
  floorRevoked: ({ membership, burst }: Talk, code: RevokeCode) =>
    textOf({ type: 'FLOOR_REVOKED', talkgroup_id: membership.talkgroup.id, burst, code }),
  emergency: (talkgroup: Talkgroup, emergency: EmergencyRow, state: EmergencyState, event: number) =>
    textOf({ type: 'EMERGENCY', event, ...emergencyBody(talkgroup, emergency, state) }),
  talkStarted: (talk: Talk, event: number) => textOf({ type: 'TALK_STARTED', event, ...talkBody(talk) }),
  talkEnded: (talk: Talk, event: number, code: EndCode, durationMs: number) =>
    textOf({
      type: 'TALK_ENDED',
      talkgroup_id: talk.talkgroup.id,
      event,
      session: talk.session.number,
      burst: talk.burst,
      code,
      duration_ms: Math.round(durationMs),
      frames: talk.frames,
    }),
  keyRotated: (talkgroup: Talkgroup, event: number) =>
    textOf({
      type: 'KEY_ROTATED',
      talkgroup_id: talkgroup.id,
      event,
      rotation_counter: talkgroup.rotationCounter,
    }),
};
