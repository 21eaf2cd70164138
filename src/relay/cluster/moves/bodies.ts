// Declares what relays tell each other of a session that moves, as schemas.

import { Id, U32 } from '../../../protocol/bodies.js';
import { type Static, Type } from '../../../typebox.js';
import { MovedTalk } from '../../floor/moved-burst.js';
import { MOVED_BURSTS_MAX, MovedState } from '../../session/moving.js';
import { MovedClaim } from '../../shared-floor/bodies.js';

/** ms. */
const Age = Type.Number({ minimum: 0 });

/** A session by the hash of its token, base64url, and its user. The answer repeats `ask`. */
export type WantedSession = Static<typeof WantedSession>;
export const WantedSession = Type.Object({ ask: U32, key: Type.String({ maxLength: 64 }), user: Id });

/** Where the session is. `live` and `parked`: here. `elsewhere`: this relay gave it to the one named. */
export type Found = Static<typeof Found>;
export const Found = Type.Union([
  Type.Object({ ask: U32, where: Type.Enum(['live', 'parked', 'none'] as const) }),
  Type.Object({ ask: U32, where: Type.Literal('elsewhere'), relay: U32 }),
]);

/** A session on its way to another relay. */
export type MovedSession = Static<typeof MovedSession>;
const MovedSession = Type.Object({
  ...MovedState.properties,
  /** For how long (ms) it is still kept for its radio. */
  left_ms: Age,
  /** What it has of floors in `single` and `broadcast`. */
  claims: Type.Array(Type.Object({ number: U32, ...MovedClaim.properties, ...MovedTalk.properties }), {
    maxItems: MOVED_BURSTS_MAX,
  }),
  /** Emergencies that its user raised lately: their ages. */
  raises: Type.Array(Age, { maxItems: 16 }),
});

/** The session, from now on of the relay that asked. null: it is not here, or another relay has it. */
export type Taken = Static<typeof Taken>;
export const Taken = Type.Object({ ask: U32, moved: Type.Union([MovedSession, Type.Null()]) });
