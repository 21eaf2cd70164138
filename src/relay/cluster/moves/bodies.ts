// Declares what relays tell each other of a session that moves, as schemas.

import { Crypto, Id, Int, Priority, Time, U32 } from '../../../protocol/bodies.js';
import { modes } from '../../../protocol/codes.js';
import { type Static, Type } from '../../../typebox.js';
import { ClaimBody, Format, PlacedBody } from '../floor-bodies.js';

/** A session by the hash of its token, base64url, and its user. The answer repeats `ask`. */
export type WantedSession = Static<typeof WantedSession>;
export const WantedSession = Type.Object({ ask: U32, key: Type.String({ maxLength: 64 }), user: Id });

/** Where the session is. `elsewhere`: this relay gave it to the one named. */
export type Found = Static<typeof Found>;
export const Found = Type.Union([
  Type.Object({ ask: U32, where: Type.Enum(['live', 'parked', 'none'] as const) }),
  Type.Object({ ask: U32, where: Type.Literal('elsewhere'), relay: U32 }),
]);

/** Talkgroups that a session on its way has subscriptions in. One with more stays where it is. */
export const MOVED_TALKGROUPS_MAX = 3000;
/** Bursts of a session on its way. A session talks in no more talkgroups at once. */
const MOVED_BURSTS_MAX = 8;
const Age = Type.Number({ minimum: 0 });

/** A session on its way to another relay. Ages are ms. */
export type MovedSession = Static<typeof MovedSession>;
const MovedSession = Type.Object({
  session: U32,
  /** Times that it has moved to another relay, with this one. */
  moves: U32,
  /** Number of its last burst. */
  bursts: U32,
  /** For how long (ms) it is still kept for its radio. */
  left_ms: Age,
  subscriptions: Type.Array(
    Type.Object({
      number: U32,
      mode: Type.Enum([...modes, 'none'] as const),
      presence: Type.Boolean(),
      /** Name of its hold. null: it hears live. */
      hold: Type.Union([Type.String({ maxLength: 8 }), Type.Null()]),
    }),
    { maxItems: MOVED_TALKGROUPS_MAX },
  ),
  /** What it has of floors in `single` and `broadcast`. */
  claims: Type.Array(
    Type.Object({
      number: U32,
      claim: ClaimBody,
      placed: Type.Union([PlacedBody, Type.Null()]),
      /** Its place in the queue. Left out: its talker was told of none. */
      place: Type.Optional(Type.Object({ position: Int, size: Int })),
      /** Of the grant. 0: its talker does not know of one. */
      burst: U32,
      has_asked: Type.Boolean(),
      codec: Type.Optional(Format),
      crypto: Type.Optional(Crypto),
    }),
    { maxItems: MOVED_BURSTS_MAX },
  ),
  /** Running bursts. */
  talks: Type.Array(
    Type.Object({
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
    }),
    { maxItems: MOVED_BURSTS_MAX },
  ),
  /** What it missed since its audio was paused. null: it was not. */
  behind: Type.Union([
    Type.Object({
      since_ms: Age,
      missed: Type.Array(Type.Object({ number: U32, frames: U32 }), { maxItems: MOVED_TALKGROUPS_MAX }),
    }),
    Type.Null(),
  ]),
  /** Emergencies that its user raised lately: their ages. */
  raises: Type.Array(Age, { maxItems: 16 }),
});

/** The session, from now on of the relay that asked. null: it is not here, or another relay has it. */
export type Taken = Static<typeof Taken>;
export const Taken = Type.Object({ ask: U32, moved: Type.Union([MovedSession, Type.Null()]) });
