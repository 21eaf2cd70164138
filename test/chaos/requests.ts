// REST as the runner speaks it: a connection for each request, and a record of what became of it.
import { request } from 'node:http';
import type { RequestRecord } from './history.js';

export interface Answer {
  /** null: no answer. */
  readonly status: number | null;
  /** False when nothing can have been done, for there was no connection. */
  readonly wasConnected: boolean;
  readonly body: Readonly<Record<string, unknown>>;
  /** When the answer, or the lack of one, was known. */
  readonly atMs: number;
}

export type Call = (ask: {
  readonly method: string;
  readonly path: string;
  readonly token?: string | null;
  readonly body?: unknown;
}) => Promise<Answer>;

/** I6 is judged by the invariant. A request that waits longer than this has seen it broken. */
const PATIENCE_MS = 15_000;

/** Calls the service at `base`. `record` gets every request. Never throws. */
export function createCaller(base: string, record: (request: RequestRecord) => void): Call {
  return ({ method, path, token = null, body }) =>
    new Promise((resolve) => {
      const startedAtMs = performance.now();
      let connectedAtMs: number | null = null;
      const text = body === undefined ? null : JSON.stringify(body);
      const asked = request(base + path, {
        method,
        agent: false, // whether a connection kept from before still stands is not what is asked here
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(text === null
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        },
      });
      let isSettled = false;
      const settle = (status: number | null, answer: Record<string, unknown>, error: string | null) => {
        if (isSettled) return; // a connection that breaks may say so in two places
        isSettled = true;
        clearTimeout(timer);
        const atMs = performance.now();
        record({ what: `${method} ${path}`, startedAtMs, connectedAtMs, endedAtMs: atMs, status, error });
        resolve({ status, wasConnected: connectedAtMs !== null, body: answer, atMs });
      };
      const timer = setTimeout(() => asked.destroy(new Error('no answer')), PATIENCE_MS);
      asked.on('socket', (socket) =>
        socket.once('connect', () => {
          connectedAtMs = performance.now();
        }),
      );
      asked.on('error', (error) => settle(null, {}, error.message)); // expected: the server was killed, or is away
      asked.on('response', (response) => {
        let received = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          received += chunk;
        });
        response.on('end', () => {
          const answer = parsed(received);
          settle(response.statusCode ?? null, answer, typeof answer.error === 'string' ? answer.error : null);
        });
        response.on('error', (error) => settle(null, {}, error.message));
      });
      asked.end(text);
    });
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return {}; // expected of no route that is called here
  }
}
