// The radio client: connects, resumes, talks, listens, raises emergencies and reports positions. This is the entry of
// the package for browsers. `node.ts` is the one for Node, with the WebSocket that Node 20 lacks.

import { browserPrimitives } from './encryption/browser-primitives.js';
import { createKeyringWith, type Keyring, type KeyringOptions } from './encryption/keyring.js';

export type { FloorMode, Mode, Reach } from '../protocol/codes.js';
export type {
  Codec,
  DevicePosition,
  Emergency,
  Member,
  MemberPage,
  Refused,
  ServerMessage,
  Snapshot,
  Talker,
  Welcome,
} from '../protocol/types.js';
export { isOpus } from './audio/opus.js';
export { type Spoken, speak } from './audio/speak.js';
export type { Clock } from './clock.js';
export type { Close } from './connection/backoff.js';
export type { ConnectionState, RadioSocket } from './connection/connection.js';
export { type ClientMessage, type Fix, RadioError } from './connection/requests.js';
export type { EmergencyPosition } from './emergencies/emergencies.js';
export type { EmergencyCall } from './emergencies/raising.js';
export { fingerprintOf } from './encryption/fingerprint.js';
export {
  acceptHolder,
  createHolderKey,
  type Holder,
  type HolderKey,
  type Registered,
  registerHolder,
} from './encryption/holder.js';
export { type HolderDatabase, openHolderDatabase } from './encryption/holder-database.js';
export type { KeyStore, Memory, MissingEpoch } from './encryption/key-store.js';
export type { Keyring, KeyringOptions } from './encryption/keyring.js';
export type { LockKind, UnopenedReason } from './encryption/opening.js';
export type { HeardEnd, HeardFrame, Talkgroup } from './hearing/channel.js';
export type { Lag, Missed, Presence } from './hearing/hearing.js';
export type { SubscribeOptions } from './hearing/subscriptions.js';
export { createRadio } from './radio/creating.js';
export type { Radio, RadioEvents, RadioOptions } from './radio/described.js';
export type { RecalledFrame } from './recall/pages.js';
export { type PlayBackOptions, type PlayingBack, playBack, type TimedFrame } from './recall/play-back.js';
export type { Forgotten, Recall, RecalledBurst } from './recall/recall.js';
export { opusPackets } from './recordings/packets.js';
export { createRecordings, type Recordings, type RecordingsOptions } from './recordings/recordings.js';
export type {
  MissedRecordings,
  MissedTalkgroup,
  OpenedRecording,
  RecordedFrame,
  Recording,
  RecordingKeys,
  RecordingPage,
  RecordingQuery,
  UnopenedBecause,
} from './recordings/types.js';
export { createRest, type Rest, RestError } from './rest.js';
export type { SendOptions, Talk, TalkOptions, TalkOutcome, TalkState } from './talking/talk.js';
export type { Positions, Watched, WatchOptions } from './watching/watching.js';

/** Creates the keys of a radio in a browser. See KeyringOptions. */
export function createKeyring(options: KeyringOptions): Keyring {
  return createKeyringWith(browserPrimitives, options);
}
