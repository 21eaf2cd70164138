// Declares what messages between relays carry, as schemas. A body that does not fit is counted, and ignored.
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import {
  Codec,
  Emergency,
  Id,
  Int,
  Member,
  Priority,
  RunningTalker,
  Time,
  U32,
} from '../../protocol/bodies.js';
import { ends, floorModes, modes } from '../../protocol/codes.js';

/** Whom a relay hears: id, the clock of the last beacon, and for how long (ms) that beacon has been there. */
export type Beacon = Static<typeof Beacon>;
const Beacon = Type.Object({ heard: Type.Array(Type.Tuple([U32, U32, U32])) });

/** Settings of a talkgroup, as the sender last learned them. */
export type Settings = Static<typeof Settings>;
const Settings = Type.Object({
  /** Grows with every change. */
  revision: Int,
  floor_mode: Type.Enum(floorModes),
  max_talk_ms: Int,
});

/** A burst that began, or that is running. */
export type Started = Static<typeof Started>;
const Started = Type.Object({ ...RunningTalker.properties, settings: Type.Optional(Settings) });

export type Ended = Static<typeof Ended>;
const Ended = Type.Object({ session: U32, burst: U32, code: Type.Enum(ends), duration_ms: Int });

/** `online` counts sessions of the sender. */
const counted = {
  online: U32,
  /** Grows each time that they are told to have come or left. Not told by relays of earlier versions in every message. */
  changes: Type.Optional(U32),
  /** Whether one of them watches: it wants the names of those that come and leave. */
  watches: Type.Optional(Type.Boolean()),
  /** After a change, and in questions and answers. */
  settings: Type.Optional(Settings),
};

export type Count = Static<typeof Count>;
const Count = Type.Object({ ...counted, changes: U32 });

/** Sessions in one message, those that came and those that left: as in PRESENCE. */
const ROSTER_MAX = 32;

/** The same, with those that came and left since the message before it. Without them there were more than ROSTER_MAX. */
export type Rostered = Static<typeof Rostered>;
const Rostered = Type.Object({
  ...counted,
  changes: U32,
  joined: Type.Optional(Type.Array(Member, { maxItems: ROSTER_MAX })),
  left: Type.Optional(Type.Array(U32, { maxItems: ROSTER_MAX })),
});

/** Emergencies in one message: 120 KiB with names of the greatest length. */
export const UNSAVED_MAX = 200;

/** An emergency whose last change its relay has not stored, and the users that made the changes. */
export type UnsavedEmergency = Static<typeof UnsavedEmergency>;
const UnsavedEmergency = Type.Object({
  ...Emergency.properties,
  acknowledged_by: Type.Optional(Id),
  cleared_by: Type.Optional(Id),
});

/** What the sender has announced in a talkgroup and not stored. */
export type Emergencies = Static<typeof Emergencies>;
const Emergencies = Type.Object({
  emergencies: Type.Array(UnsavedEmergency, { maxItems: UNSAVED_MAX }),
  /** false: there are others. true: what was listed before and is not any more is stored. */
  isWhole: Type.Boolean(),
});

const Held = Type.Object({
  number: U32,
  /** Of the sender's last message about the talkgroup. */
  seq: U32,
  ...counted,
});

/** These talkgroups have receivers at the sender, which asks the same of the receiver. */
export type Hold = Static<typeof Hold>;
const Hold = Type.Object({ talkgroups: Type.Array(Held) });

/** The answer: those with receivers here, with the running bursts of sessions here, and those without. */
export type Here = Static<typeof Here>;
const Here = Type.Object({
  talkgroups: Type.Array(
    Type.Object({
      ...Held.properties,
      bursts: Type.Array(Started),
      /** false: more run than an answer has room for. */
      isWhole: Type.Boolean(),
      /** Not told by relays of earlier versions. */
      unsaved: Type.Optional(Emergencies),
    }),
  ),
  none: Type.Array(U32),
});

/** A page of members: of those that the receiver has, the first ones above `after`. */
export type MembersAsked = Static<typeof MembersAsked>;
const MembersAsked = Type.Object({ ask: U32, number: U32, after: U32, limit: U32 });

/** The answer, in the order of their sessions. `more`: there are others above them. */
export type MembersTold = Static<typeof MembersTold>;
const MembersTold = Type.Object({ ask: U32, members: Type.Array(Member), more: Type.Boolean() });

/** A session by the hash of its token, base64url, and its user. The answer repeats `ask`. */
export type WantedSession = Static<typeof WantedSession>;
const WantedSession = Type.Object({ ask: U32, key: Type.String({ maxLength: 64 }), user: Id });

/** Where the session is. `elsewhere`: this relay gave it to the one named. */
export type Found = Static<typeof Found>;
const Found = Type.Union([
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
  /** Running bursts in the floor mode `open`. */
  talks: Type.Array(
    Type.Object({
      number: U32,
      burst: U32,
      /** Frames relayed so far: the index of the last one. */
      frames: Int,
      sequence: Int,
      priority: Priority,
      codec: Type.Optional(Codec),
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

/** The session, from now on of the relay that asked. null: it is not here, or somebody else has it. */
export type Taken = Static<typeof Taken>;
const Taken = Type.Object({ ask: U32, moved: Type.Union([MovedSession, Type.Null()]) });

const validators = {
  beacon: Compile(Beacon),
  started: Compile(Started),
  ended: Compile(Ended),
  count: Compile(Count),
  emergencies: Compile(Emergencies),
  roster: Compile(Rostered),
  hold: Compile(Hold),
  here: Compile(Here),
  membersAsked: Compile(MembersAsked),
  membersTold: Compile(MembersTold),
  wanted: Compile(WantedSession),
  found: Compile(Found),
  taken: Compile(Taken),
};

interface Bodies {
  readonly beacon: Beacon;
  readonly started: Started;
  readonly ended: Ended;
  readonly count: Count;
  readonly emergencies: Emergencies;
  readonly roster: Rostered;
  readonly hold: Hold;
  readonly here: Here;
  readonly membersAsked: MembersAsked;
  readonly membersTold: MembersTold;
  readonly wanted: WantedSession;
  readonly found: Found;
  readonly taken: Taken;
}

/** The body of a message of this kind, or null: it is none. Any bytes are read without a throw. */
export function readBody<Name extends keyof Bodies>(name: Name, bytes: Uint8Array): Bodies[Name] | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    return null; // expected: bytes that are no JSON
  }
  return validators[name].Check(value) ? (value as Bodies[Name]) : null; // as its validator has checked
}

/** Bytes of JSON in one message: half of what the bus takes. */
const PIECE_BYTES_MAX = 256 * 1024;

/** Texts of JSON in as many messages as they need, each with at least one text. */
export function piecesOf(texts: Iterable<string>): string[][] {
  const pieces: string[][] = [];
  let last: string[] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    const more = Buffer.byteLength(text) + 1;
    if (bytes + more > PIECE_BYTES_MAX) {
      last = [];
      pieces.push(last);
      bytes = 0;
    }
    last.push(text);
    bytes += more;
  }
  return pieces;
}

/** The body of `hold`, or of `here`. */
export const bodyOfPiece = (piece: readonly string[], none?: readonly number[]): Uint8Array =>
  Buffer.from(`{"talkgroups":[${piece.join(',')}]${none ? `,"none":${JSON.stringify(none)}` : ''}}`);

export const bodyOf = (body: object): Uint8Array => Buffer.from(JSON.stringify(body));

export const NO_BODY = new Uint8Array(0);
