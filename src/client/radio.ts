// The radio client: connects, resumes, talks, listens, raises emergencies and reports positions. This is the entry of
// the package for browsers; node.ts is the one for Node, with the WebSocket that Node 20 lacks.

import type { Reach } from '../protocol/codes.js';
import type { Emergency, MemberPage, Refused, ServerMessage, Talker, Welcome } from '../protocol/types.js';
import { type Clock, systemClock } from './clock.js';
import { relayAddress } from './connection/address.js';
import type { Close } from './connection/backoff.js';
import { type ConnectionState, createConnection, type RadioSocket } from './connection/connection.js';
import { type ClientMessage, createRequests, type Fix } from './connection/requests.js';
import { createEmergencies } from './emergencies/emergencies.js';
import { createRaising, type EmergencyCall } from './emergencies/raising.js';
import { createEmitter, type Listenable } from './events.js';
import type { HeardEnd, HeardFrame, Talkgroup } from './hearing/channel.js';
import { createHearing, type Lag, type Missed, type Presence } from './hearing/hearing.js';
import { createSubscriptions, type SubscribeOptions } from './hearing/subscriptions.js';
import { createSyncing } from './hearing/syncing.js';
import type { Talk, TalkOptions } from './talking/talk.js';
import { createTalks } from './talking/talks.js';
import type { Uplink } from './talking/uplink.js';

export type { FloorMode, Mode, Reach } from '../protocol/codes.js';
export type {
  Codec,
  Emergency,
  Member,
  MemberPage,
  Refused,
  ServerMessage,
  Snapshot,
  Talker,
  Welcome,
} from '../protocol/types.js';
export { type Spoken, speak } from './audio/speak.js';
export type { Clock } from './clock.js';
export type { Close } from './connection/backoff.js';
export type { ConnectionState, RadioSocket } from './connection/connection.js';
export { type ClientMessage, type Fix, RadioError } from './connection/requests.js';
export type { EmergencyCall } from './emergencies/raising.js';
export type { HeardEnd, HeardFrame, Talkgroup } from './hearing/channel.js';
export type { Lag, Missed, Presence } from './hearing/hearing.js';
export type { SubscribeOptions } from './hearing/subscriptions.js';
export type { SendOptions, Talk, TalkOptions, TalkOutcome, TalkState } from './talking/talk.js';

export type RadioOptions = {
  /** Address of the relay, `ws://host:port` or `wss://host`. The client appends `/ws` if it is missing. */
  url: string;
  /** The JWT from POST /auth/login or /auth/register. */
  token: string;
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
  /** One frame of another radio. */
  audio: HeardFrame;
  /** A burst began, on this radio or another one, or was already running when the radio connected. */
  talk_started: Talker;
  /** A burst ended. Exactly one follows each talk_started. */
  talk_ended: HeardEnd;
  /** The relay skipped frames of this talkgroup. Drop the audio that is not played yet: the next frames are live. */
  lag: Lag;
  /** Frames of a talker on another node were lost between the nodes. No radio of this node gets them. */
  missed: Missed;
  /** `whole`: the radio's node reaches all that it knows. `partial`: it lost one within the last minute. `alone`: none. */
  reach: Reach;
  /** An emergency has a new state, or was already open when the radio connected. */
  emergency: Emergency;
  /** Sessions came or went, in a talkgroup for which `subscribe` requested presence. */
  presence: Presence;
  /** The set of talkgroups changed, or a property of one. Talkers have their own events. */
  talkgroups: ReadonlyMap<string, Talkgroup>;
  /** Every JSON message except WELCOME, after the radio has processed it. */
  message: ServerMessage;
};

export type Radio = Listenable<RadioEvents> & {
  readonly state: ConnectionState;
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
  /** Number of times that the radio missed events. Each time it requested a new snapshot. */
  readonly gaps: number;
  /**
   * Begins a talk and ends an earlier one in the same talkgroup. Throws RadioError `not_member` if the radio is
   * connected and not subscribed to the talkgroup. See TalkOptions for talkgroups that arrive after `open`.
   */
  talk(options: TalkOptions): Talk;
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

/** Starts to connect and returns the radio. Throws if `url` is not an address, or if there is no WebSocket to use. */
export function createRadio(options: RadioOptions): Radio {
  const { clock = systemClock, random = Math.random, WebSocket = globalWebSocket() } = options;
  const events = createEmitter<RadioEvents>();
  const emergencies = createEmergencies((emergency) => events.emit('emergency', emergency));
  const hearing = createHearing({
    audio: (frame) => events.emit('audio', frame),
    talkStarted: (talker) => events.emit('talk_started', talker),
    talkEnded: (end) => events.emit('talk_ended', end),
    lagged: (lag) => events.emit('lag', lag),
    missed: (missed) => events.emit('missed', missed),
    emergencies: emergencies.take,
    emergency: emergencies.follow,
    presence: (presence) => events.emit('presence', presence),
    talkgroupsChanged: () => events.emit('talkgroups', hearing.talkgroups),
    gap: (talkgroupId) => syncing.gap(talkgroupId),
    renewed: (talkgroupId) => syncing.settled(talkgroupId),
    left(talkgroupId) {
      syncing.settled(talkgroupId);
      emergencies.left(talkgroupId);
    },
  });
  let session: number | null = null;
  let reach: Reach = 'whole';

  const address = relayAddress(options);
  const connection = createConnection(
    {
      address: (resumeToken) =>
        resumeToken ? `${address}&resume=${encodeURIComponent(resumeToken)}` : address,
      ...{ WebSocket, clock, random },
    },
    { opened, message, waiting, stopped, frame: (bytes) => hearing.frame(bytes, clock.nowMs()) },
  );
  const isOpen = () => connection.state === 'open';
  const requests = createRequests(connection.ask, clock);
  const syncing = createSyncing(requests, clock, random);
  const subscriptions = createSubscriptions(requests, clock, random, hearing.leave);
  const raising = createRaising(requests, clock, isOpen);
  const uplink: Uplink = {
    get isOpen() {
      return isOpen();
    },
    get openedAtMs() {
      return connection.openedAtMs;
    },
    get bufferedBytes() {
      return connection.bufferedBytes;
    },
    get session() {
      return session;
    },
    numberOf: (talkgroupId) => hearing.talkgroups.get(talkgroupId)?.number ?? null,
    isAwaited: hearing.isAwaited,
    send: connection.send,
    ask: connection.ask,
  };
  const talks = createTalks(uplink, clock, random);

  return {
    on: events.on,
    get state() {
      return connection.state;
    },
    get session() {
      return session;
    },
    get reach() {
      return reach;
    },
    get gaps() {
      return syncing.gaps;
    },
    talkgroups: hearing.talkgroups,
    emergencies: emergencies.open,
    talk: talks.begin,
    subscribe: subscriptions.subscribe,
    unsubscribe: subscriptions.unsubscribe,
    async members(talkgroupId, page = {}) {
      const { type, ref, ...members } = await requests.askFor('MEMBERS', {
        ...{ type: 'MEMBERS', talkgroup_id: talkgroupId },
        ...page,
      });
      return members;
    },
    emergency: {
      raise: raising.raise,
      async ack(emergency_id) {
        await requests.askFor('OK', { type: 'EMERGENCY_ACK', emergency_id });
      },
      async clear(emergency_id) {
        await requests.askFor('OK', { type: 'EMERGENCY_CLEAR', emergency_id });
      },
    },
    async gps(fix) {
      await requests.askFor('OK', { type: 'GPS_UPDATE', ...fix });
    },
    async ping() {
      const sentAtMs = clock.nowMs();
      const { server_time } = await requests.askFor('PONG', { type: 'PING', t: Date.now() });
      return { rttMs: clock.nowMs() - sentAtMs, server_time };
    },
    request: requests.ask,
    reconnect: connection.reconnect,
    close: connection.close,
  };

  function opened(welcome: Welcome): void {
    session = welcome.session;
    raising.connected();
    hearing.connected(welcome);
    subscriptions.connected(welcome);
    talks.connected(welcome);
    events.emit('open', welcome);
    reaches(welcome.reach ?? 'whole');
  }

  function reaches(now: Reach): void {
    if (now === reach) return;
    reach = now;
    events.emit('reach', now);
  }

  function message(message: ServerMessage): void {
    requests.answer(message);
    if (message.type === 'TALKGROUP_LEFT') subscriptions.left(message.talkgroup_id);
    hearing.message(message);
    talks.message(message);
    if (message.type === 'REACH') reaches(message.reach);
    events.emit('message', message);
  }

  function disconnected(): void {
    session = null;
    requests.disconnected();
    syncing.disconnected();
    subscriptions.disconnected();
    talks.connectionLost();
  }

  function waiting(next: Close & { delayMs: number }): void {
    disconnected();
    events.emit('waiting', next);
  }

  function stopped(close: Close): void {
    disconnected();
    raising.stop();
    talks.stop();
    hearing.stop();
    events.emit('stopped', close);
  }
}

function globalWebSocket(): new (address: string) => RadioSocket {
  const { WebSocket } = globalThis as { WebSocket?: new (address: string) => RadioSocket };
  if (!WebSocket) throw new Error('there is no global WebSocket: pass one as the option WebSocket');
  return WebSocket;
}
