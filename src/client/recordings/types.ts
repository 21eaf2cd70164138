// Declares recordings as the service sends them and as they are opened.
import type { EndCode } from '../../protocol/codes.js';
import type { Frame } from '../../protocol/frame.js';
import type { Codec, Crypto } from '../../protocol/types.js';
import type { UnopenedReason } from '../encryption/opening.js';

/** One recorded burst, or a piece of a long one, as docs/rest-api.md describes it. Times are ISO 8601 in UTC. */
export type Recording = {
  recording_id: string;
  talkgroup_id: string;
  /** When it began. */
  talkgroup_name: string;
  session: number;
  burst: number;
  /** From 0. A burst that is longer than 10 minutes has several. */
  piece: number;
  /** null: erased, as the username. */
  user_id: string | null;
  /** When it began. */
  username: string | null;
  started_at: string;
  expires_at: string;
  /** null: it has no end so far, as `frames`, `missing` and `code`. */
  duration_ms: number | null;
  /** Frames that were relayed. */
  frames: number | null;
  stored_frames: number;
  /** Frames that were relayed and are not stored. */
  missing: number | null;
  /** Missing frames by reason, such as `memory_full` or `erased`. The reason of some may be unknown. */
  missing_because: Record<string, number>;
  /** Why it ended. */
  code: EndCode | 'continues' | 'switched_off' | 'unknown' | (string & {}) | null;
  priority: number;
  /** The talker had an open emergency. */
  emergency: boolean;
  codec?: Codec;
  /** The speech was encrypted, and is stored like that. */
  crypto?: Crypto;
  erased_at: string | null;
};

/** Which recordings to list. Times are Unix time (ms). */
export type RecordingQuery = {
  /** Those that began then or later. */
  since?: number;
  /** Those that began before. */
  until?: number;
  /** Of this talker. */
  userId?: string;
  /** Of the talker with this username, exactly as it was then. */
  talker?: string;
  /** true: only calls of users with an open emergency. */
  emergency?: boolean;
  /** Which come first. Default: the newest. */
  order?: 'newest' | 'oldest';
  /** Of a page, 1 to 200. Default: 100. */
  limit?: number;
  /** `next` of the page before. */
  after?: string;
};

/** `next`: the `after` of the next page, null at the end. */
export type RecordingPage = { recordings: Recording[]; next: string | null };

/** Recordings that the user did not hear, of the talkgroups that have some. `since`: from when on they were counted. */
export type MissedRecordings = { since: string; talkgroups: MissedTalkgroup[] };

/** Times are those of the first and of the last recording. */
export type MissedTalkgroup = {
  talkgroup_id: string;
  /** At most 20, which means 20 or more. */
  recordings: number;
  /** Of them in an open emergency of the talker. At most 20, also when they are behind the first 20 recordings. */
  emergencies: number;
  first_at: string;
  last_at: string;
};

/**
 * A frame of a recording, open. `sequence` is unwrapped. `atMs`: how long after the first frame it is due (ms). Pauses and
 * missing frames leave a gap. `sender` and `talkgroup` are the numbers of the session and of the talkgroup.
 */
export type RecordedFrame = Frame & { atMs: number };

/** Why a frame of a recording is not open. `encrypted`: it needs `keys`. */
export type UnopenedBecause = UnopenedReason | 'encrypted';

/** The speech of a recording. */
export type OpenedRecording = {
  readonly recording: Recording;
  /** The frames with speech that are open, in their order. The caller may keep them. */
  readonly frames: readonly RecordedFrame[];
  /** Frames that could not be opened, by reason. Empty: there are none. */
  readonly unopened: Readonly<Partial<Record<UnopenedBecause, number>>>;
  /** Length of the speech in a frame (ms). */
  readonly packetMs: number;
  /** Until the end of the last frame (ms), with the gaps. */
  readonly lengthMs: number;
};

/** Opens encrypted recordings. */
export type RecordingKeys = {
  /**
   * Gets the key of the recording. The function that it resolves with opens one frame: it returns the payload, or why there is
   * none. `frame` is as it was relayed. Without a key the function returns `no_key`. Rejects with RestError when the service
   * does not answer.
   */
  opener(recording: Recording): Promise<(frame: Frame) => Uint8Array | UnopenedBecause>;
};
