// The radio client for browser and Node: connects and resumes, talks, hears, calls for help, reports positions.
// In Node, import node.ts instead: it brings the WebSocket that Node 20 lacks.
import type { Close } from './backoff.js';
import type { Emergency, Talker } from './bodies.js';
import type { HeardEnd, HeardFrame, Talkgroup } from './channel.js';
import { type Clock, systemClock } from './clock.js';
import { type ConnectionState, createConnection, type RadioSocket } from './connection.js';
import { createEmergencies } from './emergencies.js';
import { createEmitter, type Listenable } from './events.js';
import { createHearing, type Lag } from './hearing.js';
import type {
  ClientMessage,
  Fix,
  MemberPage,
  Presence,
  Refused,
  ServerMessage,
  Welcome,
} from './messages.js';
import type { Uplink } from './outgoing.js';
import { createRaising, type EmergencyCall } from './raising.js';
import { createRequests } from './requests.js';
import { createSubscriptions, type SubscribeOptions } from './subscriptions.js';
import { createSyncing } from './syncing.js';
import type { Talk, TalkOptions } from './talk.js';
import { createTalks } from './talks.js';

export type { Close } from './backoff.js';
export type { Codec, Emergency, FloorMode, Member, Mode, Snapshot, Talker } from './bodies.js';
export type { HeardEnd, HeardFrame, Talkgroup } from './channel.js';
export type { Lag } from './hearing.js';
export type {
  ClientMessage,
  Fix,
  MemberPage,
  Presence,
  Refused,
  ServerMessage,
  Welcome,
} from './messages.js';
export type { EmergencyCall } from './raising.js';
export { RadioError } from './requests.js';
export type { SubscribeOptions } from './subscriptions.js';
export type { Talk, TalkOptions, TalkOutcome, TalkState } from './talk.js';

export type RadioOptions = {
  /** Where the relay listens, `ws://host:port`; `/ws` is appended when it is not there. */
  url: string;
  /** The JWT of the REST login. */
  token: string;
  WebSocket?: new (address: string) => RadioSocket;
  clock?: Clock;
  /** In [0, 1), for the jitter of reconnects and of questions that many radios may have at once. */
  random?: () => number;
};

export type RadioEvents = {
  /** Connected, or connected again; `resumed` tells whether in the same session. */
  open: Welcome;
  /** The connection ended; the next attempt comes after `delayMs`. */
  waiting: Close & { delayMs: number };
  /** Over for good: closed here (code 1000), or refused by the server (1008 with its reason). */
  stopped: Close;
  audio: HeardFrame;
  /** A burst began, ours included, or was found running on arrival. */
  talk_started: Talker;
  /** Every talk_started gets exactly one. */
  talk_ended: HeardEnd;
  /** Drop what of this talkgroup is not played yet: what comes next is live. */
  lag: Lag;
  /** A new state of an emergency, those found on arrival included; `cleared` ones are not kept. */
  emergency: Emergency;
  /** Where `subscribe` asked for presence. */
  presence: Presence;
  /** The set of talkgroups changed, or what is known of one other than its talkers. */
  talkgroups: ReadonlyMap<string, Talkgroup>;
  /** Every JSON message but WELCOME, after its effect. */
  message: ServerMessage;
};

export type Radio = Listenable<RadioEvents> & {
  readonly state: ConnectionState;
  /** Our session number on the relay, null while not connected. */
  readonly session: number | null;
  /**
   * Those we are subscribed to, by UUID; after a lost connection the last known until the next one tells of them. Of
   * very many some come a moment after `open`, each time with a `talkgroups` event.
   */
  readonly talkgroups: ReadonlyMap<string, Talkgroup>;
  /** The open ones of our talkgroups, by id; of more than 8 in one talkgroup those that were open before we came may be missing. */
  readonly emergencies: ReadonlyMap<string, Emergency>;
  /** How often events were found missing; each time a fresh snapshot was asked for. */
  readonly gaps: number;
  /**
   * Begins a talk, ending an earlier one there. Throws RadioError `not_member` when connected and it is none of ours.
   * While talkgroups are still to come after `open`, a talk in one that is not known waits for it (see TalkOptions).
   */
  talk(options: TalkOptions): Talk;
  /**
   * Resolves with those that were refused; it is chosen again in every later session, until the relay takes it. Rejects
   * with RadioError.
   */
  subscribe(options: SubscribeOptions): Promise<Refused[]>;
  unsubscribe(talkgroupIds: readonly string[]): Promise<void>;
  /** Who is there: `limit` sessions (100, at most 200) behind the number `after`; one question per 2 s. */
  members(talkgroupId: string, page?: { after?: number; limit?: number }): Promise<MemberPage>;
  readonly emergency: {
    /** Resolves with the id once it is announced, however long that takes: see Raising in raising.ts. */
    raise(call: EmergencyCall): Promise<string>;
    /** Admins only. */
    ack(emergencyId: string): Promise<void>;
    /** Whoever raised it, and admins. */
    clear(emergencyId: string): Promise<void>;
  };
  /** Resolves when the fix is stored; rejects with RadioError. */
  gps(fix: Fix): Promise<void>;
  /** Round trip of a control message in milliseconds, and the server's Unix milliseconds. */
  ping(): Promise<{ rttMs: number; server_time: number }>;
  /** Any message that is answered; rejects with RadioError. */
  request(message: ClientMessage): Promise<ServerMessage>;
  /** Connects anew at once, resuming the session: for an app that learns of another network before the radio does. */
  reconnect(): void;
  close(): void;
};

/** A radio that is already connecting; throws when `url` is no address or there is no WebSocket to use. */
export function createRadio(options: RadioOptions): Radio {
  const { clock = systemClock, random = Math.random, WebSocket = globalWebSocket() } = options;
  const events = createEmitter<RadioEvents>();
  const emergencies = createEmergencies((emergency) => events.emit('emergency', emergency));
  const hearing = createHearing({
    audio: (frame) => events.emit('audio', frame),
    talkStarted: (talker) => events.emit('talk_started', talker),
    talkEnded: (end) => events.emit('talk_ended', end),
    lagged: (lag) => events.emit('lag', lag),
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

  const address = addressOf(options);
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
  const talks = createTalks(uplink, clock);

  return {
    on: events.on,
    get state() {
      return connection.state;
    },
    get session() {
      return session;
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
  }

  function message(message: ServerMessage): void {
    requests.answer(message);
    if (message.type === 'TALKGROUP_LEFT') subscriptions.left(message.talkgroup_id);
    hearing.message(message);
    talks.message(message);
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

function addressOf({ url, token }: RadioOptions): string {
  return `${url.replace(/\/(ws\/?)?$/, '')}/ws?token=${encodeURIComponent(token)}`;
}

function globalWebSocket(): new (address: string) => RadioSocket {
  const { WebSocket } = globalThis as { WebSocket?: new (address: string) => RadioSocket };
  if (!WebSocket) throw new Error('this Node has no WebSocket of its own: use client/node.ts');
  return WebSocket;
}
