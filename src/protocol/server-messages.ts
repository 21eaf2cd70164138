// Declares the messages of the relay as schemas (docs/protocol.md, section 3). The relay is typed by them, and tests
// check with them what they receive.
import { type Static, type TObject, Type } from 'typebox';
import {
  Emergency,
  Id,
  Int,
  Limits,
  Member,
  MissedAudio,
  Priority,
  Ref,
  Refused,
  Snapshot,
  Talker,
  U32,
} from './bodies.js';
import { denials, type ErrorCode, ends, errors, floorModes, revocations } from './codes.js';

const ref = Type.Optional(Ref);
const errorCodes = Object.keys(errors) as ErrorCode[]; // of an object without other keys
const Place = Type.Integer({ minimum: 1, maximum: 20 });

/** By type. */
export const serverMessages = {
  WELCOME: Type.Object({
    type: Type.Literal('WELCOME'),
    protocol: Type.Literal(1),
    session: U32,
    user_id: Id,
    username: Type.String(),
    device_id: Type.Union([Id, Type.Null()]),
    /** Resumes this session once, within RESUME_MS (default 60 s) of its end. */
    resume_token: Type.String(),
    /** True if this is the requested session, with the same number, subscriptions, floors and queue places. */
    resumed: Type.Boolean(),
    server_time: Int,
    limits: Limits,
    /** Number of the user's talkgroups. Those that are not in this message follow in SUBSCRIBED. */
    talkgroups_total: Int,
    talkgroups: Type.Array(Snapshot),
  }),
  PONG: Type.Object({ type: Type.Literal('PONG'), ref, t: Int, server_time: Int }),
  OK: Type.Object({ type: Type.Literal('OK'), ref: Ref, emergency_id: Type.Optional(Id) }),
  ERROR: Type.Object({
    type: Type.Literal('ERROR'),
    ref,
    talkgroup_id: Type.Optional(Type.String()),
    /** The talkgroup's number instead of its id, for a frame to a talkgroup that the user is not a member of. */
    number: Type.Optional(U32),
    code: Type.Enum(errorCodes),
    message: Type.String(),
  }),
  GOAWAY: Type.Object({ type: Type.Literal('GOAWAY'), reconnect_after_ms: Int }),
  LAG: Type.Object({ type: Type.Literal('LAG'), talkgroups: Type.Array(MissedAudio), since_ms: Int }),
  SUBSCRIBED: Type.Object({
    type: Type.Literal('SUBSCRIBED'),
    ref,
    more: Type.Boolean(),
    refused: Type.Array(Refused),
    talkgroups: Type.Array(Snapshot),
  }),
  SYNCED: Type.Object({ type: Type.Literal('SYNCED'), ref, ...Snapshot.properties }),
  TALKGROUP_JOINED: Type.Object({ type: Type.Literal('TALKGROUP_JOINED'), ...Snapshot.properties }),
  TALKGROUP_LEFT: Type.Object({
    type: Type.Literal('TALKGROUP_LEFT'),
    talkgroup_id: Id,
    reason: Type.Enum(['left', 'deleted']),
  }),
  TALKGROUP_CHANGED: Type.Object({
    type: Type.Literal('TALKGROUP_CHANGED'),
    talkgroup_id: Id,
    name: Type.String(),
    floor_mode: Type.Enum(floorModes),
    max_talk_ms: Int,
  }),
  FLOOR_GRANTED: Type.Object({
    type: Type.Literal('FLOOR_GRANTED'),
    ref,
    talkgroup_id: Id,
    burst: U32,
    priority: Priority,
    max_talk_ms: Int,
  }),
  FLOOR_DENIED: Type.Object({
    type: Type.Literal('FLOOR_DENIED'),
    ref,
    talkgroup_id: Type.String(),
    code: Type.Enum(denials),
    talker: Type.Optional(Talker),
    retry_ms: Type.Optional(Int),
  }),
  FLOOR_QUEUED: Type.Object({
    type: Type.Literal('FLOOR_QUEUED'),
    ref,
    talkgroup_id: Id,
    position: Place,
    size: Place,
  }),
  FLOOR_REVOKED: Type.Object({
    type: Type.Literal('FLOOR_REVOKED'),
    talkgroup_id: Id,
    burst: U32,
    code: Type.Enum(revocations),
  }),
  TALK_STARTED: Type.Object({ type: Type.Literal('TALK_STARTED'), event: Int, ...Talker.properties }),
  TALK_ENDED: Type.Object({
    type: Type.Literal('TALK_ENDED'),
    talkgroup_id: Id,
    event: Int,
    session: U32,
    burst: U32,
    code: Type.Enum(ends),
    duration_ms: Int,
    frames: Int,
  }),
  EMERGENCY: Type.Object({ type: Type.Literal('EMERGENCY'), event: Int, ...Emergency.properties }),
  KEY_ROTATED: Type.Object({
    type: Type.Literal('KEY_ROTATED'),
    talkgroup_id: Id,
    event: Int,
    rotation_counter: Int,
  }),
  /** The server omits both lists if they are too long. */
  PRESENCE: Type.Object({
    type: Type.Literal('PRESENCE'),
    talkgroup_id: Id,
    joined: Type.Optional(Type.Array(Member)),
    left: Type.Optional(Type.Array(U32)),
    online: Int,
  }),
  /** Some of a talkgroup's sessions, ordered by number. `next` is the `after` of the next page, null at the end. */
  MEMBERS: Type.Object({
    type: Type.Literal('MEMBERS'),
    ref,
    talkgroup_id: Id,
    online: Int,
    members: Type.Array(Member),
    next: Type.Union([U32, Type.Null()]),
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
