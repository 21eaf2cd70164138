// Declares the messages of clients as schemas. The relay checks every text with them, and docs/protocol.md, section 3, is
// generated from them. A default is what the relay takes without the field. The check inserts none.
import { type Static, type TObject, Type } from '../typebox.js';
import { Codec, Crypto, FixTime, Int, motion, Position, Priority, Ref, U32 } from './bodies.js';
import { modes, watchIntervals } from './codes.js';
import { described } from './described.js';

/** Talkgroups in one message. */
export const TALKGROUP_IDS_MAX = 200;

/** What one WATCH may name. */
export const WATCHED_TALKGROUPS_MAX = 32;
export const WATCHED_DEVICES_MAX = 200;

/** Ids are read where they are used: a malformed one names nothing, which is not a bad message. */
const Id = Type.String({ title: 'id' });
const Ids = Type.Array(Id, { maxItems: TALKGROUP_IDS_MAX });
const ref = described(Type.Optional(Ref), 'at most 64 characters, repeated in the answer');
const lat = described(Position.properties.lat, 'degrees, WGS 84');
const lng = described(Position.properties.lng, 'degrees, WGS 84');
const alt = described(Position.properties.alt, 'metres');

/** By type. */
export const clientMessages = {
  PING: Type.Object({ type: Type.Literal('PING'), t: described(Int, 'any value, repeated in PONG'), ref }),
  GPS_UPDATE: Type.Object({
    type: Type.Literal('GPS_UPDATE'),
    device_id: Type.Optional(Id),
    lat,
    lng,
    alt,
    speed: described(motion.speed, 'm/s'),
    course: described(motion.course, 'degrees, clockwise from north'),
    accuracy: described(motion.accuracy, 'metres'),
    battery: described(motion.battery, 'per cent'),
    at: described(Type.Optional(FixTime), 'when the device was there, see below'),
    ref,
  }),
  WATCH: Type.Object({
    type: Type.Literal('WATCH'),
    talkgroup_ids: described(
      Type.Optional(Type.Array(Id, { minItems: 1, maxItems: WATCHED_TALKGROUPS_MAX })),
      'watch the devices of their members',
    ),
    device_ids: described(
      Type.Optional(Type.Array(Id, { minItems: 1, maxItems: WATCHED_DEVICES_MAX })),
      'instead of `talkgroup_ids`: watch these devices',
    ),
    interval_ms: described(
      Type.Optional(Type.Enum(watchIntervals)),
      'time between two POSITIONS with the same device',
      2000,
    ),
    ref,
  }),
  UNWATCH: Type.Object({ type: Type.Literal('UNWATCH'), ref }),
  SUBSCRIBE: Type.Object({
    type: Type.Literal('SUBSCRIBE'),
    talkgroup_ids: Ids,
    mode: described(Type.Optional(Type.Enum(modes)), '`listen`: may not talk, `events`: no audio', 'talk'),
    presence: described(Type.Optional(Type.Boolean()), 'true: the session receives PRESENCE', false),
    coalesce_ms: described(
      Type.Optional(Type.Enum([10, 20])),
      'buffered audio, not together with `bundle_ms`',
    ),
    bundle_ms: described(
      Type.Optional(Type.Enum([40, 60])),
      'bundled audio, not together with `coalesce_ms`',
    ),
    ref,
  }),
  UNSUBSCRIBE: Type.Object({ type: Type.Literal('UNSUBSCRIBE'), talkgroup_ids: Ids, ref }),
  SYNC: Type.Object({ type: Type.Literal('SYNC'), talkgroup_id: Id, ref }),
  MEMBERS: Type.Object({
    type: Type.Literal('MEMBERS'),
    talkgroup_id: Id,
    after: described(Type.Optional(U32), 'the page begins above this session number', 0),
    limit: described(Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })), 'sessions in the page', 100),
    ref,
  }),
  FLOOR_REQUEST: Type.Object({
    type: Type.Literal('FLOOR_REQUEST'),
    talkgroup_id: Id,
    priority: described(Type.Optional(Priority), 'see Priority', 1),
    queue: described(Type.Optional(Type.Boolean()), 'true: wait when the floor is taken', false),
    codec: described(Type.Optional(Codec), 'format of the payloads, at most 256 bytes of JSON'),
    crypto: described(Type.Optional(Crypto), 'how the next burst is encrypted, see Keys'),
    ref,
  }),
  FLOOR_RELEASE: Type.Object({ type: Type.Literal('FLOOR_RELEASE'), talkgroup_id: Id, ref }),
  EMERGENCY_RAISE: Type.Object({
    type: Type.Literal('EMERGENCY_RAISE'),
    talkgroup_id: Id,
    // Without the bounds of a position: a call for help must not fail for where it comes from.
    lat: described(Type.Optional(Type.Number()), 'degrees, WGS 84'),
    lng: described(Type.Optional(Type.Number()), 'degrees, WGS 84'),
    alt: described(Type.Optional(Type.Number()), 'metres'),
    ref,
  }),
  EMERGENCY_ACK: Type.Object({ type: Type.Literal('EMERGENCY_ACK'), emergency_id: Id, ref }),
  EMERGENCY_CLEAR: Type.Object({ type: Type.Literal('EMERGENCY_CLEAR'), emergency_id: Id, ref }),
} as const satisfies Record<string, TObject>;

export type ClientMessageType = keyof typeof clientMessages;
/** The message of this type as a client may send it. */
export type ClientMessageOf<Type extends ClientMessageType> = Static<(typeof clientMessages)[Type]>;
export type ClientMessage = { [Type in ClientMessageType]: ClientMessageOf<Type> }[ClientMessageType];
