// What clients may say: the JSON messages of the protocol from their side, and how a text is read as one.
import { type Static, type TObject, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { GpsFix } from '../gps/schemas.js';
import { nullsRemover } from '../nulls.js';

/** Repeated in the answer, so that a client can have several questions under way. */
const Ref = Type.Union([
  Type.String({ maxLength: 64 }),
  Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
]);
export type Ref = Static<typeof Ref>;

/** Ids are read where they are used: a malformed one names nothing, which is not a bad message. */
const Id = Type.String();
const Ids = Type.Array(Id, { maxItems: 200 });
const { lat, lng, alt } = GpsFix.properties;

const asks = {
  PING: Type.Object({
    t: Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  }),
  GPS_UPDATE: Type.Object({ device_id: Type.Optional(Id), lat, lng, alt }),
  SUBSCRIBE: Type.Object({
    talkgroup_ids: Ids,
    mode: Type.Optional(Type.Union([Type.Literal('talk'), Type.Literal('listen'), Type.Literal('events')])),
    presence: Type.Optional(Type.Boolean()),
    coalesce_ms: Type.Optional(Type.Union([Type.Literal(10), Type.Literal(20)])),
    bundle_ms: Type.Optional(Type.Union([Type.Literal(40), Type.Literal(60)])),
  }),
  UNSUBSCRIBE: Type.Object({ talkgroup_ids: Ids }),
  SYNC: Type.Object({ talkgroup_id: Id }),
  MEMBERS: Type.Object({
    talkgroup_id: Id,
    after: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  }),
  FLOOR_REQUEST: Type.Object({
    talkgroup_id: Id,
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 7 })),
    queue: Type.Optional(Type.Boolean()),
    codec: Type.Optional(
      Type.Object({
        name: Type.String(),
        sample_rate: Type.Integer({ minimum: 1 }),
        frame_ms: Type.Number({ exclusiveMinimum: 0 }),
      }),
    ),
  }),
  FLOOR_RELEASE: Type.Object({ talkgroup_id: Id }),
  EMERGENCY_RAISE: Type.Object({
    talkgroup_id: Id,
    lat: Type.Optional(lat),
    lng: Type.Optional(lng),
    alt: Type.Optional(alt),
  }),
  EMERGENCY_ACK: Type.Object({ emergency_id: Id }),
  EMERGENCY_CLEAR: Type.Object({ emergency_id: Id }),
} as const satisfies Record<string, TObject>;

export type AskType = keyof typeof asks;
/** A message of this type as a client may send it. */
export type Ask<Type extends AskType> = Static<(typeof asks)[Type]> & {
  readonly type: Type;
  readonly ref?: Ref;
};
export type ClientMessage = { [Type in AskType]: Ask<Type> }[AskType];

/** Each message by its type, with `ref` and without `type`. */
export const schemas: Readonly<Record<string, TObject>> = Object.fromEntries(
  Object.entries(asks).map(([type, { properties }]) => [
    type,
    Type.Object({ ...properties, ref: Type.Optional(Ref) }),
  ]),
);

const readers = Object.fromEntries(
  Object.entries(schemas).map(([type, schema]) => {
    const validator = Compile(schema);
    return [
      type,
      { removeNulls: nullsRemover(schema), isValid: (value: object): boolean => validator.Check(value) },
    ];
  }),
);

/** As the codec is passed on to every listener, and stands in snapshots. */
const CODEC_BYTES_MAX = 256;

/** A readable message, or why not; `ref` is kept where one can be made out, so that the answer finds its question. */
export type Reading =
  | { readonly kind: 'message'; readonly message: ClientMessage }
  | { readonly kind: 'bad'; readonly code: 'bad_message' | 'unknown_type'; readonly ref: Ref | undefined };

/** Reads one text message; whatever the bytes, it never throws. */
export function readMessage(text: string): Reading {
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'bad', code: 'bad_message', ref: undefined };
  }
  const { type, ref } = value as { type?: unknown; ref?: unknown }; // a cast to what any object might have
  const known = isRef(ref) ? ref : undefined;
  if (typeof type !== 'string') return { kind: 'bad', code: 'bad_message', ref: known };
  const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
  if (reader === undefined) return { kind: 'bad', code: 'unknown_type', ref: known };
  reader.removeNulls(value);
  if (!reader.isValid(value) || isTooLong(value) || isBoth(value))
    return { kind: 'bad', code: 'bad_message', ref: known };
  return { kind: 'message', message: value as ClientMessage }; // as its reader has checked
}

/** Audio is held in one way at most. */
const isBoth = (value: object) => 'coalesce_ms' in value && 'bundle_ms' in value;

function isTooLong({ codec }: { codec?: unknown }): boolean {
  if (codec === undefined) return false;
  try {
    return Buffer.byteLength(JSON.stringify(codec)) > CODEC_BYTES_MAX;
  } catch {
    // Expected: nested deeper than can be written again.
    return true;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Expected: text that is no JSON.
    return null;
  }
}

function isRef(value: unknown): value is Ref {
  return typeof value === 'string' ? value.length <= 64 : Number.isSafeInteger(value);
}
