// Declares what of a talk moves to another relay with its session, as schemas.
import { Codec, Crypto, Int, Priority, Time, U32 } from '../../protocol/bodies.js';
import { type Static, Type } from '../../typebox.js';

/** Bytes of a codec as JSON, as for clients. What it has beside its known fields is passed on, as to clients of one relay. */
const CODEC_BYTES_MAX = 256;
export const Format = Type.Refine(Type.Object(Codec.properties, { additionalProperties: true }), (codec) => {
  try {
    return Buffer.byteLength(JSON.stringify(codec)) <= CODEC_BYTES_MAX;
  } catch {
    return false; // expected: nested deeper than can be written again
  }
});

/** ms. */
const Age = Type.Number({ minimum: 0 });

/** A running burst on its way. */
export type MovedBurst = Static<typeof MovedBurst>;
export const MovedBurst = Type.Object({
  /** Of the talkgroup. */
  number: U32,
  burst: U32,
  /** Frames relayed so far: the index of the last one. */
  frames: Int,
  sequence: Int,
  priority: Priority,
  codec: Type.Optional(Format),
  crypto: Type.Optional(Crypto),
  started_at: Time,
  age_ms: Age,
  /** Since its last frame. */
  silent_ms: Age,
  /** Its session came back before, and has sent no frame since. */
  has_returned: Type.Boolean(),
  /** Left out: the burst is not recorded, or its relay is of an earlier version. */
  recording: Type.Optional(
    Type.Object({
      days: Type.Integer({ minimum: 0, maximum: 3650 }),
      piece: Type.Integer({ minimum: 0, maximum: 1023 }),
      from: Int,
      at: Int,
    }),
  ),
});

/** What a talk in `single` or `broadcast` has, beside what the floor knows of it. */
export type MovedTalk = Static<typeof MovedTalk>;
export const MovedTalk = Type.Object({
  /** Of the grant. 0: the talker does not know of one. */
  burst: U32,
  has_asked: Type.Boolean(),
  codec: Type.Optional(Format),
  crypto: Type.Optional(Crypto),
});
