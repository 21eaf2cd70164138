// Declares the messages of clients as schemas (docs/protocol.md, section 3). The relay checks every text with them.
import { type Static, type TObject, Type } from 'typebox';
import { Codec, Int, Position, Priority, Ref, U32 } from './bodies.js';
import { modes } from './codes.js';

/** Talkgroups in one message. */
export const TALKGROUP_IDS_MAX = 200;

/** Ids are read where they are used: a malformed one names nothing, which is not a bad message. */
const Id = Type.String();
const Ids = Type.Array(Id, { maxItems: TALKGROUP_IDS_MAX });
const ref = Type.Optional(Ref);
const { lat, lng, alt } = Position.properties;

/** By type. */
export const clientMessages = {
  PING: Type.Object({ type: Type.Literal('PING'), t: Int, ref }),
  GPS_UPDATE: Type.Object({
    type: Type.Literal('GPS_UPDATE'),
    device_id: Type.Optional(Id),
    lat,
    lng,
    alt,
    ref,
  }),
  SUBSCRIBE: Type.Object({
    type: Type.Literal('SUBSCRIBE'),
    talkgroup_ids: Ids,
    mode: Type.Optional(Type.Enum(modes)),
    presence: Type.Optional(Type.Boolean()),
    coalesce_ms: Type.Optional(Type.Enum([10, 20])),
    bundle_ms: Type.Optional(Type.Enum([40, 60])),
    ref,
  }),
  UNSUBSCRIBE: Type.Object({ type: Type.Literal('UNSUBSCRIBE'), talkgroup_ids: Ids, ref }),
  SYNC: Type.Object({ type: Type.Literal('SYNC'), talkgroup_id: Id, ref }),
  MEMBERS: Type.Object({
    type: Type.Literal('MEMBERS'),
    talkgroup_id: Id,
    after: Type.Optional(U32),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
    ref,
  }),
  FLOOR_REQUEST: Type.Object({
    type: Type.Literal('FLOOR_REQUEST'),
    talkgroup_id: Id,
    priority: Type.Optional(Priority),
    queue: Type.Optional(Type.Boolean()),
    codec: Type.Optional(Codec),
    ref,
  }),
  FLOOR_RELEASE: Type.Object({ type: Type.Literal('FLOOR_RELEASE'), talkgroup_id: Id, ref }),
  EMERGENCY_RAISE: Type.Object({
    type: Type.Literal('EMERGENCY_RAISE'),
    talkgroup_id: Id,
    lat: Type.Optional(lat),
    lng: Type.Optional(lng),
    alt: Type.Optional(alt),
    ref,
  }),
  EMERGENCY_ACK: Type.Object({ type: Type.Literal('EMERGENCY_ACK'), emergency_id: Id, ref }),
  EMERGENCY_CLEAR: Type.Object({ type: Type.Literal('EMERGENCY_CLEAR'), emergency_id: Id, ref }),
} as const satisfies Record<string, TObject>;

export type ClientMessageType = keyof typeof clientMessages;
/** The message of this type as a client may send it. */
export type ClientMessageOf<Type extends ClientMessageType> = Static<(typeof clientMessages)[Type]>;
export type ClientMessage = { [Type in ClientMessageType]: ClientMessageOf<Type> }[ClientMessageType];
