// Declares what relays tell each other of a floor that they share, as schemas: a part, the verdicts on it, a question.

import { Codec, Id, Int, Priority, U32 } from '../../protocol/bodies.js';
import { denials, encryptions, ends, floorModes, revocations } from '../../protocol/codes.js';
import { TURN_COUNT_MAX } from '../../protocol/turn.js';
import { type Static, Type } from '../../typebox.js';

/** Claims in one part: 150 KiB. A relay tells those beyond it when earlier ones were answered. */
export const CLAIMS_MAX = 300;

/** Bytes of a codec as JSON, as for clients. What it has beside its known fields is passed on, as to clients of one relay. */
const CODEC_BYTES_MAX = 256;
export const Format = Type.Refine(Type.Object(Codec.properties, { additionalProperties: true }), (codec) => {
  try {
    return Buffer.byteLength(JSON.stringify(codec)) <= CODEC_BYTES_MAX;
  } catch {
    return false; // expected: nested deeper than can be written again
  }
});

export const TurnBody = Type.Object({
  count: Type.Integer({ minimum: 0, maximum: TURN_COUNT_MAX }),
  home: U32,
});

/** How the home placed a grant. */
export const PlacedBody = Type.Object({
  turn: TurnBody,
  after: TurnBody,
  afterCode: Type.Enum(ends),
});

/** Of a talkgroup's settings: the range of its column. A higher one could never be overtaken by a change. */
export const Revision = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
/** A talk limit (ms), 0: none. The most that a talkgroup may have. */
export const TalkMs = Type.Integer({ minimum: 0, maximum: 3_600_000 });

const FloorSettings = Type.Object({
  revision: Revision,
  mode: Type.Enum(floorModes),
  maxTalkMs: TalkMs,
  encryption: Type.Enum(encryptions),
  mayBeClear: Type.Boolean(),
});

/** ms. Clocks are read several times in one step, so an age may be a little below 0. */
const Age = Type.Union([Type.Number({ minimum: -10_000, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]);

export const ClaimBody = Type.Object({
  session: U32,
  /** Times that its session has moved to another relay. Left out: 0. */
  moves: Type.Optional(U32),
  /** Its session moves to another relay, which will tell this claim. */
  isMoving: Type.Optional(Type.Boolean()),
  user: Id,
  priority: Priority,
  isAdmin: Type.Boolean(),
  inEmergency: Type.Boolean(),
  state: Type.Enum(['asks', 'waits', 'has', 'talks']),
  ask: Int,
  isFirstFrame: Type.Boolean(),
  queue: Type.Boolean(),
  hasPlace: Type.Boolean(),
  turn: Type.Union([TurnBody, Type.Null()]),
  isAlone: Type.Boolean(),
  talkMsMax: TalkMs,
  askedMs: Age,
  grantedMs: Age,
  toldAgainMs: Age,
  startedMs: Age,
  lostMs: Age,
});

/** All that the sessions of the sender have of the floor of this talkgroup. */
export type PartBody = Static<typeof PartBody>;
export const PartBody = Type.Object({
  number: U32,
  settings: FloorSettings,
  v: Int,
  top: TurnBody,
  isFenced: Type.Boolean(),
  claims: Type.Array(ClaimBody, { maxItems: CLAIMS_MAX }),
});

const about = { session: U32, ask: Int };
const VerdictBody = Type.Union([
  Type.Object({
    ...about,
    is: Type.Literal('granted'),
    ...PlacedBody.properties,
    priority: Priority,
    inEmergency: Type.Boolean(),
    talkMsMax: TalkMs,
  }),
  Type.Object({ ...about, is: Type.Literal('queued'), position: Int, size: Int }),
  Type.Object({
    ...about,
    is: Type.Literal('denied'),
    code: Type.Enum(
      denials.filter((code) => code === 'busy' || code === 'queue_full' || code === 'forbidden'),
    ),
  }),
  Type.Object({ ...about, is: Type.Literal('revoked'), code: Type.Enum(revocations) }),
]);

/** What the sender, the home, decided about each claim of the part with this `v`. */
export type VerdictsBody = Static<typeof VerdictsBody>;
export const VerdictsBody = Type.Object({
  number: U32,
  settings: FloorSettings,
  v: Int,
  verdicts: Type.Array(VerdictBody, { maxItems: CLAIMS_MAX }),
});

/** The sender is the home, and asks for the part. */
export type WantBody = Static<typeof WantBody>;
export const WantBody = Type.Object({ number: U32, settings: FloorSettings });

export interface FloorBodies {
  readonly part: PartBody;
  readonly verdicts: VerdictsBody;
  readonly want: WantBody;
}
