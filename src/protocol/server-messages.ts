// Declares the messages of the relay as schemas. The relay is typed by them, tests check with them what they receive, and
// docs/protocol.md, section 3, is generated from them.
import { type Static, type TObject, Type } from '../typebox.js';
import {
  DevicePosition,
  Emergency,
  Id,
  Int,
  Limits,
  Member,
  MissedAudio,
  PositionRow,
  Priority,
  Ref,
  Refused,
  Snapshot,
  Talker,
  U32,
  WatchedDevice,
} from './bodies.js';
import {
  denials,
  type ErrorCode,
  encryptions,
  ends,
  errors,
  floorModes,
  reaches,
  revocations,
} from './codes.js';
import { described } from './described.js';

const ref = Type.Optional(Ref);
const errorCodes = Object.keys(errors) as ErrorCode[]; // of an object without other keys
const Place = Type.Integer({ minimum: 1, maximum: 20 });

/** By type. */
export const serverMessages = {
  WELCOME: Type.Object({
    type: Type.Literal('WELCOME'),
    protocol: described(Type.Literal(1), 'version of the protocol'),
    session: described(U32, 'number of the session, never issued twice'),
    user_id: described(Id, 'user of the token'),
    username: described(Type.String(), 'name of the user'),
    device_id: described(Type.Union([Id, Type.Null()]), 'device linked to the user, null without one'),
    /** Resumes this session once, within RESUME_MS (default 60 s) of its end. */
    resume_token: described(Type.String(), 'resumes this session once (section 4)'),
    /** True if this is the requested session, with the same number, subscriptions, floors and queue places. */
    resumed: described(Type.Boolean(), 'true: this connection continues an earlier session'),
    server_time: described(Int, 'Unix time in ms'),
    limits: described(Limits, 'limits of this server'),
    reach: described(
      Type.Optional(Type.Enum(reaches)),
      'only when nodes or threads are connected, see Several nodes',
    ),
    /** Number of the user's talkgroups. Those that are not in this message follow in SUBSCRIBED. */
    talkgroups_total: described(Int, 'number of talkgroups that the session receives'),
    talkgroups: described(Type.Array(Snapshot), 'the first ones, see Snapshots in parts'),
  }),
  PONG: Type.Object({
    type: Type.Literal('PONG'),
    ref: described(ref, 'as in PING'),
    t: described(Int, 'as in PING'),
    server_time: described(Int, 'Unix time in ms'),
  }),
  OK: Type.Object({
    type: Type.Literal('OK'),
    ref: described(Ref, "as in the client's message"),
    emergency_id: described(Type.Optional(Id), 'only in the answer to EMERGENCY_RAISE'),
  }),
  ERROR: Type.Object({
    type: Type.Literal('ERROR'),
    ref: described(ref, "as in the client's message, absent for frames"),
    talkgroup_id: described(Type.Optional(Type.String()), 'the talkgroup concerned, where there is one'),
    /** The talkgroup's number instead of its id, for a frame to a talkgroup that the user is not a member of. */
    number: described(Type.Optional(U32), "only with `not_member` for a frame: the frame's talkgroup"),
    code: described(Type.Enum(errorCodes), 'what to handle, see section 6'),
    message: described(Type.String(), 'the same in English'),
  }),
  GOAWAY: Type.Object({
    type: Type.Literal('GOAWAY'),
    reconnect_after_ms: described(Int, 'reconnect this long after GOAWAY, not earlier'),
    resumable: described(Type.Optional(Type.Boolean()), 'another node continues the session (section 4)'),
  }),
  REACH: Type.Object({
    type: Type.Literal('REACH'),
    reach: described(Type.Enum(reaches), 'see Several nodes'),
  }),
  LAG: Type.Object({
    type: Type.Literal('LAG'),
    talkgroups: described(Type.Array(MissedAudio), 'talkgroups with skipped frames, may be empty'),
    since_ms: described(Int, 'how long the audio was paused in ms'),
  }),
  SUBSCRIBED: Type.Object({
    type: Type.Literal('SUBSCRIBED'),
    ref: described(ref, 'as in SUBSCRIBE'),
    more: described(Type.Boolean(), 'true: another part follows'),
    refused: described(Type.Array(Refused), 'ids of SUBSCRIBE without a membership'),
    talkgroups: described(Type.Array(Snapshot), "replace the client's state of these talkgroups"),
  }),
  SYNCED: Type.Object({
    type: Type.Literal('SYNCED'),
    ref: described(ref, 'as in SYNC'),
    ...Snapshot.properties,
  }),
  TALKGROUP_JOINED: Type.Object({ type: Type.Literal('TALKGROUP_JOINED'), ...Snapshot.properties }),
  TALKGROUP_LEFT: Type.Object({
    type: Type.Literal('TALKGROUP_LEFT'),
    talkgroup_id: Id,
    reason: described(Type.Enum(['left', 'deleted']), '`left`: by the user or an administrator'),
  }),
  TALKGROUP_CHANGED: Type.Object({
    type: Type.Literal('TALKGROUP_CHANGED'),
    talkgroup_id: Id,
    name: described(Type.String(), 'current name'),
    floor_mode: described(Type.Enum(floorModes), 'current floor mode'),
    max_talk_ms: described(Int, 'current talk limit, 0: none'),
    encryption: described(Type.Enum(encryptions), 'current encryption, see Keys'),
    clear_emergency: described(Type.Boolean(), 'current setting'),
    recording_days: described(Int, 'current setting, 0: speech is not recorded'),
  }),
  FLOOR_GRANTED: Type.Object({
    type: Type.Literal('FLOOR_GRANTED'),
    ref: described(ref, 'as in FLOOR_REQUEST'),
    talkgroup_id: Id,
    burst: described(U32, 'number that the frames of the burst will have'),
    priority: described(Priority, 'effective priority'),
    max_talk_ms: described(Int, 'talk limit of this burst, 0: none'),
  }),
  FLOOR_DENIED: Type.Object({
    type: Type.Literal('FLOOR_DENIED'),
    ref: described(ref, 'as in FLOOR_REQUEST'),
    talkgroup_id: described(Type.String(), 'as in FLOOR_REQUEST'),
    code: described(Type.Enum(denials), 'see below'),
    talker: described(Type.Optional(Talker), 'burst in the way, when there is one'),
    retry_ms: described(Type.Optional(Int), 'only with `retry_later`: wait this long'),
  }),
  FLOOR_QUEUED: Type.Object({
    type: Type.Literal('FLOOR_QUEUED'),
    ref: described(ref, 'as in FLOOR_REQUEST'),
    talkgroup_id: Id,
    position: described(Place, '1 is next'),
    size: described(Place, 'number of queued sessions'),
  }),
  FLOOR_REVOKED: Type.Object({
    type: Type.Literal('FLOOR_REVOKED'),
    talkgroup_id: Id,
    burst: described(U32, 'number of the grant or burst'),
    code: described(Type.Enum(revocations), 'see below'),
  }),
  TALK_STARTED: Type.Object({
    type: Type.Literal('TALK_STARTED'),
    event: described(Int, 'event number'),
    ...Talker.properties,
  }),
  MISSED: Type.Object({
    type: Type.Literal('MISSED'),
    talkgroup_id: Id,
    session: described(U32, 'session of the talker'),
    burst: described(U32, 'number of the burst'),
    missed: described(Int, 'frames that no receiver of this node gets'),
  }),
  TALK_ENDED: Type.Object({
    type: Type.Literal('TALK_ENDED'),
    talkgroup_id: Id,
    event: described(Int, 'event number'),
    session: described(U32, 'session of the talker'),
    burst: described(U32, 'number of the burst'),
    code: described(Type.Enum(ends), 'see below'),
    duration_ms: described(Int, 'from the first frame, including a silence that ended it'),
    frames: described(Int, 'relayed frames, including the one with END'),
  }),
  EMERGENCY: Type.Object({
    type: Type.Literal('EMERGENCY'),
    event: described(Int, 'event number'),
    ...Emergency.properties,
  }),
  EMERGENCY_POSITION: Type.Object({
    type: Type.Literal('EMERGENCY_POSITION'),
    emergency_id: Id,
    talkgroup_id: Id,
    user_id: described(Id, 'user that raised it'),
    ...DevicePosition.properties,
  }),
  /** Part `part` of `parts`, or devices that came later. */
  WATCHING: Type.Object({
    type: Type.Literal('WATCHING'),
    ref: described(ref, 'as in WATCH'),
    talkgroup_id: described(Type.Optional(Id), 'only without `ref`: these devices came to this talkgroup'),
    devices: described(Type.Array(WatchedDevice), 'at most 5,000 in all parts'),
    total: described(Int, 'number of devices, may be more than are listed'),
    part: described(Int, '1 is the first'),
    parts: described(Int, 'number of parts'),
  }),
  POSITIONS: Type.Object({
    type: Type.Literal('POSITIONS'),
    talkgroup_id: described(
      Type.Optional(Id),
      'absent when several talkgroups or `device_ids` are watched, see below',
    ),
    server_time: described(Int, 'Unix time in ms'),
    fixes: described(
      Type.Array(PositionRow),
      '`[n, lat, lng, age_ms, speed, course]`, the last two may be null',
    ),
    gone: described(Type.Optional(Type.Array(U32)), 'devices that are not in the talkgroup any more'),
  }),
  KEY_ROTATED: Type.Object({
    type: Type.Literal('KEY_ROTATED'),
    talkgroup_id: Id,
    event: described(Int, 'event number'),
    rotation_counter: described(Int, 'the new counter'),
    talk_counter: described(Int, 'counter of the key to talk with now'),
    use_in_ms: described(Int, 'time until the new counter is the one to talk with'),
  }),
  KEY_HOLDERS: Type.Object({
    type: Type.Literal('KEY_HOLDERS'),
    /** The list of holders is read with REST. */
    waiting: described(Int, 'key holders of the account that wait to be accepted'),
  }),
  /** The server omits both lists if they are too long. */
  PRESENCE: Type.Object({
    type: Type.Literal('PRESENCE'),
    talkgroup_id: Id,
    joined: described(Type.Optional(Type.Array(Member)), 'sessions that came, or with a changed `site`'),
    left: described(Type.Optional(Type.Array(U32)), 'sessions that left'),
    online: described(Int, 'online sessions now'),
  }),
  /** Some of a talkgroup's sessions, ordered by number. `next` is the `after` of the next page, null at the end. */
  MEMBERS: Type.Object({
    type: Type.Literal('MEMBERS'),
    ref: described(ref, "as in the client's message"),
    talkgroup_id: Id,
    online: described(Int, 'online sessions'),
    members: described(Type.Array(Member), 'the page'),
    next: described(Type.Union([U32, Type.Null()]), '`after` of the next page, null at the end'),
  }),
} as const satisfies Record<string, TObject>;

export type ServerMessageType = keyof typeof serverMessages;
/** The message of this type as the relay sends it. */
export type ServerMessageOf<Type extends ServerMessageType> = Static<(typeof serverMessages)[Type]>;
export type ServerMessage = { [Type in ServerMessageType]: ServerMessageOf<Type> }[ServerMessageType];

/** What a message may be made from: nothing of it is written to, and JSON leaves out a field that is undefined. */
export type Draft<Body> = Body extends readonly (infer Item)[]
  ? readonly Draft<Item>[]
  : Body extends object
    ? {
        readonly [Key in keyof Body]:
          | Draft<Body[Key]>
          | (IsOptional<Body, Key> extends true ? undefined : never);
      }
    : Body;

type IsOptional<Body, Key extends keyof Body> =
  Partial<Pick<Body, Key>> extends Pick<Body, Key> ? true : false;

export const textOf = (message: Draft<ServerMessage>): string => JSON.stringify(message);
