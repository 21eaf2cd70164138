// Creates the Node server below fastify, with its time limits, and answers the requests that no route receives.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError, type RefusalCode } from '../errors.js';
import type { HttpCounts } from './counts.js';
import { bodyOf, httpErrorOf } from './failures.js';
import type { ListenerSettings } from './settings.js';
import {
  addressReader,
  endUnread,
  inSlices,
  inTurn,
  limitConnections,
  paced,
  readInPieces,
} from './under-way.js';

/** Time (ms) to read on after a rejected connection's answer. An immediate close would reset the answer. */
const LINGER_MS_MAX = 1000;

/**
 * By method and path, functions that reject a request before it is read, because the route is full. They know at most
 * the client's address, which is undefined behind a trusted proxy. For a burst of connections this halves the CPU of each.
 */
export type Overflow = ReadonlyMap<string, (address?: string) => RefusalCode | null>;

/** A certificate chain and its private key, in PEM. */
export interface CertifiedKey {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** They are answered whatever else waits. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** By whether the server speaks TLS, its event for a connection that can carry requests. */
export const openedEvent = (certificate: CertifiedKey | null) =>
  certificate === null ? 'connection' : 'secureConnection';

export interface ListenerOptions {
  readonly config: ListenerSettings;
  /** Null: plain text. */
  readonly certificate: CertifiedKey | null;
  readonly counts: HttpCounts;
  readonly overflow: Overflow;
  /** Headers that these answers share with the answers of the routes. */
  readonly commonHeaders: (request: IncomingMessage) => Record<string, string>;
}

export interface Listener {
  /** Creates the server, with TLS if it has a certificate. `handle` receives every request that can be routed. */
  serve(handle: RequestListener): Server;
  /** Handles Node's `clientError`: bytes that are not HTTP, or that arrived too slowly. */
  answerClientError(error: Error & { code?: string }, socket: Duplex): void;
}

/** Creates the part of the server below fastify. */
export function createListener(options: ListenerOptions): Listener {
  const { config, certificate, counts, overflow, commonHeaders } = options;
  /** The newest response of each connection, finished or not. */
  const newest = new WeakMap<Duplex, ServerResponse>();
  /** Connections that had their last answer. What still arrives on them is discarded. */
  const refused = new WeakSet<Duplex>();
  /** Connections of CONNECT, which Node's parser leaves. */
  const tunnels = new WeakSet<Duplex>();
  const addressOf = addressReader(config.TRUST_PROXY);

  function serve(handle: RequestListener): Server {
    const countDrop = () => counts.connectionsDropped++;
    const take = inTurn(countDrop);
    const slice = inSlices();
    const receive = (request: IncomingMessage, response: ServerResponse, fault?: RefusalCode) => {
      const { socket } = request;
      if (refused.has(socket)) return;
      newest.set(socket, response);
      // After an Upgrade without a handler, Node's parser does not report headers that are too large.
      if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
      take({
        socket,
        response,
        handle() {
          if (PROBES.has(request.url ?? '')) begin();
          else slice(begin);
        },
      });
      function begin(): void {
        if (socket.destroyed) return;
        const code = fault ?? faultOf(request);
        if (code === null) handle(request, response);
        else refuseRequest(request, response, code);
      }
    };
    const server = createServerFor({ config, certificate });
    server.maxConnections = config.REST_CONNECTIONS;
    server.on('drop', countDrop);
    limitConnections(server, { connections: config.REST_CONNECTIONS, addressOf, onDropped: countDrop });
    endUnread(server, {
      event: openedEvent(certificate),
      msMax: 1000 * config.ANSWER_TIMEOUT_S,
      onEnded: () => counts.answersStalled++,
    });
    server.on('error', () => {}); // an accept that failed, for want of memory say: the next one may not
    server.on('request', (request, response) => receive(request, response));
    // Node answers these two without a body, or not at all.
    server.on('checkExpectation', (request, response) => receive(request, response, 'expectation_failed'));
    server.on('connect', (_request, socket) => {
      tunnels.add(socket);
      refuseInTurn(socket, 'method_not_allowed');
    });
    readInPieces(server, openedEvent(certificate), (socket) => tunnels.has(socket));
    return server;
  }

  function faultOf(request: IncomingMessage): RefusalCode | null {
    const { method, url = '' } = request;
    const full = overflow.get(`${method} ${url}`)?.(addressOf(request.socket));
    if (full) return full; // first, for what follows reads the headers
    if (url.length > config.URL_BYTES) return 'uri_too_long';
    // RFC 9112, 3.2: exactly one Host in HTTP/1.1, and never two.
    const hosts = request.headersDistinct.host?.length ?? 0;
    return hosts > 1 || (hosts === 0 && request.httpVersion !== '1.0') ? 'bad_request' : null;
  }

  function refuseRequest(request: IncomingMessage, response: ServerResponse, code: RefusalCode): void {
    counts.refused[code]++;
    const { status, headers, body } = answerOf(code);
    // The connection stays open, because a client that tries again would otherwise pay for another connection.
    response.writeHead(status, { ...headers, ...commonHeaders(request) }).end(body);
  }

  function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) socket.destroy();
    else if (!refused.has(socket)) refuseInTurn(socket, clientFaults[error.code ?? ''] ?? 'bad_request');
  }

  function refuseInTurn(socket: Duplex, code: RefusalCode): void {
    const response = newest.get(socket);
    // What came before is answered first: its client must not take this refusal for the answer to it.
    if (response?.req.complete && !response.writableFinished) {
      response.once('close', () => refuseConnection(socket, code));
    } else if (response?.headersSent && !response.req.complete) {
      socket.destroy(); // the faulty bytes belong to a request that has its answer
    } else {
      refuseConnection(socket, code);
    }
  }

  function refuseConnection(socket: Duplex, code: RefusalCode): void {
    refused.add(socket);
    counts.refused[code]++;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const { status, headers, body } = answerOf(code);
    const lines = Object.entries({ ...headers, connection: 'close' }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
    // A request that is late must not be carried out after its 408. Everything of it that came has been read.
    if (code === 'request_timeout') socket.destroy();
    else setTimeout(() => socket.destroy(), LINGER_MS_MAX).unref();
  }

  return { serve, answerClientError };
}

/** Codes of Node and of its parser. Every other HPE_... is a bad request. */
const clientFaults: Readonly<Record<string, RefusalCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
};

function createServerFor({ config, certificate }: Pick<ListenerOptions, 'config' | 'certificate'>): Server {
  const limits = {
    headersTimeout: 1000 * config.HEADERS_TIMEOUT_S,
    requestTimeout: 1000 * config.REQUEST_TIMEOUT_S,
    connectionsCheckingInterval: 500, // the two above are late by at most this
    keepAliveTimeout: 65_000, // longer than the 60 s most proxies keep an idle connection
    maxHeaderSize: config.HEADER_BYTES,
    requireHostHeader: false, // Node would answer without a body. `faultOf` looks instead
  } satisfies ServerOptions;
  if (certificate === null) return createServer(limits);
  const { cert, key } = certificate;
  const server = createTlsServer({ ...limits, cert, key, handshakeTimeout: limits.headersTimeout });
  // Node's own listener begins the handshake. Many at once would keep the thread for its whole length.
  const pace = paced();
  for (const begin of server.listeners('connection') as ((socket: Socket) => void)[]) {
    server.off('connection', begin);
    server.on('connection', (socket: Socket) => pace(() => socket.destroyed || begin.call(server, socket)));
  }
  return server;
}

/** Ready-made answers: in a storm the same one is given a thousand times. */
const answers = new Map<RefusalCode, Answer>();

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function answerOf(code: RefusalCode): Answer {
  const answer = answers.get(code) ?? makeAnswer(code);
  answers.set(code, answer);
  return answer;
}

function makeAnswer(code: RefusalCode): Answer {
  const { statusCode: status, message, headers: own } = httpErrorOf(new AppError(code));
  const body = JSON.stringify(bodyOf(message));
  const headers = {
    ...own,
    ...(status === 405 && { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE' }),
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  };
  return { status, headers, body };
}
