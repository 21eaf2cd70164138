// Sends the map file of the operator in parts, as a browser asks for them: it may have many gigabytes.
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AppError } from '../../errors.js';
import { limitAnswers } from '../under-way.js';

/** A tile or a directory of the format is smaller. The memory of an answer must have a bound. */
export const PART_BYTES_MAX = 4_194_304;

/** Of parts that wait to be read: slow readers of the map take no room from other answers. */
const WAITING_BYTES_MAX = 48 * 2 ** 20;

type Identity = { readonly size: number; readonly mtimeMs: number; readonly ino: number };

/** GET /console/map.pmtiles. One file is open, however many browsers read. Rejects when it cannot be opened. */
export const mapFileRoutes =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const file = await open(path, 'r');
    app.addHook('onClose', async () => file.close());
    const opened: Identity = await file.stat();
    const etag = `"${opened.size.toString(36)}-${Math.floor(opened.mtimeMs).toString(36)}"`;

    const unread = limitAnswers(WAITING_BYTES_MAX);
    /** Settles when no part is being read. */
    let noneRead: Promise<unknown> = Promise.resolve();
    // A part counts as unread from its sending on, so many that are read at once would all be admitted. What waits here is
    // bounded by the connections: one request of each.
    const inTurn = (read: () => Promise<Buffer>): Promise<Buffer> => {
      const part = noneRead.then(read);
      noneRead = part.catch(() => {}).then(() => new Promise((sent) => setImmediate(sent)));
      return part;
    };

    app.get(
      '/console/map.pmtiles',
      {
        config: { access: 'public', refusals: ['range_outside', 'map_unavailable'], unread },
        schema: { hide: true },
        exposeHeadRoute: false, // it would read a part and send nothing
      },
      async (request, reply) => {
        await checkUnchanged(path, opened);
        const { range } = request.headers;
        const asked = rangeOf(range, opened.size);
        reply.headers({ 'accept-ranges': 'bytes', etag, 'content-type': 'application/vnd.pmtiles' });
        // A browser that kept a part would ask for the whole file when its part is old (RFC 9110, 13.1.5).
        reply.header('cache-control', 'no-store');
        if (asked === null) {
          reply.header('content-range', `bytes */${opened.size}`);
          throw new AppError('range_outside');
        }
        const [first, last] = asked;
        const length = last - first + 1;
        const bytes = await inTurn(async () => {
          if (reply.raw.destroyed) return Buffer.alloc(0); // while it waited
          unread.admit(request, length);
          return readPart(file, first, length);
        });
        reply.code(206).header('content-range', `bytes ${first}-${last}/${opened.size}`);
        return reply.send(bytes);
      },
    );
  };

/** Parts of two files would be a broken map. */
async function checkUnchanged(path: string, opened: Identity): Promise<void> {
  const now = await stat(path).catch(() => null); // expected: removed, or a folder that may not be read any more
  const isSame =
    now !== null && now.size === opened.size && now.mtimeMs === opened.mtimeMs && now.ino === opened.ino;
  if (!isSame) throw new AppError('map_unavailable', undefined, 60);
}

/**
 * First and last byte. null: none of the file. Throws AppError without one range, and for one that is too long: the whole
 * file is never sent.
 */
export function rangeOf(
  text: string | undefined,
  size: number,
): readonly [first: number, last: number] | null {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(text ?? '') ?? [];
  if (from === '' && to === '')
    throw new AppError('bad_request', 'send one byte range, such as Range: bytes=0-16383');
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (first > last) return null;
  if (last - first >= PART_BYTES_MAX)
    throw new AppError('bad_request', `a byte range must have at most ${PART_BYTES_MAX} bytes`);
  return [first, last];
}

async function readPart(file: FileHandle, first: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, first + filled);
    if (bytesRead === 0) throw new AppError('map_unavailable', undefined, 60); // it became shorter in this moment
    filled += bytesRead;
  }
  return bytes;
}
