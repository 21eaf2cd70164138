// The radio client for browser and Node: connects and reconnects, talks, hears, reports positions.
// In Node, import node.ts instead: it brings the WebSocket that Node 20 lacks.
import type { Close } from './backoff.js';
import { type Clock, systemClock } from './clock.js';
import { type ConnectionState, createConnection, type RadioSocket } from './connection.js';
import { createEmitter, type Listenable } from './events.js';
import { createHearing, type HeardEnd, type HeardFrame, type Talkgroup } from './hearing.js';
import type { ServerMessage, Talker, Welcome } from './messages.js';
import { createRequests, RadioError, type Request } from './requests.js';
import { createTalk, type Talk, type TalkHandle } from './talking.js';

export type { Close } from './backoff.js';
export type { HeardEnd, HeardFrame, Talkgroup } from './hearing.js';
export type { ServerMessage, Snapshot, Talker, Welcome } from './messages.js';
export { RadioError } from './requests.js';
export type { Talk, TalkOutcome } from './talking.js';

export type RadioOptions = {
  /** Where the relay listens, `ws://host:port`; `/ws` is appended when it is not there. */
  url: string;
  /** The JWT of the REST login. */
  token: string;
  WebSocket?: new (address: string) => RadioSocket;
  clock?: Clock;
  /** In [0, 1), for the jitter of reconnects. */
  random?: () => number;
};

export type RadioEvents = {
  /** Connected, or connected again: a new session. */
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
  /** The set of talkgroups changed, or what is known of one other than its talkers. */
  talkgroups: ReadonlyMap<string, Talkgroup>;
  /** Every JSON message but WELCOME, after its effect. */
  message: ServerMessage;
};

/** `lat` -90 to 90, `lng` -180 to 180 degrees, `alt` metres; without `device_id` the user's linked device. */
export type Fix = { lat: number; lng: number; alt: number; device_id?: string };

export type Radio = Listenable<RadioEvents> & {
  readonly state: ConnectionState;
  /** Our session number on the relay, null while not connected. */
  readonly session: number | null;
  /** By UUID; after a lost connection the last known until the next `open`. */
  readonly talkgroups: ReadonlyMap<string, Talkgroup>;
  /** Begins a burst, ending an earlier one there; throws RadioError `not_member` when connected and not a member. */
  talk(options: { talkgroupId: string }): Talk;
  /** Resolves when the fix is stored; rejects with RadioError. */
  gps(fix: Fix): Promise<void>;
  /** Round trip of a control message in milliseconds, and the server's Unix milliseconds. */
  ping(): Promise<{ rttMs: number; server_time: number }>;
  /** Any message that is answered; rejects with RadioError. */
  request(message: Request): Promise<ServerMessage>;
  close(): void;
};

/** A radio that is already connecting; throws when `url` is no address or there is no WebSocket to use. */
export function createRadio(options: RadioOptions): Radio {
  const { clock = systemClock, random = Math.random, WebSocket = globalWebSocket() } = options;
  const events = createEmitter<RadioEvents>();
  const hearing = createHearing({
    audio: (frame) => events.emit('audio', frame),
    talkStarted: (talker) => events.emit('talk_started', talker),
    talkEnded: (end) => events.emit('talk_ended', end),
    talkgroupsChanged: () => events.emit('talkgroups', hearing.talkgroups),
  });
  let session: number | null = null;
  let talks: TalkHandle[] = [];

  const connection = createConnection(
    { address: addressOf(options), WebSocket, clock, random },
    { opened, message, waiting, stopped, frame: (bytes) => hearing.frame(bytes, clock.nowMs()) },
  );
  const requests = createRequests((text) => connection.send(text), clock);
  const uplink = {
    get isOpen() {
      return connection.state === 'open';
    },
    get bufferedBytes() {
      return connection.bufferedBytes;
    },
    get session() {
      return session;
    },
    numberOf: (talkgroupId: string) => hearing.talkgroups.get(talkgroupId)?.number ?? null,
    send: connection.send,
  };

  return {
    on: events.on,
    get state() {
      return connection.state;
    },
    get session() {
      return session;
    },
    talkgroups: hearing.talkgroups,
    talk,
    async gps(fix) {
      await requests.ask({ type: 'GPS_UPDATE', ...fix });
    },
    async ping() {
      const sentAtMs = clock.nowMs();
      const pong = await requests.ask({ type: 'PING', t: Date.now() });
      if (pong.type !== 'PONG') throw new RadioError('internal', `PING was answered ${pong.type}`);
      return { rttMs: clock.nowMs() - sentAtMs, server_time: pong.server_time };
    },
    request: requests.ask,
    close: connection.close,
  };

  function talk({ talkgroupId }: { talkgroupId: string }): Talk {
    if (uplink.isOpen && uplink.numberOf(talkgroupId) === null) {
      throw new RadioError('not_member', 'not a member of this talkgroup');
    }
    for (const earlier of talks) if (earlier.talkgroupId === talkgroupId) earlier.end();
    const talk = createTalk(talkgroupId, uplink, clock);
    talks = [...talks.filter((earlier) => !earlier.isOver), talk];
    return talk;
  }

  function opened(welcome: Welcome): void {
    session = welcome.session;
    hearing.welcome(welcome.talkgroups);
    events.emit('open', welcome);
  }

  function message(message: ServerMessage): void {
    requests.answer(message);
    hearing.message(message);
    if ('talkgroup_id' in message) {
      const concerned = talks.filter((talk) => talk.talkgroupId === message.talkgroup_id && !talk.isOver);
      // In the order they began, as the server numbers them.
      concerned.some((talk) => talk.message(message));
    }
    events.emit('message', message);
  }

  function disconnected(): void {
    session = null;
    requests.disconnected();
    for (const talk of talks) talk.connectionLost();
  }

  function waiting(next: Close & { delayMs: number }): void {
    disconnected();
    events.emit('waiting', next);
  }

  function stopped(close: Close): void {
    disconnected();
    for (const talk of talks) talk.stop('lost');
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
