// Declares the objects in the relay's messages (docs/protocol.md, section 3).

/** How to decode a talker's payloads. Without one: Opus, 48 kHz, mono, 20 ms. */
export type Codec = { name: string; sample_rate: number; frame_ms: number };

/**
 * `open`: several talkers at once. `single`: one at a time. `broadcast`: one at a time, for administrators and users with
 * an open emergency.
 */
export type FloorMode = 'open' | 'single' | 'broadcast';

/** A running burst and its talker. The pair of `session` and `burst` is never used again. */
export type Talker = {
  talkgroup_id: string;
  session: number;
  burst: number;
  user_id: string;
  username: string;
  /** 0 to 7. */
  priority: number;
  emergency: boolean;
  codec?: Codec;
  started_at: string;
};

/** An emergency that a user raised. `lat` and `lng` in degrees and `alt` in metres, if the user gave them. */
export type Emergency = {
  emergency_id: string;
  talkgroup_id: string;
  user_id: string;
  username: string;
  state: 'raised' | 'acknowledged' | 'cleared';
  lat?: number;
  lng?: number;
  alt?: number;
  raised_at: string;
};

/** The state of a talkgroup as the server sends it. A talker's `sequence` is that of the last relayed frame, unwrapped. */
export type Snapshot = {
  talkgroup_id: string;
  number: number;
  name: string;
  rotation_counter: number;
  floor_mode: FloorMode;
  /** 0: no limit. */
  max_talk_ms: number;
  /** Number of the last event. The next one is one higher. */
  event: number;
  talkers: (Talker & { frames: number; sequence: number })[];
  /** Number of running bursts. Greater than the length of `talkers` if the snapshot has no room for all. */
  talkers_total: number;
  /** The newest open emergencies, newest first. */
  emergencies: Emergency[];
  /** Number of open emergencies. Greater than the length of `emergencies` if the snapshot has no room for all. */
  emergencies_total: number;
  /** Sessions subscribed in any mode. */
  online: number;
};

/** One session subscribed to a talkgroup. */
export type Member = { session: number; user_id: string; username: string; site: string };

/** What a subscription includes. `talk`: audio, events and permission to talk. `listen`: audio and events. `events`: events. */
export type Mode = 'talk' | 'listen' | 'events';

/** Why the server rejected a message, or a frame for a reason other than floor control. */
export type ErrorCode =
  | 'bad_message'
  | 'unknown_type'
  | 'not_member'
  | 'listen_only'
  | 'not_holder'
  | 'too_many_talkgroups'
  | 'bad_frame'
  | 'rate_limited'
  | 'unknown_device'
  | 'unknown_emergency'
  | 'forbidden'
  | 'unavailable';

/** Why the server denied the floor. */
export type DenyCode = 'busy' | 'queue_full' | 'not_member' | 'listen_only' | 'forbidden' | 'retry_later';

/** Why the server revoked a grant or a burst. */
export type RevokeCode =
  | 'preempted'
  | 'too_long'
  | 'unused'
  | 'silence'
  | 'rate_limited'
  | 'mode'
  | 'disabled'
  | 'left'
  | 'deleted';

/** Why a burst ended. */
export type EndCode = Exclude<RevokeCode, 'unused'> | 'released' | 'disconnected';
