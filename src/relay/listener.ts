// The relay's own port: the only file that knows uWebSockets.js. Every callback is wrapped, for a throw in one would
// end the process; every option is set, for the engine's defaults change. ENGINE.md: what differs between its releases.
import uWS, { type HttpRequest, type HttpResponse, type TemplatedApp, type WebSocket } from 'uWebSockets.js';
import { setTimeout } from 'node:timers/promises';
import { closes } from '../protocol/closes.js';
import { HEADER_BYTES } from '../protocol/frame.js';
import type { CertificateFiles } from '../tls/certificate.js';
import type { Publisher } from './delivery/peer.js';
import { countEngineDrop, countNotUpgraded, countRefused, type EngineDrop } from './figures/counts.js';
import type { Admission, Relay, Verified } from './relay.js';
import type { Session } from './session.js';
import { type Cap, type CapLog, type ConnectionFigures, createCap } from './websocket/cap.js';
import type { Early, EarlyMessages } from './websocket/early.js';
import { byTurns } from './websocket/turns.js';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls: CertificateFiles | null;
  readonly frameBytes: number;
  readonly textBytes: number;
  /** Seconds; the engine pings before. */
  readonly idleTimeoutS: number;
  /** Web origins that may open sockets; null: any. Native apps send no Origin and are let in. */
  readonly origins: readonly string[] | null;
  /** Connections to the port, with or without a WebSocket; a handshake beyond it is refused. */
  readonly socketsMax: number;
  /** Of the process: connections take descriptors below this number only. */
  readonly descriptorMax: number;
  readonly log: CapLog;
}

/** The engine before it listens: the relay publishes through it, then listens with itself. */
export interface Engine {
  readonly publisher: Publisher;
  /** Resolves with the port taken. Rejects when it is taken already. */
  listen(relay: Relay, early: EarlyMessages): Promise<number>;
  /** Another connection would be refused. */
  isFull(): boolean;
  connections(): ConnectionFigures;
  /**
   * Reads the files of `tls` again: new connections to names that fit a pattern get what is in them now. Open sockets
   * go on as they are, and topics are shared. False: TLS cannot use the files, or the port is closed.
   * LIMIT: a client that names no server gets the certificate of the start; the engine cannot replace that one.
   */
  addServerNames(patterns: readonly string[]): boolean;
  /** Stops accepting; whoever had asked for its upgrade is told, and has time to read it, before what is open is dropped. */
  close(): Promise<void>;
}

/** The second fence behind a slow receiver: beyond so many bytes in the engine's own buffer a delivery is dropped. */
const BACKPRESSURE_BYTES_MAX = 64 * 1024;

/** Before it is the turn of all who had come when the port was closed. */
const LAST_TURNS_MS = 20;
/**
 * The last ones get so long to read why: a socket that goes with unread bytes of a talker goes with a reset, and a
 * radio that still writes into it loses the close it had not read. The engine does not tell when a peer has answered.
 */
const LINGER_MS = 500;
/** Of a radio that sent nothing for LINGER_MS nothing is on its way: its close only has to reach it. */
const QUIET_LINGER_MS = 200;

/** What the engine carries for a socket. It copies the properties of what upgrade() gets, hence the one more hop. */
interface SocketData {
  /** Of the token, verified before the handshake completes; null when it was refused, and once it is seated. */
  claims: Verified;
  /** Of the session it would go on with; null: a new one, and once it is admitted. */
  resume: string | null;
  /** What arrived before WELCOME; null while nothing did, and once it is seated. */
  early: Early | null;
  /** null until it is seated. */
  session: Session | null;
  closed: boolean;
}

export function createEngine(options: ListenerOptions): Engine {
  // Made when it listens: an app of the engine that never did ends the process with a fault.
  let app: TemplatedApp | null = null;
  let bound: Bound | null = null;
  let addRoutes = (_app: TemplatedApp) => {};
  const cap = createCap({ ...options, connectionsMax: options.socketsMax });
  /** Until then a socket that was told that the server ends has time to read it. */
  let lingersUntilMs = Number.NEGATIVE_INFINITY;
  const told = (session: Session | null) => {
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
    async listen(relay, early) {
      const { tls, host, port } = options;
      const made = tls === null ? uWS.App() : uWS.SSLApp(engineFiles(tls));
      app = made;
      countConnections(made, { ...options, cap });
      addRoutes = (to) => routes(to, relay, { ...options, early, told, cap });
      addRoutes(made);
      bound = await bind(made, { host, port });
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
  };
}

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

/** A socket that listens. */
interface Bound {
  readonly port: number;
  close(): void;
}

function bind(app: TemplatedApp, { host, port }: { host: string; port: number }): Promise<Bound> {
  return new Promise((resolve, reject) => {
    const listen = app.listen.bind(app) as unknown as Listen;
    listen(host, port, LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket === false)
        reject(new Error(`cannot listen on WS_PORT ${port} of ${host}: in use, or permission denied`));
      else
        resolve({ port: uWS.us_socket_local_port(socket), close: () => uWS.us_listen_socket_close(socket) });
    });
  });
}

/** Without it a second server binds the same port and silently takes half of the connections. */
const LISTEN_EXCLUSIVE_PORT = 1; // LIBUS_LISTEN_EXCLUSIVE_PORT: in the engine's typings, not among its exports' types

/** The engine takes host, port and options together; its typings show only pairs of them. */
type Listen = (
  host: string,
  port: number,
  options: number,
  done: (socket: uWS.us_listen_socket | false) => void,
) => void;

interface RoutesOptions extends ListenerOptions {
  readonly cap: Cap;
  readonly early: EarlyMessages;
  /** The socket of this session, null: of none, is told that the server ends. */
  readonly told: (session: Session | null) => void;
}

type Guarded = (callback: string, act: () => void) => void;

const guardedBy =
  (log: CapLog): Guarded =>
  (callback, act) => {
    try {
      act();
    } catch (error) {
      log.error({ callback, err: error }, 'relay callback failed');
    }
  };

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

function routes(app: TemplatedApp, relay: Relay, options: RoutesOptions): void {
  const { cap } = options;
  const guarded = guardedBy(options.log);
  /** A throw ends the one session it met. */
  const ofSession = (ws: WebSocket<SocketData>, act: (session: Session) => void) => {
    const { session } = ws.getUserData();
    if (session === null) return;
    try {
      act(session);
    } catch (error) {
      relay.fail(session, error);
    }
  };
  /** Of a socket that waits for WELCOME; false from `act`: it floods, and is closed. */
  const ofWaiting = (ws: WebSocket<SocketData>, act: (early: Early) => boolean) => {
    const data = ws.getUserData();
    const { claims } = data;
    if (claims === null) return;
    guarded('early message', () => {
      data.early ??= options.early.of(claims.sub);
      if (act(data.early)) return;
      countRefused(relay.counts, closes.rate_limited);
      ws.end(closes.rate_limited.code, closes.rate_limited.reason);
    });
  };
  const receiveEarly = (ws: WebSocket<SocketData>, message: ArrayBuffer, isBinary: boolean) => {
    if (ws.getUserData().claims !== null) ofWaiting(ws, (early) => early.receive(message, isBinary));
    else if (isBinary) relay.counts.dropped.no_session++;
    else relay.counts.textsDropped.no_session++;
  };
  const admit = (ws: WebSocket<SocketData>) => {
    const data = ws.getUserData();
    if (data.closed) return;
    if (cap.isOver()) {
      countRefused(relay.counts, closes.overloaded);
      return ws.end(closes.overloaded.code, closes.overloaded.reason);
    }
    const { claims, resume } = data;
    relay.admit({ claims, resume }, (admission) => guarded('seat', () => seat(ws, data, admission, relay)));
  };
  app.ws<SocketData>('/ws', {
    compression: uWS.DISABLED,
    // One number for both kinds; the session holds each to its own.
    maxPayloadLength: Math.max(options.textBytes, HEADER_BYTES + options.frameBytes),
    maxBackpressure: BACKPRESSURE_BYTES_MAX,
    closeOnBackpressureLimit: 0,
    maxLifetime: 0,
    idleTimeout: options.idleTimeoutS,
    sendPingsAutomatically: true,

    upgrade(res, req, context) {
      try {
        upgrade(res, req, context, relay, options);
      } catch (error) {
        options.log.error({ err: error }, 'upgrade failed');
        answer(relay, res, '500 Internal Server Error', 'internal error');
      }
    },

    // Not in this callback: its writes are corked with the handshake, and a close in it waits 15 s for the peer's.
    open: byTurns((ws) => guarded('admission', () => admit(ws))),

    message(ws, message, isBinary) {
      const { session } = ws.getUserData();
      if (session === null) return receiveEarly(ws, message, isBinary);
      try {
        if (isBinary) session.receiveAudio(message);
        else session.receiveText(message);
      } catch (error) {
        relay.fail(session, error);
      }
    },

    dropped(ws, message, isBinary) {
      relay.counts.overruns++;
      const { session } = ws.getUserData();
      if (session === null) return;
      try {
        session.reception.overrun(isText(message, isBinary));
      } catch (error) {
        // Not in the middle of the engine's own walk through its topics: the end of a socket frees what it stands on.
        setImmediate(relay.fail, session, error);
      }
    },

    drain(ws) {
      if (ws.getBufferedAmount() === 0) ofSession(ws, ({ reception }) => reception.drained());
    },

    ping(ws) {
      if (ws.getUserData().session === null) ofWaiting(ws, (early) => early.pinged());
      else ofSession(ws, (session) => session.pinged());
    },

    pong(ws, message) {
      if (ws.getUserData().session === null) ofWaiting(ws, (early) => early.pinged());
      else ofSession(ws, (session) => session.ponged(message));
    },

    close(ws, code, message) {
      cap.leaves();
      relay.churn.passes();
      const data = ws.getUserData();
      if (code === closes.restart.code) options.told(data.session);
      data.closed = true;
      guarded('close', () => data.early?.drop());
      // Around it once more: the socket that a failed session is closed with is gone already.
      guarded('close', () =>
        ofSession(ws, (session) => {
          const drop = readDrop(code, message);
          if (drop !== null) countEngineDrop(relay.counts, drop);
          relay.closed(session, code);
        }),
      );
    },
  });
  // What the engine does not take for an upgrade: it looks for a key of 24 characters, and at nothing else.
  app.get('/ws', (res, req) =>
    guarded('GET', () => (isUpgrade(req) ? answerBadKey(relay, res) : answerNoUpgrade(relay, res))),
  );
  app.any('/ws', (res) =>
    guarded('method', () =>
      answer(relay, res, '405 Method Not Allowed', 'method not allowed', ['Allow', 'GET']),
    ),
  );
  app.any('/*', (res) => guarded('path', () => answer(relay, res, '404 Not Found', 'no such path')));
}

/** Synchronous: an upgrade after the callback, which the engine offers too, sometimes shuts the new socket down. */
function upgrade(
  res: HttpResponse,
  req: HttpRequest,
  context: uWS.us_socket_context_t,
  relay: Relay,
  { origins }: ListenerOptions,
): void {
  const key = req.getHeader('sec-websocket-key');
  const origin = req.getHeader('origin');
  // The engine answers 101 to any Upgrade, version and key; RFC 6455 section 4.2.1 asks for websocket, 13 and 16 bytes.
  if (!isUpgrade(req)) return answerNoUpgrade(relay, res);
  if (req.getHeader('sec-websocket-version') !== '13') {
    return answer(relay, res, '426 Upgrade Required', 'WebSocket version must be 13', [
      'Sec-WebSocket-Version',
      '13',
    ]);
  }
  if (!SIXTEEN_BYTES.test(key)) return answerBadKey(relay, res);
  if (origins !== null && origin !== '' && !origins.includes(origin)) {
    return answer(relay, res, '403 Forbidden', 'origin not allowed');
  }
  relay.churn.passes();
  const query = new URLSearchParams(req.getQuery());
  const claims = relay.verifyToken(readOnly(query, 'token') ?? '');
  const resume = readOnly(query, 'resume');
  const data: SocketData = { claims, resume, early: null, session: null, closed: false };
  res.upgrade(data, key, '', '', context);
}

function seat(ws: WebSocket<SocketData>, data: SocketData, admission: Admission, relay: Relay): void {
  if (data.closed) return;
  if ('close' in admission) return ws.end(admission.close.code, admission.close.reason);
  // A quarter of a KiB that an idle radio would keep for nothing.
  data.claims = null;
  data.resume = null;
  data.session = admission.session;
  try {
    // One write for all it is told at once.
    ws.cork(() => relay.open(admission, ws));
    data.early?.carryOut(admission.session);
  } catch (error) {
    relay.fail(admission.session, error);
    if (!data.closed) ws.end(closes.internal.code, closes.internal.reason); // it may not have had its socket yet
  }
  data.early = null;
}

/** Whether the engine dropped one of our texts. It names a ping, too, as if it were a text. (Tried on both releases.) */
const isText = (message: ArrayBuffer, isBinary: boolean) =>
  !isBinary && new Uint8Array(message)[0] === OPENING_BRACE;

const OPENING_BRACE = 0x7b;

/** Why the engine dropped it; null for any other end. 1006 never arrives: its text is the engine's, not a client's. */
function readDrop(code: number, message: ArrayBuffer): EngineDrop | null {
  if (code !== 1006 || message.byteLength === 0) return null;
  return ENGINE_WORDS.get(Buffer.from(message).toString()) ?? null;
}

/** In the words of both releases of the engine in 3.0.6. A message that is too big for it ends before it is read, hence without a 1009. */
const ENGINE_WORDS: ReadonlyMap<string, EngineDrop> = new Map([
  ['Received too big message', 'message too big'],
  ['WebSocket timed out from inactivity', 'timed out'],
]);

const isUpgrade = (req: HttpRequest) => req.getHeader('upgrade').toLowerCase() === 'websocket';

const SIXTEEN_BYTES = /^[+/0-9A-Za-z]{22}==$/;

/** The one value of that name; null when there is none or more than one: whoever sends two means neither. */
function readOnly(query: URLSearchParams, name: string): string | null {
  const values = query.getAll(name);
  return values.length === 1 ? (values[0] ?? null) : null;
}

const answerNoUpgrade = (relay: Relay, res: HttpResponse) =>
  answer(relay, res, '426 Upgrade Required', 'WebSocket handshake required', ['Upgrade', 'websocket']);

const answerBadKey = (relay: Relay, res: HttpResponse) =>
  answer(relay, res, '400 Bad Request', 'Sec-WebSocket-Key is not valid');

function answer(
  { counts }: Relay,
  res: HttpResponse,
  status: string,
  error: string,
  header?: readonly [name: string, value: string],
): void {
  countNotUpgraded(counts, Number.parseInt(status, 10));
  res.cork(() => {
    res.writeStatus(status).writeHeader('Content-Type', 'application/json; charset=utf-8');
    if (header !== undefined) res.writeHeader(header[0], header[1]);
    res.end(JSON.stringify({ error }), true);
  });
}
