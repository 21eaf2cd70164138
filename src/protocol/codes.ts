// Declares the codes in messages, and other lists of values (docs/protocol.md, sections 3 and 6). Each list is a value. Its type follows from it.

/** By ERROR.code the text in ERROR.message. */
export const errors = {
  bad_message: 'the message is not valid',
  unknown_type: 'unknown message type',
  not_member: 'not a member of this talkgroup',
  listen_only: 'not subscribed to this talkgroup for talking',
  not_holder: 'neither holding the floor nor waiting for it',
  too_many_talkgroups: 'talking in too many talkgroups at once',
  bad_frame: 'the frame is not valid',
  rate_limited: 'too many, slow down',
  unknown_device: 'no such device',
  unknown_emergency: 'no such open emergency',
  forbidden: 'not allowed',
  unavailable: 'not possible right now, try again',
  encryption_required: 'this audio must be encrypted',
  encryption_off: 'encryption is off in this talkgroup',
  encryption_unannounced: 'announce encrypted audio with FLOOR_REQUEST first',
  stale_epoch: 'the key of this epoch is not in use',
  keys_forbidden: 'no permission to have the keys of this talkgroup',
} as const;
/** Why the server rejected a message, or a frame for a reason other than floor control. */
export type ErrorCode = keyof typeof errors;
/** Those that answer no JSON message. */
export const framesOnly = ['bad_frame', 'listen_only', 'encryption_unannounced'] as const;
/** The same for a JSON message. */
export type TextRefusal = Exclude<ErrorCode, (typeof framesOnly)[number]>;
/** The same for a frame. */
export type FrameRefusal = Extract<
  ErrorCode,
  'bad_frame' | 'not_member' | 'listen_only' | 'rate_limited' | 'too_many_talkgroups' | CryptoRefusal
>;
/** The same because of how the audio is encrypted, or is not. */
export type CryptoRefusal = Extract<
  ErrorCode,
  'encryption_required' | 'encryption_off' | 'encryption_unannounced' | 'stale_epoch' | 'keys_forbidden'
>;

export const denials = [
  'busy',
  'queue_full',
  'forbidden',
  'listen_only',
  'not_member',
  'retry_later',
] as const;
/** Why the server denied the floor. */
export type DenyCode = (typeof denials)[number];

export const revocations = [
  'silence',
  'too_long',
  'preempted',
  'rate_limited',
  'unused',
  'mode',
  'collision',
  'left',
  'deleted',
  'disabled',
] as const;
/** Why the server revoked a grant or a burst. */
export type RevokeCode = (typeof revocations)[number];

export const ends = [
  'released',
  'silence',
  'too_long',
  'preempted',
  'rate_limited',
  'mode',
  'collision',
  'left',
  'deleted',
  'disabled',
  'disconnected',
] as const;
/** Why a burst ended. */
export type EndCode = (typeof ends)[number];

export const floorModes = ['open', 'single', 'broadcast'] as const;
/**
 * `open`: several talkers at once. `single`: one at a time. `broadcast`: one at a time, for dispatchers, administrators and users with
 * an open emergency.
 */
export type FloorMode = (typeof floorModes)[number];

export const encryptions = ['off', 'allowed', 'required'] as const;
/** `off`: no encrypted audio. `allowed`: the talker chooses. `required`: clear audio is rejected. */
export type Encryption = (typeof encryptions)[number];

export const modes = ['talk', 'listen', 'events'] as const;
/** What a subscription includes. `talk`: audio, events and permission to talk. `listen`: audio and events. `events`: events. */
export type Mode = (typeof modes)[number];

/** Times (ms) between two POSITIONS with the same device. */
export const watchIntervals = [1000, 2000, 5000, 10_000] as const;
export type WatchInterval = (typeof watchIntervals)[number];

export const reaches = ['whole', 'partial', 'alone'] as const;
/** Which nodes hear this one. `partial`: one of them is missing, or there are too many. `alone`: no other node can be reached. */
export type Reach = (typeof reaches)[number];

export const emergencyStates = ['raised', 'acknowledged', 'cleared'] as const;
export type EmergencyState = (typeof emergencyStates)[number];
