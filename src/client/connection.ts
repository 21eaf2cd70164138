// One radio's connection: opens the socket, notices when it is dead, and comes back as the close code asks.
import { type Close, nextStep } from './backoff.js';
import type { Clock } from './clock.js';
import { parseMessage, type ServerMessage, type Welcome } from './messages.js';

/** The part of the WebSocket interface that is used: the browser's own and that of `ws` both have it. */
export type RadioSocket = {
  binaryType: string;
  readonly bufferedAmount: number;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: Close) => void): void;
  addEventListener(type: 'error', listener: () => void): void;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
};

/** `connecting` until WELCOME, `waiting` between two attempts, `stopped` for good. */
export type ConnectionState = 'connecting' | 'open' | 'waiting' | 'stopped';

/** Where a connection reports; every `opened` is followed by one `waiting` or `stopped`. */
export type ConnectionOwner = {
  opened(welcome: Welcome): void;
  message(message: ServerMessage): void;
  frame(bytes: Uint8Array): void;
  waiting(next: Close & { delayMs: number }): void;
  stopped(close: Close): void;
};

export type Connection = {
  readonly state: ConnectionState;
  /** Bytes handed over that the socket has not yet passed on. */
  readonly bufferedBytes: number;
  /** Sends at once, or does nothing and says false when there is no open connection. */
  send(data: string | Uint8Array<ArrayBuffer>): boolean;
  close(): void;
};

const STABLE_MS = 5_000;
// No WELCOME for so long, or no answer to a PING: the network swallows our packets, and TCP would try for minutes.
const ANSWER_MS_MAX = 10_000;
// A listener in a quiet talkgroup hears nothing of its server (pings of the engine are invisible to a browser).
const QUIET_MS_MAX = 15_000;

/** Starts connecting at once, and goes on until `close` or a close code that says stop. */
export function createConnection(
  options: {
    address: string;
    WebSocket: new (address: string) => RadioSocket;
    clock: Clock;
    random: () => number;
  },
  owner: ConnectionOwner,
): Connection {
  const { clock, random } = options;
  let state: ConnectionState = 'connecting';
  let socket: RadioSocket | null = null;
  let attempt = 0;
  let openedAtMs = 0;
  let heardAtMs = 0;
  let reconnectAfterMs = 0;
  let cancelTimer = () => {};

  connect();
  return {
    get state() {
      return state;
    },
    get bufferedBytes() {
      return socket?.bufferedAmount ?? 0;
    },
    send(data) {
      if (state !== 'open' || !socket) return false;
      socket.send(data);
      return true;
    },
    close() {
      if (state === 'stopped') return;
      leave(1000);
      stop({ code: 1000, reason: '' });
    },
  };

  function connect(): void {
    const opening = new options.WebSocket(options.address);
    opening.binaryType = 'arraybuffer';
    // A socket we left may still report; only the current one counts.
    opening.addEventListener('message', ({ data }) => opening === socket && receive(data));
    opening.addEventListener('close', (close) => opening === socket && lose(close));
    // Every error is followed by a close; `ws` throws when nobody listens for it.
    opening.addEventListener('error', () => {});
    socket = opening;
    state = 'connecting';
    reconnectAfterMs = 0;
    cancelTimer = clock.after(ANSWER_MS_MAX, abandon);
  }

  function receive(data: unknown): void {
    heardAtMs = clock.nowMs();
    if (typeof data === 'string') receiveText(data);
    else if (data instanceof ArrayBuffer && state === 'open') owner.frame(new Uint8Array(data));
  }

  function receiveText(text: string): void {
    const message = parseMessage(text);
    if (message?.type === 'WELCOME') open(message);
    else if (message && state === 'open') {
      if (message.type === 'GOAWAY') reconnectAfterMs = message.reconnect_after_ms;
      owner.message(message);
    }
  }

  function open(welcome: Welcome): void {
    state = 'open';
    openedAtMs = clock.nowMs();
    cancelTimer();
    cancelTimer = clock.after(QUIET_MS_MAX, watch);
    owner.opened(welcome);
  }

  function watch(): void {
    const quietMs = clock.nowMs() - heardAtMs;
    if (quietMs < QUIET_MS_MAX) {
      cancelTimer = clock.after(QUIET_MS_MAX - quietMs, watch);
      return;
    }
    const askedAtMs = clock.nowMs();
    socket?.send(JSON.stringify({ type: 'PING', t: Date.now() }));
    cancelTimer = clock.after(ANSWER_MS_MAX, () => (heardAtMs < askedAtMs ? abandon() : watch()));
  }

  function abandon(): void {
    leave();
    lose({ code: 1006, reason: 'no answer' });
  }

  function leave(code?: number): void {
    const left = socket;
    socket = null;
    left?.close(code);
  }

  function lose({ code, reason }: Close): void {
    cancelTimer();
    socket = null;
    if (state === 'open' && clock.nowMs() - openedAtMs >= STABLE_MS) attempt = 0;
    const next = nextStep({ close: { code, reason }, attempt, reconnectAfterMs, random });
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
