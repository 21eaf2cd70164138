// Declares what messages between relays carry, as schemas. A body that does not fit is counted, and ignored.

import {
  Id,
  Int,
  Member,
  PRESENCE_ENTRIES_MAX,
  Priority,
  RelayedName,
  RunningTalker,
  U32,
} from '../../protocol/bodies.js';
import { encryptions, ends, floorModes } from '../../protocol/codes.js';
import { type Static, Type } from '../../typebox.js';
import { UnsavedEmergency } from '../emergencies/messages.js';
import { Format } from '../floor/moved-burst.js';
import { bodyReader } from '../nodes/body.js';
import {
  PartBody,
  PlacedBody,
  Revision,
  TalkMs,
  TurnBody,
  VerdictsBody,
  WantBody,
} from '../shared-floor/bodies.js';
import { Found, Taken, WantedSession } from './moves/bodies.js';

// Every text and every list has a bound, because what another relay says reaches clients.
const Session = Type.Object({ ...Member.properties, username: RelayedName, site: RelayedName });
/** Talkgroups in one message. The shortest entry in a piece of PIECE_BYTES_MAX has 31 bytes. */
const TALKGROUPS_MAX = 10_000;
/** Bursts of a talkgroup in one answer. */
const BURSTS_MAX = 1000;
/** Members in one page: five times as many as a client may ask for. */
const MEMBERS_MAX = 1000;
/** Members that this relay tells in one page: as many as a client may ask for, 220 KiB with names of the greatest length. */
export const MEMBERS_TOLD_MAX = 200;

/** Settings of a talkgroup, as the sender last learned them. */
export type Settings = Static<typeof Settings>;
const Settings = Type.Object({
  /** Grows with every change. */
  revision: Revision,
  floor_mode: Type.Enum(floorModes),
  max_talk_ms: TalkMs,
  encryption: Type.Optional(Type.Enum(encryptions)),
  clear_emergency: Type.Optional(Type.Boolean()),
  recording_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 3650 })),
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
  username: RelayedName,
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

const readers = {
  started: bodyReader(Started),
  ended: bodyReader(Ended),
  count: bodyReader(Count),
  emergencies: bodyReader(Emergencies),
  roster: bodyReader(Rostered),
  hold: bodyReader(Hold),
  here: bodyReader(Here),
  membersAsked: bodyReader(MembersAsked),
  membersTold: bodyReader(MembersTold),
  wanted: bodyReader(WantedSession),
  found: bodyReader(Found),
  taken: bodyReader(Taken),
  part: bodyReader(PartBody),
  verdicts: bodyReader(VerdictsBody),
  want: bodyReader(WantBody),
  fixes: bodyReader(Fixes),
};

type Bodies = { readonly [Name in keyof typeof readers]: NonNullable<ReturnType<(typeof readers)[Name]>> };

/** The body of a message of this kind, or null: it is none. */
export const readBody = <Name extends keyof Bodies>(name: Name, bytes: Uint8Array): Bodies[Name] | null =>
  readers[name](bytes) as Bodies[Name] | null; // a reader of this name

/** The body of `hold`, or of `here`. */
export const bodyOfPiece = (piece: readonly string[], none?: readonly number[]): Uint8Array =>
  Buffer.from(`{"talkgroups":[${piece.join(',')}]${none ? `,"none":${JSON.stringify(none)}` : ''}}`);
