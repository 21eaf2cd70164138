// Declares what relays tell each other of a floor that they share, as schemas: a part, the verdicts on it, a question. All of
// it is state, so the next message mends a lost one.
import type { UserId } from '../../ids.js';
import { Id, Int, Priority, U32 } from '../../protocol/bodies.js';
import { denials, encryptions, ends, floorModes, revocations } from '../../protocol/codes.js';
import { TURN_COUNT_MAX } from '../../protocol/turn.js';
import { type Static, Type } from '../../typebox.js';

/** Claims in one part: 150 KiB. A relay tells those beyond it when earlier ones were answered. */
export const CLAIMS_MAX = 300;

export const TurnBody = Type.Object({
  count: Type.Integer({ minimum: 0, maximum: TURN_COUNT_MAX }),
  home: U32,
});

/** How the home placed a grant: its turn, and the last burst of which the home knew that it began before. */
export type Placed = Readonly<Static<typeof PlacedBody>>;
export const PlacedBody = Type.Object({
  turn: TurnBody,
  /** Of that burst. */
  after: TurnBody,
  /** How that one ended. */
  afterCode: Type.Enum(ends),
});

/** Of a talkgroup's settings: the range of its column. A higher one could never be overtaken by a change. */
export const Revision = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
/** A talk limit (ms), 0: none. The most that a talkgroup may have. */
export const TalkMs = Type.Integer({ minimum: 0, maximum: 3_600_000 });

/** The talkgroup's settings as a relay knows them. A relay that hears of a higher revision adopts it until it has read. */
export type Settings = Readonly<Static<typeof Settings>>;
const Settings = Type.Object({
  /** Grows with each change of the talkgroup. */
  revision: Revision,
  mode: Type.Enum(floorModes),
  /** T2. */
  maxTalkMs: TalkMs,
  encryption: Type.Enum(encryptions),
  mayBeClear: Type.Boolean(),
});

/** ms. Clocks are read several times in one step, so an age may be a little below 0. */
const Age = Type.Union([Type.Number({ minimum: -10_000, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()]);

/** A relay's word for the claim of one of its sessions. Times are ages (ms) in a message, and else monotonic ms. */
export type PartClaim = Readonly<Static<typeof ClaimBody>>;
export const ClaimBody = Type.Object({
  session: U32,
  /** Times that its session has moved to another relay. Of two claims of a session the one with more counts. Left out: 0. */
  moves: Type.Optional(U32),
  /** Its session moves to another relay. The claim is kept as that of a dead socket, until the other relay tells it. */
  isMoving: Type.Optional(Type.Boolean()),
  user: Type.Unsafe<UserId>(Id),
  priority: Priority,
  isAdmin: Type.Boolean(),
  inEmergency: Type.Boolean(),
  state: Type.Enum(['asks', 'waits', 'has', 'talks']),
  /** Number of the question that the claim began with, or that is under way. It never comes again in this relay. */
  ask: Int,
  /** `asks`: a first frame asks. */
  isFirstFrame: Type.Boolean(),
  /** `asks`: it is queued when it is not granted. */
  queue: Type.Boolean(),
  /** `asks`: it is queued, and asks again. */
  hasPlace: Type.Boolean(),
  /** `has`, `talks`: of the grant. null: it was granted in `open`, or without the word of a home. */
  turn: Type.Union([TurnBody, Type.Null()]),
  /** Its own relay granted it, because the home did not answer and its user is in an emergency. */
  isAlone: Type.Boolean(),
  talkMsMax: TalkMs,
  /** `asks`, `waits`: since its first request. */
  askedMs: Age,
  grantedMs: Age,
  toldAgainMs: Age,
  startedMs: Age,
  lostMs: Age,
});

/** All that the sessions of one relay have of the floor. To the home of the talkgroup. */
export type Part = Readonly<Omit<Static<typeof PartBody>, 'number' | 'claims'>> & {
  readonly claims: readonly PartClaim[];
};
export const PartBody = Type.Object({
  number: U32,
  settings: Settings,
  /** Grows with each change of the claims. An older part than the last one is ignored. */
  v: Int,
  /** The highest turn that plays, or ended, at this relay. */
  top: TurnBody,
  /** This relay drops frames of a burst that it holds for ended. */
  isFenced: Type.Boolean(),
  claims: Type.Array(ClaimBody, { maxItems: CLAIMS_MAX }),
});

const about = { session: U32, ask: Int };
/** What the home has decided about one claim of a part. */
export type PartVerdict = Readonly<Static<typeof VerdictBody>>;
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

/** Answers the part with this `v`: one verdict for each claim in it. */
export type PartVerdicts = Readonly<Omit<Static<typeof VerdictsBody>, 'number' | 'verdicts'>> & {
  readonly verdicts: readonly PartVerdict[];
};
export const VerdictsBody = Type.Object({
  number: U32,
  settings: Settings,
  v: Int,
  verdicts: Type.Array(VerdictBody, { maxItems: CLAIMS_MAX }),
});

/** The sender is the home, and asks for the part. */
export const WantBody = Type.Object({ number: U32, settings: Settings });

/** A claim on its way with its session. Its times are ages (ms). */
export type MovedClaim = Readonly<Static<typeof MovedClaim>>;
export const MovedClaim = Type.Object({
  claim: ClaimBody,
  /** null: it is queued. */
  placed: Type.Union([PlacedBody, Type.Null()]),
  /** Its place in the queue, as the home last told it. Left out: its talker was told of none. */
  place: Type.Optional(Type.Object({ position: Int, size: Int })),
});
