// The JSON messages of the protocol: what clients may send, and the texts the relay sends.
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { GpsFix } from '../gps/schemas.js';
import type { Account } from '../talk/store.js';
import type { Talkgroup } from './members.js';
import type { Talk, TalkEnd } from './talk.js';

/** Repeated in the answer, so that a client can have several questions under way. */
const Ref = Type.Union([
  Type.String({ maxLength: 64 }),
  Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
]);
export type Ref = Static<typeof Ref>;

const Ping = Type.Object({
  type: Type.Literal('PING'),
  t: Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  ref: Type.Optional(Ref),
});

const GpsUpdate = Type.Object({
  type: Type.Literal('GPS_UPDATE'),
  device_id: Type.Optional(Type.String()),
  ...GpsFix.properties,
  ref: Type.Optional(Ref),
});

export type ClientMessage = Static<typeof Ping> | Static<typeof GpsUpdate>;

const readers = { PING: Compile(Ping), GPS_UPDATE: Compile(GpsUpdate) } as const;

export type ErrorCode =
  | 'bad_message'
  | 'unknown_type'
  | 'unknown_talkgroup'
  | 'not_member'
  | 'too_many_talkgroups'
  | 'bad_frame'
  | 'rate_limited'
  | 'unknown_device'
  | 'unavailable';

const sentences: Readonly<Record<ErrorCode, string>> = {
  bad_message: 'the message is not valid',
  unknown_type: 'unknown message type',
  unknown_talkgroup: 'no such talkgroup',
  not_member: 'not a member of this talkgroup',
  too_many_talkgroups: 'talking in too many talkgroups at once',
  bad_frame: 'the frame is not valid',
  rate_limited: 'too many, slow down',
  unknown_device: 'no such device',
  unavailable: 'not possible right now, try again',
};

/** A readable message, or why not; `ref` is kept where one can be made out, so that the answer finds its question. */
export type Reading =
  | { readonly kind: 'message'; readonly message: ClientMessage }
  | { readonly kind: 'bad'; readonly code: 'bad_message' | 'unknown_type'; readonly ref: Ref | undefined };

/** Reads one text message; whatever the bytes, it never throws. */
export function readMessage(text: string): Reading {
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'bad', code: 'bad_message', ref: undefined };
  }
  const { type, ref } = value as { type?: unknown; ref?: unknown }; // a cast to what any object might have
  const known = isRef(ref) ? ref : undefined;
  if (typeof type !== 'string') return { kind: 'bad', code: 'bad_message', ref: known };
  if (!Object.hasOwn(readers, type)) return { kind: 'bad', code: 'unknown_type', ref: known };
  const reader = readers[type as keyof typeof readers];
  if (!reader.Check(value)) return { kind: 'bad', code: 'bad_message', ref: known };
  return { kind: 'message', message: value as ClientMessage };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Expected: text that is no JSON.
    return null;
  }
}

function isRef(value: unknown): value is Ref {
  return typeof value === 'string' ? value.length <= 64 : Number.isSafeInteger(value);
}

export interface Limits {
  readonly frameBytes: number;
  readonly framesPerSecond: number;
  readonly textBytes: number;
}

/** At most so many running bursts stand in a snapshot; `talkers_total` says how many there are. */
const TALKERS_MAX = 32;

/** What a client needs to take part in a talkgroup from here on; `online` counts sessions. */
export function snapshotOf(talkgroup: Talkgroup, online: number) {
  return {
    talkgroup_id: talkgroup.id,
    number: talkgroup.number,
    name: talkgroup.name,
    rotation_counter: talkgroup.rotationCounter,
    floor_mode: talkgroup.floorMode,
    max_talk_ms: talkgroup.maxTalkMs,
    event: talkgroup.event,
    talkers: [...talkgroup.talking].slice(0, TALKERS_MAX).map((talk) => ({
      ...talkBody(talk),
      frames: talk.frames,
      sequence: talk.sequence,
    })),
    talkers_total: talkgroup.talking.size,
    online,
  };
}
export type Snapshot = ReturnType<typeof snapshotOf>;

function talkBody(talk: Talk) {
  const { session, membership } = talk;
  return {
    talkgroup_id: membership.talkgroup.id,
    session: session.number,
    burst: talk.burst,
    user_id: membership.user.id,
    username: membership.user.username,
    priority: 1,
    emergency: false,
    started_at: new Date(talk.startedAt).toISOString(),
  };
}

/** The texts of the relay's messages; each function is one message of PROTOCOL.md. */
export const say = {
  welcome: (session: number, account: Account, limits: Limits, talkgroups: readonly Snapshot[]) =>
    JSON.stringify({
      type: 'WELCOME',
      protocol: 1,
      session,
      user_id: account.id,
      username: account.username,
      device_id: account.device_id,
      server_time: Date.now(),
      limits: {
        frame_bytes: limits.frameBytes,
        frames_per_second: limits.framesPerSecond,
        text_bytes: limits.textBytes,
      },
      talkgroups,
    }),
  pong: (t: number, ref: Ref | undefined) =>
    JSON.stringify({ type: 'PONG', ref, t, server_time: Date.now() }),
  ok: (ref: Ref) => JSON.stringify({ type: 'OK', ref }),
  error: (
    code: ErrorCode,
    about: { ref?: Ref | undefined; talkgroup_id?: string | undefined; number?: number },
  ) => JSON.stringify({ type: 'ERROR', ...about, code, message: sentences[code] }),
  goaway: (reconnectAfterMs: number) =>
    JSON.stringify({ type: 'GOAWAY', reconnect_after_ms: reconnectAfterMs }),
  subscribed: (talkgroups: readonly Snapshot[]) =>
    JSON.stringify({ type: 'SUBSCRIBED', talkgroups, refused: [] }),
  talkgroupJoined: (snapshot: Snapshot) => JSON.stringify({ type: 'TALKGROUP_JOINED', ...snapshot }),
  talkgroupLeft: (talkgroup: Talkgroup, reason: 'left' | 'deleted') =>
    JSON.stringify({ type: 'TALKGROUP_LEFT', talkgroup_id: talkgroup.id, reason }),
  talkStarted: (talk: Talk, event: number) =>
    JSON.stringify({ type: 'TALK_STARTED', event, ...talkBody(talk) }),
  talkEnded: (talk: Talk, event: number, code: TalkEnd, durationMs: number) =>
    JSON.stringify({
      type: 'TALK_ENDED',
      talkgroup_id: talk.membership.talkgroup.id,
      event,
      session: talk.session.number,
      burst: talk.burst,
      code,
      duration_ms: Math.round(durationMs),
      frames: talk.frames,
    }),
  keyRotated: (talkgroup: Talkgroup, event: number) =>
    JSON.stringify({
      type: 'KEY_ROTATED',
      talkgroup_id: talkgroup.id,
      event,
      rotation_counter: talkgroup.rotationCounter,
    }),
};
