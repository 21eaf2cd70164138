// The objects that the relay's messages carry (docs/protocol.md, section 3), as they stand on the wire.

/** How a talker's payloads are to be decoded; without one: Opus, 48 kHz, mono, 20 ms. */
export type Codec = { name: string; sample_rate: number; frame_ms: number };

/** `open`: everybody may talk at once; `single`: one at a time; `broadcast`: one at a time, of those who may. */
export type FloorMode = 'open' | 'single' | 'broadcast';

/** A running burst and its talker. `(session, burst)` names the burst in the whole cluster. */
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

/** Somebody's call for help; `lat` and `lng` in degrees and `alt` in metres, as far as they were given. */
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

/** What the server says of a talkgroup; `sequence` is the unwrapped last one relayed of that talker. */
export type Snapshot = {
  talkgroup_id: string;
  number: number;
  name: string;
  rotation_counter: number;
  floor_mode: FloorMode;
  /** 0: no limit. */
  max_talk_ms: number;
  /** Number of the last event; the next one's is one higher. */
  event: number;
  talkers: (Talker & { frames: number; sequence: number })[];
  /** More than there are `talkers` when more talk than a snapshot has room for. */
  talkers_total: number;
  /** The newest open ones, the newest first. */
  emergencies: Emergency[];
  /** Open ones when this was sent; more than there are `emergencies` when a snapshot has no room for all. */
  emergencies_total: number;
  /** Sessions subscribed in any mode. */
  online: number;
};

/** One session subscribed to a talkgroup. */
export type Member = { session: number; user_id: string; username: string; site: string };

/** What a subscription brings: `talk` everything and the right to talk, `listen` not that right, `events` no audio. */
export type Mode = 'talk' | 'listen' | 'events';

/** Why the server refuses a message, or a frame outside of floor control. */
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

/** Why the floor is not given. */
export type DenyCode = 'busy' | 'queue_full' | 'not_member' | 'listen_only' | 'forbidden' | 'retry_later';

/** Why the server took a grant or a burst back. */
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
