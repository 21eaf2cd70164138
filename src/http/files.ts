// Sends files from memory. Were a file open for each client that reads slowly, the relay would have none left for radios.
import { ReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { FastifyInstance, FastifyRequest } from 'fastify';

interface Kept {
  /** Of the file, by size and time. */
  readonly version: unknown;
  readonly bytes: Buffer;
}

/** A file may be larger. It is counted before the next one is admitted. */
const ONE_MORE_BYTES = 65_536;

/** By request whose answer may open a file: lets the next one open its own. */
const closings = new WeakMap<FastifyRequest, () => void>();

/** To be called when it is known that the answer opens no file, or has closed it. */
export const fileClosed = (request: FastifyRequest): void => closings.get(request)?.();

/** Makes the routes that @fastify/static adds to this scope open one file at a time, and keep what was in it. */
export function sendFromMemory(scope: FastifyInstance): void {
  const kept = new Map<string, Kept>();
  /** Resolves when no file is open. */
  let noneOpen = Promise.resolve();

  scope.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = async function (request, reply) {
      const before = noneOpen;
      noneOpen = new Promise((resolve) => closings.set(request, resolve));
      reply.raw.once('close', () => fileClosed(request));
      await before;
      scope.unread.admit(request, ONE_MORE_BYTES);
      request.raw.headers.range = undefined; // a part would be read for one client alone (RFC 9110, 14.2)
      return (await handler.call(this, request, reply)) ?? reply;
    };
  });

  scope.addHook('onSend', async (request, reply, payload) => {
    if (!(payload instanceof ReadStream)) return payload;
    try {
      const bytes = await bytesOf(payload, reply.getHeader('etag'));
      scope.unread.count(request, reply, bytes.length);
      return bytes;
    } finally {
      fileClosed(request);
    }
  });

  async function bytesOf(file: ReadStream, version: unknown): Promise<Buffer> {
    const path = String(file.path);
    const known = kept.get(path);
    if (known !== undefined && known.version === version) {
      file.destroy();
      return known.bytes;
    }
    const bytes = await buffer(file);
    kept.set(path, { version, bytes });
    return bytes;
  }
}
