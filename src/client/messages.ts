// The server's JSON messages as types (PROTOCOL.md, section 3); what a newer server adds passes through untyped.

/** Who talks: the body of TALK_STARTED. `(session, burst)` names the burst in the whole cluster. */
export type Talker = {
  talkgroup_id: string;
  event: number;
  session: number;
  burst: number;
  user_id: string;
  username: string;
  priority: number;
  emergency: boolean;
  codec?: { name: string; sample_rate: number; frame_ms: number };
  started_at: string;
};

/** What the server says of a talkgroup; `sequence` is the unwrapped last one relayed of that talker. */
export type Snapshot = {
  talkgroup_id: string;
  number: number;
  name: string;
  rotation_counter: number;
  floor_mode: 'open' | 'single' | 'broadcast';
  max_talk_ms: number;
  event: number;
  talkers: (Talker & { frames: number; sequence: number })[];
  talkers_total: number;
  online: number;
};

export type Welcome = {
  type: 'WELCOME';
  protocol: 1;
  session: number;
  user_id: string;
  username: string;
  device_id: string | null;
  resume_token?: string;
  resumed?: boolean;
  server_time: number;
  limits: { frame_bytes: number; frames_per_second: number; text_bytes: number; backlog_ms?: number };
  talkgroups: Snapshot[];
};

export type Refusal = {
  type: 'ERROR';
  ref?: string | number;
  talkgroup_id?: string;
  code: string;
  message: string;
  retry_ms?: number;
};

export type TalkEnded = {
  type: 'TALK_ENDED';
  talkgroup_id: string;
  event: number;
  session: number;
  burst: number;
  code: string;
  duration_ms: number;
  frames: number;
};

export type ServerMessage =
  | Welcome
  | Refusal
  | TalkEnded
  | ({ type: 'TALK_STARTED' } & Talker)
  | ({ type: 'TALKGROUP_JOINED' } & Snapshot)
  | { type: 'PONG'; ref?: string | number; t: number; server_time: number }
  | { type: 'OK'; ref: string | number }
  | { type: 'GOAWAY'; reconnect_after_ms: number }
  | { type: 'SUBSCRIBED'; ref?: string | number; talkgroups: Snapshot[] }
  | { type: 'TALKGROUP_LEFT'; talkgroup_id: string; reason: 'left' | 'deleted' }
  | ({ type: 'TALKGROUP_CHANGED' } & Pick<Snapshot, 'talkgroup_id' | 'name' | 'floor_mode' | 'max_talk_ms'>)
  | { type: 'KEY_ROTATED'; talkgroup_id: string; event: number; rotation_counter: number };

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
