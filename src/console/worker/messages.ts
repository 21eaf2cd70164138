// Declares what the page and the worker tell each other.
import type {
  ClientMessage,
  Close,
  ConnectionState,
  Emergency,
  FloorMode,
  LockKind,
  RadioError,
  Reach,
  ServerMessage,
  UnopenedReason,
} from '../../client/radio.js';
import type { DenyCode, Encryption, EndCode, ErrorCode, RevokeCode } from '../../protocol/codes.js';

/** The port of the browser, and in the tests that of Node. */
type MessagePort = InstanceType<typeof globalThis.MessagePort>;

/** From the page. Ports are transferred. `id` names a request in its answer. */
export type Command =
  | { kind: 'start'; url: string; rest: string; token: string; userId: string; jitterMs: number }
  /** Sound of a talkgroup goes to this port from now on. */
  | { kind: 'voice'; talkgroupId: string; port: MessagePort }
  | { kind: 'no_voice'; talkgroupId: string }
  /** `port` null: there is no microphone any more. */
  | { kind: 'microphone'; port: MessagePort | null }
  /** The talk button of a talkgroup is held from now on. */
  | { kind: 'talk'; talkgroupId: string }
  | { kind: 'release'; talkgroupId: string }
  /** Answered when the relay has announced the emergency. Repeated until then. */
  | { kind: 'raise'; id: number; talkgroupId: string }
  | { kind: 'request'; id: number; message: ClientMessage }
  /** Whether the user wants to encrypt in this talkgroup, where it is not required. */
  | { kind: 'encrypt'; talkgroupId: string; isOn: boolean }
  /** The user knows that the talkgroup does not require encryption any more. */
  | { kind: 'confirm_clear'; talkgroupId: string }
  /** Makes this browser a key holder of the account. Answered with `registered`. */
  | { kind: 'register'; id: number; password: string; name: string }
  /** Accepts another key holder of the account. Answered with `accepted`. */
  | { kind: 'accept'; id: number; holderId: string; password: string }
  /** The service does not know the key holder of this browser any more. */
  | { kind: 'forget_holder' }
  /**
   * Plays a call again, in place of another one. `callId` null: ends that. With `frames` it is a recording, of which the page
   * has the speech. Its `callId` is negative.
   */
  | { kind: 'replay'; callId: number | null; frames?: readonly ReplayFrame[] }
  /** Of a recording that is played. */
  | { kind: 'pause_replay'; isPaused: boolean }
  | { kind: 'reconnect' };

/** From the worker. */
export type Event =
  | ({ kind: 'changes' } & Changes)
  | { kind: 'answer'; id: number; message: ServerMessage }
  | { kind: 'answer'; id: number; error: { code: RadioError['code']; message: string } }
  | { kind: 'registered'; id: number; registration: Registration }
  | { kind: 'accepted'; id: number; rejection: Rejection | null }
  /** One of the messages in `PASSED`, as the relay sent it. */
  | { kind: 'message'; message: ServerMessage }
  /**
   * The call that is played again now, and calls that were forgotten since the last such event. `isPaused`: of a recording,
   * because the user wanted it, or talked, or a new emergency came.
   */
  | { kind: 'replay'; playing: number | null; forgotten: readonly number[]; isPaused?: true }
  /** A part of the worker cannot be started, or is not there yet. null: what was not there yet has come. */
  | { kind: 'failed'; part: FailedPart | null };

/** `codec`: it is not loaded yet, and the worker keeps trying. The others stay as they are until the page is loaded again. */
export type FailedPart = 'radio' | 'voices' | 'microphone' | 'codec';

/** What changed since the last such event, at most once in 16 ms. The last state of each thing, in no order. */
export type Changes = {
  connection?: ConnectionView;
  keys?: KeysView;
  talkgroups: TalkgroupView[];
  /** Ids of talkgroups that are no longer received. */
  left: string[];
  emergencies: Emergency[];
  talks: TalkView[];
  /** Bursts that have ended, the last one at the end. Of more than 10, the last 10. */
  recent: RecentBurst[];
};

export type ConnectionView = {
  state: ConnectionState;
  /** How the last connection ended. null: none has ended. */
  close: Close | null;
  /** Unix time (ms) of this computer. null: no attempt is due. */
  retryAtMs: number | null;
  /** Whether the present connection continues an earlier session. null: it is the first one. */
  resumed: boolean | null;
  /** GOAWAY came. */
  isDraining: boolean;
  reach: Reach;
  /** Unix time of the server minus that of this computer (ms). */
  clockOffsetMs: number;
  /** Until when this console has heard everything (Unix time of the server, ms). null: it has heard nothing yet. */
  heardUntilMs?: number | null;
  /** Counts the connections that were open, so that two in one batch of changes are told apart. */
  opened: number;
};

/** `isAccepted` false: the holder waits. `status` 0: the service was not reached, or the browser keeps nothing. */
export type Registration = { isAccepted: boolean } | Rejection;

/** Of a request to the REST API. Status 0: it was not sent, or not answered. */
export type Rejection = { error: string; status: number; retryAfterS?: number };

/**
 * The key holder of this browser. `none`: there is none, and no talkgroup needs it. `needed`: one does. `impossible`: the
 * browser cannot keep a key. `fingerprint`: 60 digits in groups of 5.
 */
export type KeysView = {
  state: 'none' | 'needed' | 'registered' | 'impossible';
  holderId: string | null;
  fingerprint: string | null;
};

export type TalkerView = {
  session: number;
  burst: number;
  username: string;
  /** Unix time (ms) of this computer. */
  startedAtMs: number;
  emergency: boolean;
  /** This console talks. */
  isOwn: boolean;
  /** How the burst is protected. null: nothing is known yet. */
  lock: LockKind | null;
  /** Why frames of the burst could not be opened. `codec`: they are not Opus. null: all could. */
  unopened: UnopenedReason | 'codec' | null;
};

export type TalkgroupView = {
  id: string;
  /** Of the talkgroup, in audio frames. */
  number: number;
  name: string;
  floorMode: FloorMode;
  /** 0: none. */
  maxTalkMs: number;
  /** How long its recordings are kept (days). 0: it is not recorded. */
  recordingDays: number;
  online: number;
  /** Oldest first. */
  talkers: TalkerView[];
  /** The last burst that ended. null: none since the page was loaded. */
  last: { username: string; endedAtMs: number; isCutOff: boolean } | null;
  /** Frames that this console was too slow for. */
  missed: number;
  /** Frames that were lost between the nodes of the service. */
  lostBetweenNodes: number;
  encryption: Encryption;
  /** Encryption is required, or was and the user has not confirmed the change. Clear speech is then unexpected. */
  isLockExpected: boolean;
  /** In a talkgroup that requires encryption: whether the user gets keys and speech. */
  mayHaveKeys: boolean;
  /** Number of open emergencies in the last snapshot, which may have no room for all. */
  emergenciesTotal: number;
};

/** A talk burst that has ended. */
export type RecentBurst = {
  talkgroupId: string;
  /** The name of the talkgroup. */
  talkgroup: string;
  username: string;
  /** This console talked. */
  isOwn: boolean;
  /** Unix time (ms) of this computer. */
  endedAtMs: number;
  durationMs: number;
  /** By which it is played again. Absent: this console heard nothing of it. */
  callId?: number;
};

/** Of a recording. `atMs`: how long after the first one it is due (ms). */
export type ReplayFrame = { sequence: number; payload: Uint8Array; atMs: number };

/** In place of the id of a talkgroup: where replays are heard. */
export type ReplayLine = 'replay';

export type RefusalCode = DenyCode | ErrorCode | 'not_connected' | 'no_microphone' | 'no_key' | 'keys_behind';
export type OverCode = RevokeCode | EndCode | 'lost' | 'unsent';

/**
 * What became of a held talk button. `asking`: the first packets are on their way. `over`: the server has ended the talk.
 * `isFinal`: the button must be released. Otherwise the worker tries again while it is held.
 */
export type TalkState =
  | { phase: 'asking' }
  | { phase: 'queued'; position: number; size: number }
  | { phase: 'talking'; sinceMs: number; limitMs: number }
  | { phase: 'refused'; code: RefusalCode; talker: string | null; isFinal: boolean }
  | { phase: 'over'; code: OverCode; isFinal: boolean };

/** `state` null: the button is released. */
export type TalkView = { talkgroupId: string; state: TalkState | null };

/** Messages that the worker passes on to the page. Those of positions are for the map. */
export const PASSED: ReadonlySet<string> = new Set([
  'KEY_HOLDERS',
  'PRESENCE',
  'WATCHING',
  'POSITIONS',
  'EMERGENCY_POSITION',
]);
