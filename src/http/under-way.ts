// Limits what is under way: requests of a connection, of a user and in one turn of the loop, handshakes, connections of an
// address, bytes and time of answers that clients do not read.
import type { ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.js';
import { trustIn } from '../proxies.js';
import { createShares } from '../shares.js';
import { addressKey } from './address.js';

/** Requests of a connection that wait behind the one in work. No client sends so many ahead. */
const AHEAD_MAX = 16;

interface Turn {
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly handle: () => void;
}

/**
 * Handles the requests of a connection one at a time, the next one when the answer before it has left. Node would hand
 * over all that came with one read, some 1,800 in 64 KiB, and keep their answers and the files that they opened. A
 * connection with more than AHEAD_MAX requests ahead is closed.
 */
export function inTurn(onDropped: () => void): (turn: Turn) => void {
  /** By connection with a request in work: what waits behind it. */
  const ahead = new WeakMap<Socket, Turn[]>();

  function begin(turn: Turn, waiting: Turn[]): void {
    const { socket, response, handle } = turn;
    response.once('close', () => {
      const next = waiting.shift();
      // Behind an answer with `Connection: close` nothing is carried out (RFC 9112, 9.6).
      if (next !== undefined && !socket.destroyed && !socket.writableEnded) begin(next, waiting);
      else ahead.delete(socket);
    });
    handle();
  }

  return (turn) => {
    const { socket } = turn;
    const waiting = ahead.get(socket);
    if (socket.destroyed) return;
    if (waiting === undefined) {
      const behind: Turn[] = [];
      ahead.set(socket, behind);
      begin(turn, behind);
    } else if (waiting.length < AHEAD_MAX) waiting.push(turn);
    else {
      onDropped();
      socket.destroy();
    }
  };
}

/** Requests begin for so long (ms) in one turn. The rest waits for the next turn, in order. */
const SLICE_MS = 10;

/**
 * Calls what it is given at once, and behind SLICE_MS of a turn in the next one. Handlers go on in microtasks, so each waits
 * for those of the one before it. What waits is bounded by its caller: one request of each connection.
 */
export function inSlices(nowMs = () => performance.now()): (begin: () => void) => void {
  const waiting: (() => void)[] = [];
  let turnAtMs: number | null = null;

  function nextTurn(): void {
    turnAtMs = null;
    if (waiting.length === 0) return;
    startTurn();
    beginNext();
  }

  function startTurn(): number {
    setImmediate(nextTurn);
    turnAtMs = nowMs();
    return turnAtMs;
  }

  function beginNext(): void {
    const begin = waiting.shift();
    if (begin === undefined) return;
    begin();
    if (turnAtMs !== null && nowMs() - turnAtMs < SLICE_MS) queueMicrotask(beginNext);
  }

  return (begin) => {
    const sinceMs = turnAtMs ?? startTurn();
    if (waiting.length > 0 || nowMs() - sinceMs >= SLICE_MS) waiting.push(begin);
    else begin();
  };
}

/** Node hands its parser up to 64 KiB at once: 1,800 requests, which take 50 ms, also behind a destroyed socket. */
const READ_BYTES = 2048;

/**
 * The parser of each connection gets what came in pieces, so that nothing is read behind the request that ends the connection.
 * `isOver`: Node's parser has left the connection, and another one may have it.
 */
export function readInPieces(server: Server, event: string, isOver: (socket: Socket) => boolean): void {
  server.on(event, (socket: Socket) => {
    const [parse] = socket.listeners('data');
    if (parse === undefined) return;
    socket.off('data', parse as (bytes: Buffer) => void);
    socket.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length && !socket.destroyed && !isOver(socket); at += READ_BYTES)
        parse.call(socket, bytes.subarray(at, at + READ_BYTES));
    });
  });
}

/** TLS handshakes that begin in one turn. Each takes 1.5 ms of this thread. */
const HANDSHAKES_AT_ONCE = 4;

/** The same by number. What waits is bounded by the connections of the server. */
export function paced(): (begin: () => void) => void {
  const waiting: (() => void)[] = [];
  let begun = 0;

  function nextTurn(): void {
    begun = 0;
    for (const begin of waiting.splice(0, HANDSHAKES_AT_ONCE)) start(begin);
  }

  function start(begin: () => void): void {
    if (begun++ === 0) setImmediate(nextTurn);
    begin();
  }

  return (begin) => {
    if (waiting.length > 0 || begun >= HANDSHAKES_AT_ONCE) waiting.push(begin);
    else start(begin);
  };
}

/**
 * Counts each request of an owner until its answer has been sent. An owner is a user, or a token until its user is
 * verified. A request can count for several owners. Throws `too_many_requests`.
 */
export function limitRequests({ REQUESTS_PER_USER }: { readonly REQUESTS_PER_USER: number }) {
  const owners = createShares<string>(REQUESTS_PER_USER);
  return ({ raw: { socket } }: FastifyRequest, reply: FastifyReply, owner: string): void => {
    if (!owners.admits(owner)) throw new AppError('too_many_requests');
    if (socket.destroyed) return; // its close was perhaps reported already
    owners.take(owner);
    reply.raw.once('close', () => owners.giveBack(owner));
  };
}

/** An answer below this size (bytes) is as cheap as the connection that waits for it. */
const SMALL_BYTES = 16_384;
/** Of all larger answers that wait to be read. A list of 20,000 members has 3.6 MB. */
const WAITING_BYTES_MAX = 96 * 2 ** 20;
/** Of one user, or of one address without a user. */
const WAITING_SHARE = 1 / 3;

/** The bytes of larger answers that wait to be read. */
export type Unread = ReturnType<typeof limitAnswers>;

/** Counts the bytes of each larger answer of a user, or of an address without one, until it has been sent. */
export function limitAnswers(bytesMax = WAITING_BYTES_MAX) {
  const waitingOf = new Map<string, number>();
  let waiting = 0;
  const ownerOf = ({ user, ip }: Asking) => user?.sub ?? addressKey(ip);
  const add = (owner: string, bytes: number) => {
    waiting += bytes;
    const left = (waitingOf.get(owner) ?? 0) + bytes;
    if (left > 0) waitingOf.set(owner, left);
    else waitingOf.delete(owner);
  };
  return {
    /** Throws `too_many_requests` when so many bytes more are too many. */
    admit(request: Asking, bytes: number): void {
      if (bytes < SMALL_BYTES) return;
      // The first one always fits, however long: it could not be read otherwise.
      const fits = (others: number, max: number) => others === 0 || others + bytes <= max;
      const ofOwner = waitingOf.get(ownerOf(request)) ?? 0;
      if (!fits(waiting, bytesMax) || !fits(ofOwner, WAITING_SHARE * bytesMax))
        throw new AppError('too_many_requests');
    },
    count(request: Asking, { raw }: FastifyReply, bytes: number): void {
      if (bytes < SMALL_BYTES || raw.socket?.destroyed !== false) return; // its close was perhaps reported already
      const owner = ownerOf(request);
      add(owner, bytes);
      raw.once('close', () => add(owner, -bytes));
    },
  };
}

type Asking = Pick<FastifyRequest, 'ip'> & { readonly user?: { readonly sub: string } };

/** One address may hold this share of all connections. It is large, because a fleet behind a carrier has one address. */
const ADDRESS_SHARE = 0.75;

/** Closes a connection beyond the share of its address. Connections of trusted proxies are not counted. */
export function limitConnections(
  server: Server,
  {
    connections,
    addressOf,
    onDropped,
  }: { connections: number; addressOf: ReturnType<typeof addressReader>; onDropped: () => void },
): void {
  const addresses = createShares<string>(Math.ceil(ADDRESS_SHARE * connections));
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket);
    if (address === undefined) return;
    if (!addresses.admits(address)) {
      onDropped();
      socket.destroy();
      return;
    }
    addresses.take(address);
    socket.once('close', () => addresses.giveBack(address));
  });
}

/** Reads the address key of a connection. undefined: it comes from a trusted proxy, which reports the addresses. */
export function addressReader(trustedProxies: readonly string[]) {
  const isTrusted = trustIn(trustedProxies);
  return ({ remoteAddress: ip = '' }: Socket): string | undefined =>
    isTrusted(ip) ? undefined : addressKey(ip);
}

/** What had left of a connection at the last look: bytes of whole writes, and bytes of the write under way to come. */
interface Look {
  readonly written: number;
  readonly queued: number;
}

/**
 * Checks all connections every `msMax`. Closes those with waiting bytes of which none was sent since the last check, so
 * after `msMax` to twice that. Bytes from the client do not count, unlike with the socket's own timer.
 * LIMIT: a byte counts as sent when the kernel takes it, and the kernel takes a large part of its buffer at once (4 MB
 * on the loopback). A client that reads less than that in twice the time is closed. A client that reads slightly more
 * keeps the answer in memory. A limit on the average rate would lift it.
 */
export function endUnread(
  server: Server,
  { event, msMax, onEnded }: { event: 'connection' | 'secureConnection'; msMax: number; onEnded: () => void },
): void {
  const looks = new Map<Socket, Look>();
  server.on(event, (socket: Socket) => {
    looks.set(socket, { written: 0, queued: 0 });
    socket.once('close', () => looks.delete(socket));
  });

  const timer = setInterval(() => {
    for (const [socket, last] of looks) {
      const now = lookAt(socket);
      looks.set(socket, now);
      const isWaiting = socket.writableLength > 0;
      if (!isWaiting || now.written !== last.written || now.queued !== last.queued) continue;
      onEnded();
      socket.destroy();
    }
  }, msMax);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

function lookAt(socket: Socket): Look {
  // Nothing else tells how far a write is. Node's own timer of a socket reads it, too.
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly writeQueueSize: number } };
  return { written: socket.bytesWritten - socket.writableLength, queued: handle?.writeQueueSize ?? 0 };
}
