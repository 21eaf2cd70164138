// Declares the JSON messages of both sides (docs/protocol.md, section 3). Additions of a newer server pass untyped.
import type {
  Codec,
  DenyCode,
  Emergency,
  EndCode,
  ErrorCode,
  Member,
  Mode,
  RevokeCode,
  Snapshot,
  Talker,
} from './bodies.js';

/** Identifies a request. The answer repeats it. */
export type Ref = string | number;

export type Welcome = {
  type: 'WELCOME';
  protocol: 1;
  session: number;
  user_id: string;
  username: string;
  device_id: string | null;
  /** Resumes this session once, within RESUME_MS (default 60 s) of its end. */
  resume_token: string;
  /** True if this is the requested session, with the same number, subscriptions, floors and queue places. */
  resumed: boolean;
  server_time: number;
  limits: {
    /** Of payload. */
    frame_bytes: number;
    /** Of one session in one talkgroup. */
    frames_per_second: number;
    /** Of all sockets of the user in one talkgroup: frames, and bytes of payload. */
    user_frames_per_second: number;
    user_bytes_per_second: number;
    /** Bursts at once of all sockets of the user in one talkgroup. */
    talks_per_user: number;
    /** Bursts at once in one talkgroup in the floor mode `open`. */
    talkers_max: number;
    text_bytes: number;
    backlog_ms: number;
  };
  /** Number of the user's talkgroups. Those that are not in this message follow in SUBSCRIBED. */
  talkgroups_total: number;
  talkgroups: Snapshot[];
};

export type Refusal = {
  type: 'ERROR';
  ref?: Ref;
  talkgroup_id?: string;
  /** The talkgroup's number instead of its id, for a frame to a talkgroup that the user is not a member of. */
  number?: number;
  code: ErrorCode;
  message: string;
};

export type TalkEnded = {
  type: 'TALK_ENDED';
  talkgroup_id: string;
  event: number;
  session: number;
  burst: number;
  code: EndCode;
  duration_ms: number;
  frames: number;
};

/** The answer to FLOOR_REQUEST or to the first frame of a burst. FLOOR_QUEUED is repeated when the position changes. */
export type FloorAnswer = { ref?: Ref; talkgroup_id: string } & (
  | { type: 'FLOOR_GRANTED'; burst: number; priority: number; max_talk_ms: number }
  | { type: 'FLOOR_DENIED'; code: DenyCode; talker?: Talker; retry_ms?: number }
  | { type: 'FLOOR_QUEUED'; position: number; size: number }
);

/**
 * Sessions that came and went in the last second. `isIncomplete`: there were more than the server names, so both lists
 * are empty. `members` returns all sessions.
 */
export type Presence = {
  talkgroup_id: string;
  joined: Member[];
  left: number[];
  online: number;
  isIncomplete: boolean;
};

/** The same on the wire. The server omits both lists if they are too long. */
export type PresenceBody = { talkgroup_id: string; joined?: Member[]; left?: number[]; online: number };

export type ServerMessage =
  | Welcome
  | Refusal
  | TalkEnded
  | FloorAnswer
  | ({ type: 'TALK_STARTED'; event: number } & Talker)
  | { type: 'FLOOR_REVOKED'; talkgroup_id: string; burst: number; code: RevokeCode }
  | { type: 'PONG'; ref?: Ref; t: number; server_time: number }
  | { type: 'OK'; ref: Ref; emergency_id?: string }
  | { type: 'GOAWAY'; reconnect_after_ms: number }
  | { type: 'LAG'; talkgroups: { talkgroup_id: string; missed: number }[]; since_ms: number }
  | { type: 'SUBSCRIBED'; ref?: Ref; more: boolean; refused: Refused[]; talkgroups: Snapshot[] }
  | ({ type: 'SYNCED'; ref?: Ref } & Snapshot)
  | ({ type: 'TALKGROUP_JOINED' } & Snapshot)
  | { type: 'TALKGROUP_LEFT'; talkgroup_id: string; reason: 'left' | 'deleted' }
  | ({ type: 'TALKGROUP_CHANGED' } & Pick<Snapshot, 'talkgroup_id' | 'name' | 'floor_mode' | 'max_talk_ms'>)
  | { type: 'KEY_ROTATED'; talkgroup_id: string; event: number; rotation_counter: number }
  | ({ type: 'EMERGENCY'; event: number } & Emergency)
  | ({ type: 'PRESENCE' } & PresenceBody)
  | ({ type: 'MEMBERS'; ref?: Ref } & MemberPage);

/** A talkgroup that the server rejected in SUBSCRIBE. */
export type Refused = { talkgroup_id: string; code: ErrorCode };

/** Some of a talkgroup's sessions, ordered by number. `next` is the `after` of the next page, null at the end. */
export type MemberPage = { talkgroup_id: string; online: number; members: Member[]; next: number | null };

/** The server's message of this type. */
export type MessageOf<Type extends ServerMessage['type']> = Extract<ServerMessage, { type: Type }>;

/** A position: `lat` -90 to 90 and `lng` -180 to 180 degrees, `alt` in metres. Default device: the user's linked one. */
export type Fix = { lat: number; lng: number; alt: number; device_id?: string };

/** A message of a radio, without `ref`. */
export type ClientMessage =
  | { type: 'PING'; t: number }
  | {
      type: 'SUBSCRIBE';
      talkgroup_ids: string[];
      mode?: Mode;
      presence?: boolean;
      coalesce_ms?: 10 | 20;
      bundle_ms?: 40 | 60;
    }
  | { type: 'UNSUBSCRIBE'; talkgroup_ids: string[] }
  | { type: 'SYNC'; talkgroup_id: string }
  | { type: 'FLOOR_REQUEST'; talkgroup_id: string; priority?: number; queue?: boolean; codec?: Codec }
  | { type: 'FLOOR_RELEASE'; talkgroup_id: string }
  | { type: 'EMERGENCY_RAISE'; talkgroup_id: string; lat?: number; lng?: number; alt?: number }
  | { type: 'EMERGENCY_ACK'; emergency_id: string }
  | { type: 'EMERGENCY_CLEAR'; emergency_id: string }
  | { type: 'MEMBERS'; talkgroup_id: string; after?: number; limit?: number }
  | ({ type: 'GPS_UPDATE' } & Fix);

/** Whether it had room for all talkgroups; else the others follow (docs/protocol.md, section 3, Snapshots in parts). */
export const isWhole = ({ talkgroups, talkgroups_total }: Welcome): boolean =>
  talkgroups.length >= talkgroups_total;

/** A text frame as a message, or null for what is no JSON object with a `type`. */
export function parseMessage(text: string): ServerMessage | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null; // SyntaxError: something in between spoke, not our server
  }
  if (typeof parsed !== 'object' || parsed === null || !('type' in parsed)) return null;
  // The fields are taken on trust: the server checks what it sends, and the client only follows it.
  return typeof parsed.type === 'string' ? (parsed as ServerMessage) : null;
}
