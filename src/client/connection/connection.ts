// Opens a radio's connection, detects a dead link, and reconnects as the close code requires.

import type { ServerMessage, Welcome } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { type Close, nextStep } from './backoff.js';
import { parseMessage } from './parse.js';

/** The part of the WebSocket interface that the client uses. The browser's WebSocket and that of `ws` both have it. */
export type RadioSocket = {
  binaryType: string;
  readonly bufferedAmount: number;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: Close) => void): void;
  addEventListener(type: 'error', listener: () => void): void;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
};

/** `connecting`: until WELCOME. `waiting`: between two attempts. `stopped`: for good. */
export type ConnectionState = 'connecting' | 'open' | 'waiting' | 'stopped';

/** Receives the events of a connection. One `waiting` or `stopped` follows every `opened`. */
export type ConnectionOwner = {
  opened(welcome: Welcome): void;
  message(message: ServerMessage): void;
  frame(bytes: Uint8Array): void;
  waiting(next: Close & { delayMs: number }): void;
  stopped(close: Close): void;
};

export type Connection = {
  readonly state: ConnectionState;
  /** When the last connection opened (ms, by the clock). Audio captured before is not sent on it. */
  readonly openedAtMs: number;
  /** When anything last arrived on an open connection, WELCOME included (ms, by the clock). */
  readonly heardAtMs: number;
  /** Bytes handed over that the socket has not yet passed on. */
  readonly bufferedBytes: number;
  /** Sends at once. Without an open connection it sends nothing and returns false. */
  send(data: string | Uint8Array<ArrayBuffer>): boolean;
  /** The same for a message with an answer. If nothing arrives for 10 s, the link is dead and the radio reconnects. */
  ask(text: string): boolean;
  /**
   * Ends the wait for the next connection, or replaces the present one, and connects at once. The socket that is replaced
   * stays open until the attempt succeeds or fails: the server moves the session from it, with a running burst.
   */
  reconnect(): void;
  close(): void;
};

const STABLE_MS = 5_000;
// Limit for WELCOME, and for any message after a request. If the network drops all packets, TCP retries for minutes.
const ANSWER_MS_MAX = 10_000;
// In a quiet talkgroup the server sends nothing that the client sees. A browser does not show WebSocket pings.
const QUIET_MS_MAX = 15_000;
// A connection that breaks this soon after LAG was most likely closed as slow again, after 10 s without a pong.
const SLOW_MS = 30_000;

/** Starts to connect immediately, and reconnects until `close` or a close code that means stop. */
export function createConnection(
  options: {
    /** The address that resumes the session of this token. null: of a new session. */
    address: (resumeToken: string | null) => string;
    WebSocket: new (address: string) => RadioSocket;
    clock: Clock;
    random: () => number;
  },
  owner: ConnectionOwner,
): Connection {
  const { clock, random } = options;
  let state: ConnectionState = 'connecting';
  let socket: RadioSocket | null = null;
  /** The socket that `reconnect` replaces, until the attempt has succeeded or failed. */
  let replaced: RadioSocket | null = null;
  let attempt = 0;
  let openedAtMs = Number.NEGATIVE_INFINITY;
  let heardAtMs = 0;
  let laggedAtMs = Number.NEGATIVE_INFINITY;
  /** Until then the server is unavailable, according to GOAWAY (ms, by the clock). */
  let awayUntilMs = Number.NEGATIVE_INFINITY;
  let resumeToken: string | null = null;
  /** A message with an answer was sent, and nothing has arrived since. */
  let isAsking = false;
  let cancelTimer = () => {};

  connect();
  return {
    get state() {
      return state;
    },
    get openedAtMs() {
      return openedAtMs;
    },
    get heardAtMs() {
      return heardAtMs;
    },
    get bufferedBytes() {
      return socket?.bufferedAmount ?? 0;
    },
    send,
    ask(text) {
      if (!send(text)) return false;
      if (!isAsking) expectMessage();
      return true;
    },
    reconnect() {
      if (state === 'stopped') return;
      cancelTimer();
      const wasOpen = state === 'open';
      if (wasOpen) replaced = socket;
      else socket?.close();
      socket = null;
      state = 'waiting';
      if (wasOpen) owner.waiting({ code: 1006, reason: 'reconnect', delayMs: 0 });
      if (state === 'waiting') connect();
    },
    close() {
      if (state === 'stopped') return;
      leave(1000);
      stop({ code: 1000, reason: '' });
    },
  };

  function connect(): void {
    const opening = new options.WebSocket(options.address(resumeToken));
    opening.binaryType = 'arraybuffer';
    // An earlier socket may still emit events. Only those of the current one count.
    opening.addEventListener('message', ({ data }) => opening === socket && receive(data));
    opening.addEventListener('close', (close) => opening === socket && lose(close));
    // A close follows every error. Without a listener for errors, `ws` throws.
    opening.addEventListener('error', () => {});
    socket = opening;
    state = 'connecting';
    awayUntilMs = Number.NEGATIVE_INFINITY;
    laggedAtMs = Number.NEGATIVE_INFINITY;
    cancelTimer = clock.after(ANSWER_MS_MAX, abandon);
  }

  function receive(data: unknown): void {
    if (state === 'open') heardAtMs = clock.nowMs();
    isAsking = false;
    if (typeof data === 'string') receiveText(data);
    else if (data instanceof ArrayBuffer && state === 'open') owner.frame(new Uint8Array(data));
  }

  function receiveText(text: string): void {
    const message = parseMessage(text);
    if (message?.type === 'WELCOME') open(message);
    else if (message && state === 'open') {
      if (message.type === 'GOAWAY') awayUntilMs = heardAtMs + message.reconnect_after_ms;
      if (message.type === 'LAG') laggedAtMs = clock.nowMs();
      owner.message(message);
    }
  }

  function open(welcome: Welcome): void {
    state = 'open';
    openedAtMs = clock.nowMs();
    heardAtMs = openedAtMs;
    resumeToken = welcome.resume_token;
    closeReplaced();
    cancelTimer();
    cancelTimer = clock.after(QUIET_MS_MAX, watch);
    owner.opened(welcome);
  }

  function send(data: string | Uint8Array<ArrayBuffer>): boolean {
    if (state !== 'open' || !socket) return false;
    socket.send(data);
    return true;
  }

  function watch(): void {
    const quietMs = clock.nowMs() - heardAtMs;
    if (quietMs < QUIET_MS_MAX) {
      cancelTimer = clock.after(QUIET_MS_MAX - quietMs, watch);
    } else {
      send(JSON.stringify({ type: 'PING', t: Date.now() }));
      expectMessage();
    }
  }

  function expectMessage(): void {
    isAsking = true;
    cancelTimer();
    cancelTimer = clock.after(ANSWER_MS_MAX, () => (isAsking ? abandon() : watch()));
  }

  function abandon(): void {
    leave();
    lose({ code: 1006, reason: 'no answer' });
  }

  function leave(code?: number): void {
    const left = socket;
    socket = null;
    left?.close(code);
    closeReplaced(code);
  }

  /** Needed in a new session too: there the server has not closed the socket of the old one. */
  function closeReplaced(code?: number): void {
    replaced?.close(code);
    replaced = null;
  }

  function lose({ code, reason }: Close): void {
    cancelTimer();
    socket = null;
    closeReplaced();
    isAsking = false;
    if (code === 1008) resumeToken = null;
    const nowMs = clock.nowMs();
    if (state === 'open' && nowMs - openedAtMs >= STABLE_MS) attempt = 0;
    const wasSlow = nowMs - laggedAtMs <= SLOW_MS;
    const reconnectAfterMs = Math.max(0, awayUntilMs - nowMs);
    const next = nextStep({ close: { code, reason }, attempt, reconnectAfterMs, wasSlow, random });
    if (next.kind === 'stop') stop({ code, reason });
    else wait({ code, reason, delayMs: next.delayMs });
  }

  function wait(next: Close & { delayMs: number }): void {
    attempt += 1;
    state = 'waiting';
    cancelTimer = clock.after(next.delayMs, connect);
    owner.waiting(next);
  }

  function stop(close: Close): void {
    cancelTimer();
    state = 'stopped';
    owner.stopped(close);
  }
}
