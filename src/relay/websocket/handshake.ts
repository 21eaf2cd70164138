// Checks what a client must send to open a WebSocket, and answers every other request on the relay's port. Knows no
// uWebSockets.js: a request and an answer are described here.
import type { RefusalCode } from '../../errors.js';
import { clientAddress } from '../../proxies.js';
import type { Churn } from '../delivery/churn.js';
import { type Counts, countNotUpgraded } from '../figures/counts.js';
import type { Claims, Handshake } from '../hub/admission.js';
import { mayOpen, type Origins } from './origins.js';

/** A request as the checks read it. That of uWebSockets.js has this shape. */
export interface UpgradeRequest {
  /** Empty when there is none. */
  getHeader(name: string): string;
  getQuery(): string;
}

/** An answer as it is written. That of uWebSockets.js has this shape. */
export interface PlainResponse {
  cork(act: () => void): unknown;
  writeStatus(status: string): PlainResponse;
  writeHeader(name: string, value: string): PlainResponse;
  end(body: string, closeConnection: boolean): unknown;
}

/** What the checks need of the relay. */
export interface HandshakeRelay {
  readonly churn: Pick<Churn, 'passes'>;
  verifyToken(token: string): Claims | null;
}

/** A request that becomes a WebSocket. */
export interface Upgrade extends Handshake {
  readonly kind: 'upgrade';
  /** Sec-WebSocket-Key. */
  readonly key: string;
}

type OwnCode =
  | 'invalid_websocket_key'
  | 'origin_not_allowed'
  | 'upgrade_required'
  | 'wrong_websocket_version';

/** The answer to any other request. */
export interface HttpAnswer {
  readonly kind: 'answer';
  readonly status: string;
  /** For programs. Those that REST has too have the same name there. */
  readonly code: RefusalCode | OwnCode;
  readonly error: string;
  readonly header?: readonly [name: string, value: string];
}

const answer = (
  status: string,
  code: HttpAnswer['code'],
  error: string,
  header?: HttpAnswer['header'],
): HttpAnswer => ({
  ...{ kind: 'answer', status, code, error },
  ...(header !== undefined && { header }),
});

export const httpAnswers = {
  badKey: answer('400 Bad Request', 'invalid_websocket_key', 'Sec-WebSocket-Key is not valid'),
  badOrigin: answer('403 Forbidden', 'origin_not_allowed', 'origin not allowed'),
  noPath: answer('404 Not Found', 'unknown_path', 'no such path'),
  noMethod: answer('405 Method Not Allowed', 'method_not_allowed', 'method not allowed', ['Allow', 'GET']),
  noUpgrade: answer('426 Upgrade Required', 'upgrade_required', 'WebSocket handshake required', [
    'Upgrade',
    'websocket',
  ]),
  badVersion: answer('426 Upgrade Required', 'wrong_websocket_version', 'WebSocket version must be 13', [
    'Sec-WebSocket-Version',
    '13',
  ]),
  failed: answer('500 Internal Server Error', 'internal', 'internal error'),
} as const;

/** Who may open sockets, and how the address of a client is found. */
export interface Entrance {
  readonly origins: Origins;
  readonly isTrusted: (address: string) => boolean;
}

/** What an app may call itself, such as `acme-android/3.2`. Anything else counts as absent. */
const CLIENT = /^[\x20-\x7e]{1,64}$/;

/** Reads a request of this peer that the engine takes for an upgrade. */
export function readUpgrade(
  request: UpgradeRequest,
  peer: string,
  relay: HandshakeRelay,
  { origins, isTrusted }: Entrance,
): Upgrade | HttpAnswer {
  const key = request.getHeader('sec-websocket-key');
  const headers = { origin: request.getHeader('origin'), host: request.getHeader('host') };
  // The engine answers 101 to any Upgrade, version and key. RFC 6455 section 4.2.1 asks for websocket, 13 and 16 bytes.
  if (!isUpgrade(request)) return httpAnswers.noUpgrade;
  if (request.getHeader('sec-websocket-version') !== '13') return httpAnswers.badVersion;
  if (!SIXTEEN_BYTES.test(key)) return httpAnswers.badKey;
  if (!mayOpen(headers, origins)) return httpAnswers.badOrigin;
  relay.churn.passes();
  const query = new URLSearchParams(request.getQuery());
  const claims = relay.verifyToken(readOnly(query, 'token') ?? '');
  const client = readOnly(query, 'client') ?? '';
  const from = {
    address: clientAddress(isTrusted, { peer, forwardedFor: request.getHeader('x-forwarded-for') }),
    client: CLIENT.test(client) ? client : null,
  };
  return { kind: 'upgrade', key, claims, resume: readOnly(query, 'resume'), from };
}

/** The answer to a GET that the engine does not take for an upgrade: it looks for a key of 24 characters only. */
export const answerToGet = (request: UpgradeRequest): HttpAnswer =>
  isUpgrade(request) ? httpAnswers.badKey : httpAnswers.noUpgrade;

/** Writes the answer, counts it, and closes the connection. */
export function writeAnswer(
  response: PlainResponse,
  counts: Counts,
  { status, code, error, header }: HttpAnswer,
): void {
  countNotUpgraded(counts, Number.parseInt(status, 10));
  response.cork(() => {
    response.writeStatus(status).writeHeader('Content-Type', 'application/json; charset=utf-8');
    response.writeHeader('Error-Code', code);
    if (header !== undefined) response.writeHeader(header[0], header[1]);
    response.end(JSON.stringify({ error }), true);
  });
}

const isUpgrade = (request: UpgradeRequest) => request.getHeader('upgrade').toLowerCase() === 'websocket';

const SIXTEEN_BYTES = /^[+/0-9A-Za-z]{22}==$/;

/** The value of that name. null when there is none or more than one: a client that sends two means neither. */
function readOnly(query: URLSearchParams, name: string): string | null {
  const values = query.getAll(name);
  return values.length === 1 ? (values[0] ?? null) : null;
}
