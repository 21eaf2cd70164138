// Declares what messages carry, as schemas (docs/protocol.md, section 3). A title is the name of the object there.
import { type Static, Type } from 'typebox';
import { emergencyStates, floorModes } from './codes.js';

/** A whole number that every JSON library reads exactly. */
export const Int = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
export const U32 = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });
/** A UUID, as the server writes it. */
export const Id = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
/** ISO 8601, UTC. */
export const Time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' });
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

/** Degrees in WGS 84 and metres above it; the lowest shore and the highest balloon are well inside. */
export type Position = Static<typeof Position>;
export const Position = Type.Object({
  lat: Type.Number({ minimum: -90, maximum: 90, description: axes.lat }),
  lng: Type.Number({ minimum: -180, maximum: 180, description: axes.lng }),
  alt: Type.Number({ minimum: -12_000, maximum: 100_000, description: axes.alt }),
});

/** How to decode a talker's payloads. Without one: Opus, 48 kHz, mono, 20 ms. */
export type Codec = Static<typeof Codec>;
export const Codec = Type.Object(
  {
    name: Type.String(),
    sample_rate: Type.Integer({ minimum: 1 }),
    frame_ms: Type.Number({ exclusiveMinimum: 0 }),
  },
  { title: 'codec' },
);

/** A running burst and its talker. The pair of `session` and `burst` is never used again. */
export type Talker = Static<typeof Talker>;
export const Talker = Type.Object(
  {
    talkgroup_id: Id,
    session: U32,
    burst: U32,
    user_id: Id,
    username: Type.String(),
    /** 0 to 7. */
    priority: Priority,
    emergency: Type.Boolean(),
    codec: Type.Optional(Codec),
    started_at: Time,
  },
  { title: 'talker' },
);

/** The same in a snapshot. `sequence` is that of the last relayed frame, unwrapped. */
export type RunningTalker = Static<typeof RunningTalker>;
export const RunningTalker = Type.Object(
  { ...Talker.properties, frames: Int, sequence: Int },
  { title: 'running talker' },
);

/** An emergency that a user raised. `lat` and `lng` in degrees and `alt` in metres, if the user gave them. */
export type Emergency = Static<typeof Emergency>;
export const Emergency = Type.Object(
  {
    emergency_id: Id,
    talkgroup_id: Id,
    user_id: Id,
    username: Type.String(),
    state: Type.Enum(emergencyStates),
    lat: Type.Optional(Type.Number()),
    lng: Type.Optional(Type.Number()),
    alt: Type.Optional(Type.Number()),
    raised_at: Time,
  },
  { title: 'emergency' },
);

/** The state of a talkgroup as the server sends it. */
export type Snapshot = Static<typeof Snapshot>;
export const Snapshot = Type.Object(
  {
    talkgroup_id: Id,
    /** Names the talkgroup in audio frames. */
    number: U32,
    name: Type.String(),
    rotation_counter: Int,
    floor_mode: Type.Enum(floorModes),
    /** 0: no limit. */
    max_talk_ms: Int,
    /** Number of the last event. The next one is one higher. */
    event: Int,
    talkers: Type.Array(RunningTalker, { maxItems: 32 }),
    /** Number of running bursts. Greater than the length of `talkers` if the snapshot has no room for all. */
    talkers_total: Int,
    /** The newest open emergencies, newest first. */
    emergencies: Type.Array(Emergency, { maxItems: 8 }),
    /** Number of open emergencies. Greater than the length of `emergencies` if the snapshot has no room for all. */
    emergencies_total: Int,
    /** Sessions subscribed in any mode. */
    online: Int,
  },
  { title: 'snapshot' },
);

/** One session subscribed to a talkgroup. */
export type Member = Static<typeof Member>;
export const Member = Type.Object(
  { session: U32, user_id: Id, username: Type.String(), site: Type.String() },
  { title: 'member' },
);

/** A talkgroup that the server rejected in SUBSCRIBE. */
export type Refused = Static<typeof Refused>;
export const Refused = Type.Object(
  { talkgroup_id: Type.String(), code: Type.Literal('not_member') },
  { title: 'rejected id' },
);

/** How many frames of one talkgroup the server skipped. */
export type MissedAudio = Static<typeof MissedAudio>;
export const MissedAudio = Type.Object({ talkgroup_id: Id, missed: Int }, { title: 'missed audio' });

/** The limits of a server, as WELCOME has them. */
export type Limits = Static<typeof Limits>;
export const Limits = Type.Object(
  {
    /** Of payload. */
    frame_bytes: Int,
    /** Of one session in one talkgroup. */
    frames_per_second: Int,
    /** Of all sockets of the user in one talkgroup: frames, and bytes of payload. */
    user_frames_per_second: Int,
    user_bytes_per_second: Int,
    /** Bursts at once of all sockets of the user in one talkgroup. */
    talks_per_user: Int,
    /** Bursts at once in one talkgroup in the floor mode `open`. */
    talkers_max: Int,
    text_bytes: Int,
    backlog_ms: Int,
  },
  { title: 'limits' },
);
