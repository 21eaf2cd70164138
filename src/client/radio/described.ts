// Describes the radio client: its options, its events and what it does.

import type { Reach } from '../../protocol/codes.js';
import type { Emergency, MemberPage, Refused, ServerMessage, Talker, Welcome } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import type { Close } from '../connection/backoff.js';
import type { ConnectionState, RadioSocket } from '../connection/connection.js';
import type { ClientMessage, Fix } from '../connection/requests.js';
import type { EmergencyPosition } from '../emergencies/emergencies.js';
import type { EmergencyCall } from '../emergencies/raising.js';
import type { KeyStore } from '../encryption/key-store.js';
import type { LockKind, UnopenedReason } from '../encryption/opening.js';
import type { Listenable } from '../events.js';
import type { HeardEnd, HeardFrame, Talkgroup } from '../hearing/channel.js';
import type { Lag, Missed, Presence } from '../hearing/hearing.js';
import type { SubscribeOptions } from '../hearing/subscriptions.js';
import type { Forgotten, Recall } from '../recall/recall.js';
import type { Talk, TalkOptions } from '../talking/talk.js';
import type { Positions, Watched, WatchOptions } from '../watching/watching.js';

export type RadioOptions = {
  /** Address of the relay, `ws://host:port` or `wss://host`. The client appends `/ws` if it is missing. */
  url: string;
  /** The JWT from POST /auth/login or /auth/register. */
  token: string;
  /** Name and version of the app, such as `acme-desk/3.2`, for the log of the service. Default: those of this library. */
  client?: string;
  /** The keys of encrypted speech, from createKeyring. Without it the radio talks in the clear, and opens nothing. */
  keys?: KeyStore;
  /** How long the radio keeps what it played for `recall` (s). It keeps at most 4 MiB of frames. Default: 300. 0: nothing. */
  recallSeconds?: number;
  /** Default: the global WebSocket, and in Node the one of the package `ws`. */
  WebSocket?: new (
    address: string,
  ) => RadioSocket;
  /** Default: the clock of the browser or of Node. Tests pass their own. */
  clock?: Clock;
  /** A number in [0, 1). The client uses it to spread reconnects and requests in time. Default: Math.random. */
  random?: () => number;
};

export type RadioEvents = {
  /** The radio is connected. `resumed` is true if it continues its earlier session. */
  open: Welcome;
  /** The connection ended. The radio makes its next attempt after `delayMs`. */
  waiting: Close & { delayMs: number };
  /** The radio has stopped for good: `close` was called (code 1000), or the server rejected it (1008 with a reason). */
  stopped: Close;
  /** One frame of another radio. A frame of an encrypted burst that does not open is not played, and comes as `unopened`. */
  audio: HeardFrame;
  /** The first frame of a burst that was not opened for this reason. */
  unopened: { talkgroupId: string; session: number; burst: number; reason: UnopenedReason };
  /**
   * How a burst is protected, when it begins and when that changes. `isUnexpected`: the burst is clear, and the talkgroup
   * requires encryption, or did and `confirmClear` was not called.
   */
  lock: { talkgroupId: string; session: number; burst: number; kind: LockKind; isUnexpected: boolean };
  /** A burst began, on this radio or another one, or was already running when the radio connected. */
  talk_started: Talker;
  /** A burst ended. Exactly one follows each talk_started. `recallId`: its id in `recall`. Absent: it is not kept. */
  talk_ended: HeardEnd & { recallId?: number };
  /** Bursts that `recall` had, by id, and has no more. */
  forgotten: Forgotten;
  /** The relay skipped frames of this talkgroup. Drop the audio that is not played yet: the next frames are live. */
  lag: Lag;
  /** Frames of a talker on another node were lost between the nodes. No radio of this node gets them. */
  missed: Missed;
  /** `whole`: the radio's node reaches all that it knows. `partial`: it lost one within the last minute. `alone`: none. */
  reach: Reach;
  /** An emergency has a new state, or was already open when the radio connected. */
  emergency: Emergency;
  /** The user of an open emergency is somewhere else now. */
  emergency_position: EmergencyPosition;
  /** Watched devices were listed, moved or left. */
  positions: Positions;
  /** Sessions came or went, in a talkgroup for which `subscribe` requested presence. */
  presence: Presence;
  /** The set of talkgroups changed, or a property of one. Talkers have their own events. */
  talkgroups: ReadonlyMap<string, Talkgroup>;
  /** Every JSON message except WELCOME, after the radio has processed it. */
  message: ServerMessage;
};

export type Radio = Listenable<RadioEvents> & {
  readonly state: ConnectionState;
  /** Resolves when the radio is connected for the first time. Rejects with RadioError `stopped` when it stops before. */
  readonly opened: Promise<Welcome>;
  /** The radio's session number on the relay, null while it is not connected. */
  readonly session: number | null;
  /** Of its node. `whole` before the first connection, and when the operator has not connected the nodes. */
  readonly reach: Reach;
  /**
   * The talkgroups that the radio is subscribed to, by UUID. While it is disconnected, the map keeps the last known
   * state. If there are very many, some arrive after `open`, each time with a `talkgroups` event.
   */
  readonly talkgroups: ReadonlyMap<string, Talkgroup>;
  /** Open emergencies of these talkgroups, by id. If one has more than 8, the oldest may be missing. */
  readonly emergencies: ReadonlyMap<string, Emergency>;
  /**
   * The last bursts that this radio played, in its memory only. `playBack` replays one. It forgets a talkgroup when the radio
   * does not receive it any more, or when the user may not have its keys. It forgets all when the radio stops.
   */
  readonly recall: Recall;
  /**
   * Until when this radio had live audio, by the clock of the server (Unix ms): when anything last arrived. null before the first
   * connection. It stands still while the radio is disconnected, and goes on with the next connection. Read it in `waiting` and
   * keep it. `missed` of createRecordings counts what was said since then.
   */
  heardUntil(): number | null;
  /** Number of times that the radio missed events. Each time it requested a new snapshot. */
  readonly gaps: number;
  /**
   * Begins a talk and ends an earlier one in the same talkgroup. Throws RadioError `not_member` if the radio is
   * connected and not subscribed to the talkgroup. See TalkOptions for talkgroups that arrive after `open`.
   */
  talk(options: TalkOptions): Talk;
  /** Whether the talkgroup requires encryption, or did and the user has not confirmed the change. */
  isRequired(talkgroupId: string): boolean;
  /** The user knows that the talkgroup does not require encryption any more. */
  confirmClear(talkgroupId: string): void;
  /**
   * Resolves with the talkgroups that the relay rejected. Rejects with RadioError. The radio repeats the choice in
   * every later session.
   */
  subscribe(options: SubscribeOptions): Promise<Refused[]>;
  unsubscribe(talkgroupIds: readonly string[]): Promise<void>;
  /** A page of connected sessions: at most `limit` (default 100, at most 200) with numbers above `after`. Once per 2 s. */
  members(talkgroupId: string, page?: { after?: number; limit?: number }): Promise<MemberPage>;
  readonly emergency: {
    /** Resolves with the id after the relay has announced it. Repeats the request until then, or until its `signal`. */
    raise(call: EmergencyCall): Promise<string>;
    /** For administrators. */
    ack(emergencyId: string): Promise<void>;
    /** For the user that raised it, and for administrators. */
    clear(emergencyId: string): Promise<void>;
  };
  /** Resolves when the position is stored. Rejects with RadioError. */
  gps(fix: Fix): Promise<void>;
  /** The watched devices by id, with their latest positions. While it is disconnected, the last known ones. */
  readonly devices: ReadonlyMap<string, Watched>;
  /**
   * Watches where devices are, instead of what it watched before. Resolves when the relay has listed the first devices.
   * Rejects with RadioError. The radio repeats the choice on every later connection.
   */
  watch(options: WatchOptions): Promise<void>;
  unwatch(): Promise<void>;
  /** Round-trip time of a control message (ms), and the server's Unix time (ms). */
  ping(): Promise<{ rttMs: number; server_time: number }>;
  /** Sends any message that the relay answers. Rejects with RadioError. */
  request(message: ClientMessage): Promise<ServerMessage>;
  /**
   * Connects again immediately and resumes the session. For an app that learns of a network change first. The relay moves
   * the session, with a running burst, from the old connection if that one still lives. Until the radio is open again, it
   * drops packets, receives nothing, and rejects its open requests.
   */
  reconnect(): void;
  /** Disconnects for good. The relay does not keep the session. */
  close(): void;
};
