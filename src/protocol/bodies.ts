// Declares what messages carry, as schemas (docs/protocol.md, section 3). A title is the name of the type there, a
// description the meaning of the field.
import { type Static, Type } from '../typebox.js';
import { emergencyStates, encryptions, floorModes } from './codes.js';
import { described } from './described.js';
import { isTimeOfFix } from './fix.js';

/** A name or a site as another relay tells it. UTF-16 units: twice the characters that a name may have. */
export const RelayedName = Type.String({ maxLength: 256 });

/** A whole number that every JSON library reads exactly. */
export const Int = Type.Integer({
  title: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
});
export const U32 = Type.Integer({ title: 'u32', minimum: 0, maximum: 2 ** 32 - 1 });
/** A UUID, as the server writes it. */
export const Id = Type.String({ title: 'id', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
/** ISO 8601, UTC. */
export const Time = Type.String({
  title: 'time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});
export const Priority = Type.Integer({ minimum: 0, maximum: 7 });

/** Identifies a request. The answer repeats it. */
export type Ref = Static<typeof Ref>;
export const Ref = Type.Union([Type.String({ maxLength: 64 }), Int]);

/** What a position says, for descriptions. */
export const axes = {
  lat: 'Latitude in degrees, WGS 84.',
  lng: 'Longitude in degrees, WGS 84.',
  alt: 'Altitude in metres above the WGS 84 ellipsoid.',
} as const;

/** Degrees in WGS 84 and metres above it. The lowest shore and the highest balloon are well inside. */
export type Position = Static<typeof Position>;
export const Position = Type.Object({
  lat: Type.Number({ minimum: -90, maximum: 90, description: axes.lat }),
  lng: Type.Number({ minimum: -180, maximum: 180, description: axes.lng }),
  alt: Type.Number({ minimum: -12_000, maximum: 100_000, description: axes.alt }),
});

/** What a device may say beside where it is. Out of bounds it is no reason to lose the position (fix.ts). */
export const motion = {
  speed: Type.Optional(Type.Number({ description: 'Speed in m/s, 0 to 500. Left out when it is not.' })),
  course: Type.Optional(
    Type.Number({
      description: 'Course in degrees, clockwise from north, 0 to 360. Left out when it is not.',
    }),
  ),
  accuracy: Type.Optional(
    Type.Number({ description: 'Accuracy in metres, 0 to 100,000. Left out when it is not.' }),
  ),
  battery: Type.Optional(
    Type.Number({ description: 'Battery level in per cent, 0 to 100. Left out when it is not.' }),
  ),
};

/** When the device was there. A refinement reads the clock, so the same text may fit now and not a minute ago. */
export const FixTime = Type.Refine(
  Type.String({
    title: 'time',
    description:
      'When the device was there, in ISO 8601 with a zone. At most 7 days back. More than 60 s ahead counts as now. Default: now.',
  }),
  (text) => isTimeOfFix(text),
  () => 'must be a time in ISO 8601 with a zone, at most 7 days in the past',
);

/** Where a device was last, as messages tell it. */
const latest = {
  lat: described(Type.Number(), 'degrees, WGS 84'),
  lng: described(Type.Number(), 'degrees, WGS 84'),
  alt: described(Type.Number(), 'metres'),
  speed: described(Type.Optional(Type.Number()), 'm/s, if the device gave it'),
  course: described(Type.Optional(Type.Number()), 'degrees from north, if the device gave it'),
  accuracy: described(Type.Optional(Type.Number()), 'metres, if the device gave it'),
  battery: described(Type.Optional(Type.Number()), 'per cent, if the device gave it'),
  updated_at: described(Time, 'when the device was there'),
};

/** The latest position of one device. */
export type DevicePosition = Static<typeof DevicePosition>;
export const DevicePosition = Type.Object({ device_id: Id, ...latest }, { title: 'device position' });

/** A device in WATCHING. Without a stored position it has none of the last fields. */
export type WatchedDevice = Static<typeof WatchedDevice>;
export const WatchedDevice = Type.Object(
  {
    n: described(U32, 'stands for the device in POSITIONS on this connection'),
    device_id: Id,
    name: described(Type.String(), 'name of the device'),
    user_id: described(Type.Optional(Id), 'a user of the device, if it has one'),
    username: described(Type.Optional(Type.String()), 'name of that user'),
    lat: described(Type.Optional(Type.Number()), 'degrees, absent without a position'),
    lng: described(Type.Optional(Type.Number()), 'degrees, absent without a position'),
    alt: described(Type.Optional(Type.Number()), 'metres, absent without a position'),
    speed: latest.speed,
    course: latest.course,
    accuracy: latest.accuracy,
    battery: latest.battery,
    updated_at: described(Type.Optional(Time), 'when the device was there'),
  },
  { title: 'watched device' },
);

/** `[n, lat, lng, age_ms, speed, course]`. */
export type PositionRow = Static<typeof PositionRow>;
const NumberOrNull = Type.Union([Type.Number(), Type.Null()]);
export const PositionRow = Type.Tuple([U32, Type.Number(), Type.Number(), Int, NumberOrNull, NumberOrNull], {
  title: 'position row',
});

/** How to decode a talker's payloads. Without one: Opus, 48 kHz, mono, 20 ms. */
export type Codec = Static<typeof Codec>;
export const Codec = Type.Object(
  {
    name: described(Type.String(), 'passed on unchanged to every listener'),
    sample_rate: described(Type.Integer({ minimum: 1 }), 'in Hz'),
    frame_ms: described(Type.Number({ exclusiveMinimum: 0 }), 'duration of one payload in ms'),
  },
  { title: 'codec' },
);

/** How a talker's payloads are encrypted, from this request on. */
export type Crypto = Static<typeof Crypto>;
export const Crypto = Type.Object(
  {
    suite: described(Type.Integer({ minimum: 0, maximum: 65_535 }), 'SFrame cipher suite (RFC 9605)'),
    epoch: described(U32, 'rotation counter of the key, not reduced'),
    salt: described(
      // 16 bytes in base64url: the last character has 2 bits of them.
      Type.String({ pattern: '^[A-Za-z0-9_-]{21}[AQgw]$' }),
      '16 random bytes in base64url: 22 characters, the last 4 bits are 0',
    ),
  },
  { title: 'crypto' },
);

/** A running burst and its talker. The pair of `session` and `burst` is never used again. */
export type Talker = Static<typeof Talker>;
export const Talker = Type.Object(
  {
    talkgroup_id: Id,
    session: described(U32, 'session of the talker, `sender` in its frames'),
    burst: described(U32, 'number of the burst'),
    user_id: Id,
    username: Type.String(),
    priority: described(Priority, 'effective priority'),
    emergency: described(Type.Boolean(), 'true: the user has an open emergency there'),
    codec: described(Type.Optional(Codec), 'when the talker gave one, else Opus as in section 2'),
    crypto: described(Type.Optional(Crypto), 'when the burst is encrypted and was announced so'),
    started_at: described(Time, 'time of the first frame'),
  },
  { title: 'talker' },
);

/** The same in a snapshot. `sequence` is that of the last relayed frame, unwrapped. */
export type RunningTalker = Static<typeof RunningTalker>;
export const RunningTalker = Type.Object(
  {
    ...Talker.properties,
    frames: described(Int, 'frames relayed so far'),
    sequence: described(Int, 'sequence of the last frame, not reduced modulo 65,536'),
  },
  { title: 'running talker' },
);

/** An emergency that a user raised. `lat` and `lng` in degrees and `alt` in metres, if the user gave them. */
export type Emergency = Static<typeof Emergency>;
export const Emergency = Type.Object(
  {
    emergency_id: Id,
    talkgroup_id: Id,
    user_id: described(Id, 'user that raised it'),
    username: Type.String(),
    state: Type.Enum(emergencyStates),
    lat: described(Type.Optional(Type.Number()), 'when EMERGENCY_RAISE had it'),
    lng: described(Type.Optional(Type.Number()), 'when EMERGENCY_RAISE had it'),
    alt: described(Type.Optional(Type.Number()), 'when EMERGENCY_RAISE had it'),
    raised_at: Time,
    position: described(
      Type.Optional(DevicePosition),
      'only in snapshots: where the device of the user was last',
    ),
  },
  { title: 'emergency' },
);

/** The state of a talkgroup as the server sends it. */
export type Snapshot = Static<typeof Snapshot>;
export const Snapshot = Type.Object(
  {
    talkgroup_id: Id,
    number: described(U32, 'names the talkgroup in audio frames'),
    name: Type.String(),
    rotation_counter: described(Int, 'number of key rotations'),
    floor_mode: described(Type.Enum(floorModes), 'see Talking'),
    max_talk_ms: described(Int, 'talk limit T2 of `single` and `broadcast`, 0: none'),
    encryption: described(Type.Enum(encryptions), 'see Keys'),
    clear_emergency: described(Type.Boolean(), 'in `required`: an emergency may be talked in the clear'),
    recording_days: described(Int, 'days for which its speech is kept, 0: it is not recorded'),
    talk_counter: described(Int, 'rotation counter of the key to talk with now'),
    use_in_ms: described(Int, 'time until `rotation_counter` is the one to talk with'),
    may_have_keys: described(Type.Boolean(), 'in `required`: whether the user gets keys and audio'),
    event: described(Int, "number of the talkgroup's last event"),
    talkers: described(
      Type.Array(RunningTalker, { maxItems: 32 }),
      'running bursts, oldest first, at most 22 KiB',
    ),
    /** Greater than the length of `talkers` if the snapshot has no room for all. */
    talkers_total: described(Int, 'number of running bursts'),
    emergencies: described(Type.Array(Emergency, { maxItems: 8 }), 'newest open ones, newest first'),
    /** Greater than the length of `emergencies` if the snapshot has no room for all. */
    emergencies_total: described(Int, 'number of open emergencies'),
    online: described(Int, 'subscribed sessions in any mode, including this one'),
  },
  { title: 'snapshot' },
);

/** Sessions that PRESENCE names, those that came and those that left together. With more it names none. */
export const PRESENCE_ENTRIES_MAX = 32;

/** One session subscribed to a talkgroup. */
export type Member = Static<typeof Member>;
export const Member = Type.Object(
  {
    session: U32,
    user_id: Id,
    username: Type.String(),
    site: described(Type.String(), 'site of the membership'),
  },
  { title: 'member' },
);

/** A talkgroup that the server rejected in SUBSCRIBE. */
export type Refused = Static<typeof Refused>;
export const Refused = Type.Object(
  { talkgroup_id: described(Type.String(), 'as in SUBSCRIBE'), code: Type.Literal('not_member') },
  { title: 'rejected id' },
);

/** How many frames of one talkgroup the server skipped. */
export type MissedAudio = Static<typeof MissedAudio>;
export const MissedAudio = Type.Object(
  { talkgroup_id: Id, missed: described(Int, 'skipped frames') },
  { title: 'missed audio' },
);

/** The limits of a server, as WELCOME has them. */
export type Limits = Static<typeof Limits>;
export const Limits = Type.Object(
  {
    /** Of payload. */
    frame_bytes: described(Int, '`FRAME_BYTES` (section 6)'),
    /** Of one session in one talkgroup. */
    frames_per_second: described(Int, '`FRAMES_PER_SECOND`'),
    /** Of all sockets of the user in one talkgroup: frames, and bytes of payload. */
    user_frames_per_second: described(Int, 'twice `FRAMES_PER_SECOND`'),
    user_bytes_per_second: described(Int, '`USER_BYTES_PER_SECOND`'),
    /** Bursts at once of all sockets of the user in one talkgroup. */
    talks_per_user: described(Int, '`TALKS_PER_USER`'),
    /** Bursts at once in one talkgroup in the floor mode `open`. */
    talkers_max: described(Int, '`TALKERS_MAX`'),
    text_bytes: described(Int, '`TEXT_BYTES`'),
    backlog_ms: described(Int, '`BACKLOG_MS`'),
  },
  { title: 'limits' },
);
