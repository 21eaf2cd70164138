// The relay's own port: the only file that knows uWebSockets.js. Every callback is wrapped, because a throw in one would
// end the process. Every option is set, because defaults change. ENGINE.md: what differs between its releases.

import uWS, { type TemplatedApp } from 'uWebSockets.js';
import { setTimeout } from 'node:timers/promises';
import { HEADER_BYTES } from '../../protocol/frame.js';
import { addressText } from '../../proxies.js';
import type { CertificateFiles } from '../../tls/certificate.js';
import type { Publisher } from '../delivery/peer.js';
import { type Cap, type CapOptions, type ConnectionFigures, createCap } from './cap.js';
import type { EarlyMessages } from './early.js';
import {
  answerToGet,
  type Entrance,
  type HandshakeRelay,
  httpAnswers,
  readUpgrade,
  writeAnswer,
} from './handshake.js';
import {
  guardedBy,
  type SocketData,
  type SocketRelay,
  type SocketSession,
  type SocketsOptions,
  socketCallbacks,
  socketData,
} from './sockets.js';

export interface EngineOptions extends Entrance {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: CertificateFiles | null;
  readonly frameBytes: number;
  readonly textBytes: number;
  /** Seconds. The engine pings before. */
  readonly idleTimeoutS: number;
  /** Connections to the port, with or without a WebSocket. A handshake beyond it is refused. */
  readonly socketsMax: number;
  /** Counts them together with those of the other relay threads. Without it there are none. */
  readonly openOfAll?: CapOptions['openOfAll'];
  /** Of the process: connections take descriptors below this number only. */
  readonly descriptorMax: number;
  readonly log: CapOptions['log'];
}

/**
 * The other listeners on the port. `alone`: none. The relay threads of one process share it: the `first` one makes sure
 * that no other server has it, and the `next` ones listen on the port that it took.
 */
export type Listening =
  | { readonly kind: 'alone' | 'first' }
  | { readonly kind: 'next'; readonly port: number };

/** The engine before it listens: the relay publishes through it, then listens with itself. */
export interface Engine {
  readonly publisher: Publisher;
  /** Resolves with the port taken. Rejects when it is taken already. */
  listen<S extends SocketSession>(
    relay: EngineRelay<S>,
    early: Pick<EarlyMessages, 'of'>,
    as?: Listening,
  ): Promise<number>;
  /** Another connection would be refused. */
  isFull(): boolean;
  connections(): ConnectionFigures;
  /**
   * Reads the files of `tls` again: new connections to names that fit a pattern get what is in them now. Open sockets
   * go on as they are, and topics are shared. False: TLS cannot use the files, or the port is closed.
   * LIMIT: a client that names no server gets the certificate of the start. The engine cannot replace that one.
   */
  addServerNames(patterns: readonly string[]): boolean;
  /**
   * Stops accepting. A client that had asked for its upgrade gets a close and time to read it. Then all connections are
   * dropped.
   */
  close(): Promise<void>;
  /** Drops all connections at once, for a thread that ends by an error: with open ones the process would be aborted. */
  abandon(): void;
}

/** The relay as the engine uses it: behind its handshakes and behind its sockets. */
type EngineRelay<S extends SocketSession> = HandshakeRelay & SocketRelay<S>;

/** The second limit for a slow receiver: with more bytes in its send buffer, uWebSockets.js drops a delivery. */
const BACKPRESSURE_BYTES_MAX = 64 * 1024;

/** Time until all connections that came before the port was closed have had their turn. */
const LAST_TURNS_MS = 20;
/**
 * Time that the last clients get to read why. A socket that is closed with unread bytes of a talker ends with a reset,
 * and a radio that still writes into it loses the close that it has not read. uWebSockets.js does not tell when a client
 * has answered.
 */
const LINGER_MS = 500;
/** The same for a radio that sent nothing for LINGER_MS: nothing of it is on its way, so the close only has to arrive. */
const QUIET_LINGER_MS = 200;

export function createEngine(options: EngineOptions): Engine {
  // Made when it listens: an app of the engine that never did ends the process with a fault.
  let app: TemplatedApp | null = null;
  let bound: Bound | null = null;
  let addRoutes = (_app: TemplatedApp) => {};
  const cap = createCap({ ...options, connectionsMax: options.socketsMax });
  /** Until then, sockets that were closed because the server ends get time to read why (monotonic ms). */
  let lingersUntilMs = Number.NEGATIVE_INFINITY;
  const onRestart: SocketsOptions['onRestart'] = (session) => {
    const nowMs = performance.now();
    const isQuiet = session !== null && nowMs - session.heardAtMs > LINGER_MS;
    lingersUntilMs = Math.max(lingersUntilMs, nowMs + (isQuiet ? QUIET_LINGER_MS : LINGER_MS));
  };
  return {
    publisher: {
      // Encoded here for the same reason as in Peer.send, though today's engine encodes what an app publishes.
      publish: (topic, message, isBinary) =>
        app?.publish(topic, typeof message === 'string' ? Buffer.from(message) : message, isBinary, false) ??
        false,
      numSubscribers: (topic) => app?.numSubscribers(topic) ?? 0,
    },
    async listen(relay, early, as = ALONE) {
      const { tls, host, port } = options;
      const made = tls === null ? uWS.App() : uWS.SSLApp(engineFiles(tls));
      app = made;
      countConnections(made, { ...options, cap });
      addRoutes = (to) => routes(to, relay, { ...options, early, onRestart, cap });
      addRoutes(made);
      bound = await bindAs(as, made, { host, port });
      return bound.port;
    },
    isFull: cap.isFull,
    connections: cap.figures,
    addServerNames(patterns) {
      const { tls } = options;
      if (app === null || tls === null || !isUsable(tls)) return false;
      for (const pattern of patterns) {
        app.addServerName(pattern, engineFiles(tls));
        addRoutes(app.domain(pattern)); // each name has routes of its own
      }
      return true;
    },
    async close() {
      bound?.close();
      bound = null;
      await setTimeout(LAST_TURNS_MS);
      const lingerMs = lingersUntilMs - performance.now();
      if (lingerMs > 0) await setTimeout(lingerMs);
      app?.close();
      app = null;
    },
    abandon() {
      bound = null;
      app?.close(); // the listening socket, too
      app = null;
    },
  };
}

const ALONE: Listening = { kind: 'alone' };

const engineFiles = ({ certFile, keyFile }: CertificateFiles) => ({
  cert_file_name: certFile,
  key_file_name: keyFile,
});

/** Tried with an app of its own: a server name whose files the engine cannot use is left out without a word. */
function isUsable(files: CertificateFiles): boolean {
  try {
    uWS.SSLApp(engineFiles(files)).close();
    return true;
  } catch {
    return false; // it says no more than that it failed
  }
}

/** The listening socket. */
interface Bound {
  readonly port: number;
  close(): void;
}

async function bindAs(as: Listening, app: TemplatedApp, at: Address): Promise<Bound> {
  if (as.kind === 'alone') return bind(app, at, LISTEN_EXCLUSIVE_PORT);
  if (as.kind === 'next') return bind(app, { ...at, port: as.port }, LISTEN_SHARED_PORT);
  // Fails when another server has the port, shared or not. And it finds a free one: the engine shares no port 0.
  const { port, close } = await bind(app, at, LISTEN_EXCLUSIVE_PORT);
  close();
  return bind(app, { ...at, port }, LISTEN_SHARED_PORT);
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Without it a second server binds the same port and silently takes half of the connections. */
const LISTEN_EXCLUSIVE_PORT = 1; // LIBUS_LISTEN_EXCLUSIVE_PORT: in the engine's typings, not among its exports' types
/** With SO_REUSEPORT: Linux deals new connections out to all that share the port, by a hash of their addresses. */
const LISTEN_SHARED_PORT = 0;

function bind(app: TemplatedApp, { host, port }: Address, options: number): Promise<Bound> {
  return new Promise((resolve, reject) => {
    const listen = app.listen.bind(app) as unknown as Listen;
    listen(host, port, options, (socket) => {
      if (socket === false)
        reject(new Error(`cannot listen on WS_PORT ${port} of ${host}: in use, or permission denied`));
      else
        resolve({ port: uWS.us_socket_local_port(socket), close: () => uWS.us_listen_socket_close(socket) });
    });
  });
}

/** The engine takes host, port and options together. Its typings show only pairs of them. */
type Listen = (
  host: string,
  port: number,
  options: number,
  done: (socket: uWS.us_listen_socket | false) => void,
) => void;

interface RoutesOptions extends EngineOptions, SocketsOptions {
  readonly cap: Cap;
}

/** Each connection when it was accepted (1), and when it ends without having become a WebSocket (-1). */
function countConnections(app: TemplatedApp, { cap, log }: Pick<RoutesOptions, 'cap' | 'log'>): void {
  const guarded = guardedBy(log);
  app.filter((res, change) =>
    guarded('accept', () => {
      if (Number(change) < 0) cap.leaves();
      else if (!cap.enters()) res.close();
    }),
  );
}

function routes<S extends SocketSession>(
  app: TemplatedApp,
  relay: EngineRelay<S>,
  options: RoutesOptions,
): void {
  const { counts } = relay;
  const guarded = guardedBy(options.log);
  app.ws<SocketData<S>>('/ws', {
    compression: uWS.DISABLED,
    // One number for both kinds. The session holds each to its own.
    maxPayloadLength: Math.max(options.textBytes, HEADER_BYTES + options.frameBytes),
    maxBackpressure: BACKPRESSURE_BYTES_MAX,
    closeOnBackpressureLimit: 0,
    maxLifetime: 0,
    idleTimeout: options.idleTimeoutS,
    sendPingsAutomatically: true,

    /** Synchronous: an upgrade after the callback, which the engine offers too, sometimes shuts the new socket down. */
    upgrade(res, req, context) {
      try {
        const peer = addressText(new Uint8Array(res.getRemoteAddress()));
        const read = readUpgrade(req, peer, relay, options);
        if (read.kind === 'answer') writeAnswer(res, counts, read);
        else res.upgrade(socketData<S>(read), read.key, '', '', context);
      } catch (error) {
        options.log.error({ err: error }, 'upgrade failed');
        writeAnswer(res, counts, httpAnswers.failed);
      }
    },

    ...socketCallbacks(relay, options),
  });
  app.get('/ws', (res, req) => guarded('GET', () => writeAnswer(res, counts, answerToGet(req))));
  app.any('/ws', (res) => guarded('method', () => writeAnswer(res, counts, httpAnswers.noMethod)));
  app.any('/*', (res) => guarded('path', () => writeAnswer(res, counts, httpAnswers.noPath)));
}
