// Clients that want to harm, in a thread of their own, so that the radios beside them are measured and not their work.
import { randomBytes } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** A service with TLS on both ports. */
export interface Target {
  readonly restPort: number;
  readonly wsPort: number;
  /** Of an ordinary user. */
  readonly token: string;
  readonly seconds: number;
}

/** How often each of them did what it does. */
export type Deeds = Readonly<Record<string, number>>;

/** Resolves when the time is over and all their sockets are closed. */
export function hostileClients(target: Target): Promise<Deeds> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: target });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

const HOLD_MS = 1500;

async function attack({ restPort, wsPort, token, seconds }: Target): Promise<Deeds> {
  const untilMs = performance.now() + seconds * 1000;
  const sockets = new Set<Socket>();
  const deeds: Record<string, number> = {};

  function open(port: number, isTls: boolean): Promise<Socket> {
    return new Promise((resolve) => {
      const to = { port, host: '127.0.0.1' };
      const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connectTcp(to);
      sockets.add(socket);
      socket.on('error', () => {}); // expected: the service ends them
      socket.on('close', () => {
        sockets.delete(socket);
        resolve(socket);
      });
      socket.once(isTls ? 'secureConnect' : 'connect', () => resolve(socket));
    });
  }

  /** Again and again until the time is over: so many connections that send this, keep still for a while and go. */
  async function hold(what: string, count: number, port: number, bytes: () => string | Buffer, isTls = true) {
    while (performance.now() < untilMs) {
      const held = await Promise.all(Array.from({ length: count }, () => open(port, isTls)));
      for (const socket of held) {
        socket.pause(); // it reads no answer
        if (!socket.destroyed) socket.write(bytes());
      }
      deeds[what] = (deeds[what] ?? 0) + count;
      await pause(HOLD_MS);
      for (const socket of held) socket.destroy();
    }
  }

  /** So many a second, each on a connection of its own that ends with the answer. */
  async function rush(what: string, perSecond: number, port: number, bytes: () => string) {
    while (performance.now() < untilMs) {
      void open(port, true).then((socket) => {
        socket.on('data', () => socket.destroy());
        if (!socket.destroyed) socket.write(bytes());
      });
      deeds[what] = (deeds[what] ?? 0) + 1;
      await pause(1000 / perSecond);
    }
  }

  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;
  const upgrade = (query: string) =>
    get(
      `/ws${query}`,
      `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n`,
    );
  const authorization = `authorization: Bearer ${token}\r\n`;
  await Promise.all([
    hold('64 kB of requests ahead', 4, restPort, () => get('/docs/json').repeat(1800)),
    hold('files that are not read', 40, restPort, () => get('/docs/static/swagger-ui-bundle.js').repeat(16)),
    hold('documents that are not read', 40, restPort, () => get('/openapi.json').repeat(16)),
    hold('lists that are not read', 20, restPort, () =>
      get('/talkgroups/directory', authorization).repeat(16),
    ),
    hold('half a request', 60, restPort, () => 'POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-le'),
    hold('a cut first line', 60, restPort, () => 'GE'),
    hold('half a handshake of TLS', 60, restPort, () => Buffer.from('160301020001', 'hex'), false),
    hold('half a handshake of a radio', 60, wsPort, () => 'GET /ws?token='),
    rush('radios without a token', 40, wsPort, () => upgrade('')),
    rush('radios with a wrong token', 40, wsPort, () => upgrade('?token=x.y.z')),
    rush('radios of one user', 40, wsPort, () => upgrade(`?token=${token}`)),
    rush('wrong passwords', 10, restPort, () => {
      const body = JSON.stringify({ username: 'nobody', password: randomBytes(8).toString('hex') });
      return `POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    }),
  ]);
  for (const socket of sockets) socket.destroy();
  while (sockets.size > 0) await pause(20);
  return deeds;
}

if (!isMainThread && parentPort !== null) parentPort.postMessage(await attack(workerData as Target));
