// Declares what messages between relays carry, as schemas. A body that does not fit is counted, and ignored.

import {
  Emergency,
  Id,
  Int,
  Member,
  PRESENCE_ENTRIES_MAX,
  Priority,
  RunningTalker,
  U32,
} from '../../protocol/bodies.js';
import { encryptions, ends, floorModes } from '../../protocol/codes.js';
import { Compile, type Static, type TSchema, Type } from '../../typebox.js';
import {
  Format,
  PartBody,
  PlacedBody,
  Revision,
  TalkMs,
  TurnBody,
  VerdictsBody,
  WantBody,
} from './floor-bodies.js';
import { keepKnownOf } from './known-fields.js';
import { Found, Taken, WantedSession } from './moves/bodies.js';

// Every text and every list has a bound, because what another relay says reaches clients.
/** UTF-16 units of a name or site: twice the characters that a name may have. */
const Name = Type.String({ maxLength: 256 });
const Session = Type.Object({ ...Member.properties, username: Name, site: Name });
/** Relays of which a beacon tells: four times as many as a cluster has. */
const HEARD_MAX = 256;
/** Keys of a relay: more than the two that it can have, for later versions. */
const KEYS_MAX = 16;
/** Talkgroups in one message. The shortest entry in a piece of PIECE_BYTES_MAX has 31 bytes. */
const TALKGROUPS_MAX = 10_000;
/** Bursts of a talkgroup in one answer. */
const BURSTS_MAX = 1000;
/** Members in one page: five times as many as a client may ask for. */
const MEMBERS_MAX = 1000;
/** Members that this relay tells in one page: as many as a client may ask for, 220 KiB with names of the greatest length. */
export const MEMBERS_TOLD_MAX = 200;

export type Beacon = Static<typeof Beacon>;
const Beacon = Type.Object({
  /** Whom the sender hears: id, the clock of the last beacon, and for how long (ms) that beacon has been there. */
  heard: Type.Array(Type.Tuple([U32, U32, U32]), { maxItems: HEARD_MAX }),
  /** true: it ends soon. */
  draining: Type.Optional(Type.Boolean()),
  /** The same for all relay threads of a node, which end together. Left out: the node has no other relay. */
  node: Type.Optional(U32),
  /** true: it wants the positions that others store. */
  watching: Type.Optional(Type.Boolean()),
  /** Tags of the keys whose tokens the sender accepts: during a rotation two. */
  keys: Type.Optional(Type.Array(U32, { maxItems: KEYS_MAX })),
  /** true: it enforces the encryption of talkgroups. */
  encrypts: Type.Boolean(),
});

/** Settings of a talkgroup, as the sender last learned them. */
export type Settings = Static<typeof Settings>;
const Settings = Type.Object({
  /** Grows with every change. */
  revision: Revision,
  floor_mode: Type.Enum(floorModes),
  max_talk_ms: TalkMs,
  encryption: Type.Optional(Type.Enum(encryptions)),
  clear_emergency: Type.Optional(Type.Boolean()),
});

export type Ended = Static<typeof Ended>;
const Ended = Type.Object({ session: U32, burst: U32, code: Type.Enum(ends), duration_ms: Int });

/** Bursts of one talkgroup that a relay keeps for others which may have lost their last messages. The oldest is forgotten. */
export const PAST_MAX = 64;
/** The same, said once more. */
export type Past = Static<typeof Past>;
const Past = Type.Object({
  ...Ended.properties,
  frames: U32,
  /** In `single` and `broadcast`. */
  turn: Type.Optional(TurnBody),
});

/** A burst that began, or that is running. */
export type Started = Static<typeof Started>;
const Started = Type.Object({
  ...RunningTalker.properties,
  username: Name,
  codec: Type.Optional(Format),
  settings: Type.Optional(Settings),
  /** The burst of the session before it, if that has ended lately. */
  previous: Type.Optional(Past),
  /** In `single` and `broadcast`. */
  placed: Type.Optional(PlacedBody),
  /** Times that its session has moved to another relay. Left out: 0. */
  moves: Type.Optional(U32),
  /** What it asked for the floor with: its rank follows. With `placed`, while its session has the floor. */
  claim: Type.Optional(Type.Object({ priority: Priority, isAdmin: Type.Boolean() })),
  /** Its first frames, so many, were not meant for other relays: it began without the word of a home. */
  alone: Type.Optional(U32),
});

/** `online` counts sessions of the sender. */
const counted = {
  online: U32,
  /** Grows each time that they are told to have come or left. */
  changes: U32,
  /** Whether one of them watches: it wants the names of those that come and leave. */
  watches: Type.Optional(Type.Boolean()),
  /** After a change, and in questions and answers. */
  settings: Type.Optional(Settings),
};

export type Count = Static<typeof Count>;
const Count = Type.Object(counted);

/** The same, with those that came and left since the message before it. Without them there were too many. */
export type Rostered = Static<typeof Rostered>;
const Rostered = Type.Object({
  ...counted,
  joined: Type.Optional(Type.Array(Session, { maxItems: PRESENCE_ENTRIES_MAX })),
  left: Type.Optional(Type.Array(U32, { maxItems: PRESENCE_ENTRIES_MAX })),
});

/** Emergencies in one message: 120 KiB with names of the greatest length. */
export const UNSAVED_MAX = 200;

/** An emergency whose last change its relay has not stored, and the users that made the changes. */
export type UnsavedEmergency = Static<typeof UnsavedEmergency>;
const UnsavedEmergency = Type.Object({
  ...Emergency.properties,
  username: Name,
  acknowledged_by: Type.Optional(Id),
  cleared_by: Type.Optional(Id),
  /** Of the user. Left out: none. */
  device_id: Type.Optional(Id),
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
const Hold = Type.Object({ talkgroups: Type.Array(Held, { maxItems: TALKGROUPS_MAX }) });

/** The answer: those with receivers here, with the running bursts of sessions here, and those without. */
export type Here = Static<typeof Here>;
const Here = Type.Object({
  talkgroups: Type.Array(
    Type.Object({
      ...Held.properties,
      bursts: Type.Array(Started, { maxItems: BURSTS_MAX }),
      /** false: more run than an answer has room for. */
      isWhole: Type.Boolean(),
      /** Bursts that went to another relay lately: they have not ended. */
      moved: Type.Optional(Type.Array(Type.Object({ session: U32, burst: U32 }), { maxItems: BURSTS_MAX })),
      unsaved: Emergencies,
      /** Bursts that have ended lately. */
      ended: Type.Array(Past, { maxItems: PAST_MAX }),
    }),
    { maxItems: TALKGROUPS_MAX },
  ),
  none: Type.Array(U32, { maxItems: TALKGROUPS_MAX }),
});

/** A page of members: of those that the receiver has, the first ones above `after`. */
export type MembersAsked = Static<typeof MembersAsked>;
const MembersAsked = Type.Object({ ask: U32, number: U32, after: U32, limit: U32 });

/** The answer, in the order of their sessions. `more`: there are others above them. */
export type MembersTold = Static<typeof MembersTold>;
const MembersTold = Type.Object({
  ask: U32,
  members: Type.Array(Session, { maxItems: MEMBERS_MAX }),
  more: Type.Boolean(),
});

const Num = Type.Number();
const NumberOrNull = Type.Union([Num, Type.Null()]);
/** Positions in one message: 90 KiB. */
export const FIXES_MAX = 500;

/** Positions that the sender has stored: device, lat, lng, alt, speed, course, accuracy, battery, Unix ms. */
export type Fixes = Static<typeof Fixes>;
const Fixes = Type.Object({
  fixes: Type.Array(
    Type.Tuple([Id, Num, Num, Num, NumberOrNull, NumberOrNull, NumberOrNull, NumberOrNull, Num]),
    { maxItems: FIXES_MAX },
  ),
});

/** How a body is checked, and what is done with fields that this version does not know. */
const readerOf = (schema: TSchema) => ({ validator: Compile(schema), keepKnown: keepKnownOf(schema) });

const readers = {
  beacon: readerOf(Beacon),
  started: readerOf(Started),
  ended: readerOf(Ended),
  count: readerOf(Count),
  emergencies: readerOf(Emergencies),
  roster: readerOf(Rostered),
  hold: readerOf(Hold),
  here: readerOf(Here),
  membersAsked: readerOf(MembersAsked),
  membersTold: readerOf(MembersTold),
  wanted: readerOf(WantedSession),
  found: readerOf(Found),
  taken: readerOf(Taken),
  part: readerOf(PartBody),
  verdicts: readerOf(VerdictsBody),
  want: readerOf(WantBody),
  fixes: readerOf(Fixes),
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
  readonly part: PartBody;
  readonly verdicts: VerdictsBody;
  readonly want: WantBody;
  readonly fixes: Fixes;
}

/**
 * The body of a message of this kind, without fields that this version does not know, or null: it is none. Any bytes are
 * read without a throw.
 */
export function readBody<Name extends keyof Bodies>(name: Name, bytes: Uint8Array): Bodies[Name] | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    return null; // expected: bytes that are no JSON
  }
  const { validator, keepKnown } = readers[name];
  if (!validator.Check(value)) return null;
  keepKnown(value);
  return value as Bodies[Name]; // as its validator has checked
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
