// Below fastify: the Node server, its time limits, and an answer for whatever never becomes a request of a route.
import { readFileSync } from 'node:fs';
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
import type { Duplex } from 'node:stream';
import type { Config } from '../config.js';
import { AppError, type RefusalCode } from '../errors.js';
import { bodyOf, headersOf } from './failures.js';

/** Longest request target; the longest of ours has about 60 bytes. */
export const URL_BYTES_MAX = 8192;

const limits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 500, // the two above are late by at most this
  keepAliveTimeout: 65_000, // longer than the 60 s most proxies keep an idle connection
  maxHeaderSize: 16_384,
  requireHostHeader: false, // Node would answer without a body; faultOf looks instead
} satisfies ServerOptions;

/** After refusing a connection's bytes we read on so long, for closing at once would reset the answer away. */
const LINGER_MS_MAX = 1000;

/** The server for the settings, TLS or plain; `handle` gets every request that is fit for routing. */
export function createListener(config: Config, handle: RequestListener): Server {
  const receive = (request: IncomingMessage, response: ServerResponse, fault = faultOf(request)) => {
    if (refused.has(request.socket)) return;
    newest.set(request.socket, response);
    if (fault === null) handle(request, response);
    else refuseRequest(response, fault);
  };
  const server = createServerFor(config);
  server.on('request', (request, response) => receive(request, response));
  // Node answers these two without a body, or not at all.
  server.on('checkExpectation', (request, response) => receive(request, response, 'expectation_failed'));
  server.on('connect', (_request, socket) => refuseInTurn(socket, 'method_not_allowed'));
  return server;
}

function createServerFor({ TLS_CERT_FILE: cert, TLS_KEY_FILE: key }: Config): Server {
  if (cert === undefined || key === undefined) return createServer(limits);
  const files = { cert: readFileSync(cert), key: readFileSync(key) };
  return createTlsServer({ ...limits, ...files, handshakeTimeout: limits.headersTimeout });
}

function faultOf(request: IncomingMessage): RefusalCode | null {
  if ((request.url ?? '').length > URL_BYTES_MAX) return 'uri_too_long';
  // RFC 9112, 3.2: exactly one Host in HTTP/1.1, and never two.
  const hosts = request.headersDistinct.host?.length ?? 0;
  return hosts > 1 || (hosts === 0 && request.httpVersion !== '1.0') ? 'bad_request' : null;
}

function refuseRequest(response: ServerResponse, code: RefusalCode): void {
  const { status, headers, body } = answerOf(code);
  response.writeHead(status, headers).end(body);
}

/** For Node's `clientError`: bytes that are no HTTP, or that came too slowly. */
export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  else if (!refused.has(socket)) refuseInTurn(socket, clientFaults[error.code ?? ''] ?? 'bad_request');
}

/** Codes of Node and of its parser; every other HPE_... is a bad request. */
const clientFaults: Readonly<Record<string, RefusalCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
};

/** The newest response of each connection, finished or not. */
const newest = new WeakMap<Duplex, ServerResponse>();
/** Connections that had their last answer; what still arrives on them is discarded. */
const refused = new WeakSet<Duplex>();

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
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = answerOf(code);
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  // A request that is late must not be carried out after its 408; everything of it that came has been read.
  if (code === 'request_timeout') socket.destroy();
  else setTimeout(() => socket.destroy(), LINGER_MS_MAX).unref();
}

function answerOf(code: RefusalCode) {
  const refusal = new AppError(code);
  const body = JSON.stringify(bodyOf(refusal));
  const headers = {
    ...headersOf(refusal),
    ...(refusal.status === 405 && { allow: 'GET, HEAD, POST, PATCH, DELETE' }),
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  };
  return { status: refusal.status, headers, body };
}
