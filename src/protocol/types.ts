// Declares the types of messages, and of the objects in them, for the client. Its declaration files must not refer to
// TypeBox: an app may check the declarations of its packages, and those of TypeBox take several times as long as all others.
import type { Static, TSchema } from '../typebox.js';
import type * as schemas from './bodies.js';
import type { clientMessages } from './client-messages.js';
import type { serverMessages } from './server-messages.js';

/**
 * An object whose type is all that counts. In a declaration file the compiler writes a type alias as it stands here, with
 * its `Static`. It writes what a function returns in full.
 */
const typesOf = <Schemas extends object>() =>
  ({}) as { [Name in keyof Schemas]: Static<Schemas[Name] & TSchema> };

const bodies =
  typesOf<
    Pick<
      typeof schemas,
      | 'Codec'
      | 'Crypto'
      | 'DevicePosition'
      | 'Emergency'
      | 'Member'
      | 'PositionRow'
      | 'Ref'
      | 'Refused'
      | 'Snapshot'
      | 'Talker'
      | 'WatchedDevice'
    >
  >();
const fromClient = typesOf<typeof clientMessages>();
const fromServer = typesOf<typeof serverMessages>();

/** How to decode a talker's payloads. Without one: Opus, 48 kHz, mono, 20 ms. */
export type Codec = (typeof bodies)['Codec'];
/** How a talker's payloads are encrypted: suite, whole rotation counter, salt. */
export type Crypto = (typeof bodies)['Crypto'];
/** The latest position of one device. */
export type DevicePosition = (typeof bodies)['DevicePosition'];
/** A device in WATCHING. Without a stored position it has no coordinates. */
export type WatchedDevice = (typeof bodies)['WatchedDevice'];
/** `[n, lat, lng, age_ms, speed, course]`. */
export type PositionRow = (typeof bodies)['PositionRow'];
/** An emergency that a user raised. `lat` and `lng` in degrees and `alt` in metres, if the user gave them. */
export type Emergency = (typeof bodies)['Emergency'];
/** One session subscribed to a talkgroup. */
export type Member = (typeof bodies)['Member'];
/** Identifies a request. The answer repeats it. */
export type Ref = (typeof bodies)['Ref'];
/** A talkgroup that the server rejected in SUBSCRIBE. */
export type Refused = (typeof bodies)['Refused'];
/** The state of a talkgroup as the server sends it. Its fields: docs/protocol.md, section 3. */
export type Snapshot = (typeof bodies)['Snapshot'];
/** A running burst and its talker. The pair of `session` and `burst` is never used again. */
export type Talker = (typeof bodies)['Talker'];

/** The message of this type as a client may send it. */
export type ClientMessageOf<Type extends keyof typeof fromClient> = (typeof fromClient)[Type];
export type ClientMessage = (typeof fromClient)[keyof typeof fromClient];

/** The message of this type as the relay sends it. */
export type ServerMessageOf<Type extends keyof typeof fromServer> = (typeof fromServer)[Type];
export type ServerMessage = (typeof fromServer)[keyof typeof fromServer];
/** The first message of a session. `limits`: those of the server. `resumed`: it is the session of the resume token. */
export type Welcome = ServerMessageOf<'WELCOME'>;
export type TalkEnded = ServerMessageOf<'TALK_ENDED'>;
/** The answer to FLOOR_REQUEST or to the first frame of a burst. FLOOR_QUEUED is repeated when the position changes. */
export type FloorAnswer = ServerMessageOf<'FLOOR_GRANTED' | 'FLOOR_DENIED' | 'FLOOR_QUEUED'>;
/** Some of a talkgroup's sessions, ordered by number. `next` is the `after` of the next page, null at the end. */
export type MemberPage = Omit<ServerMessageOf<'MEMBERS'>, 'type' | 'ref'>;
