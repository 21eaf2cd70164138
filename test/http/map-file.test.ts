// The map file of the operator: the service sends parts of it, and says when it is missing or another one.
import { appendFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { type ClientRequest, get } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isMapFile } from '../../src/config/map-file.js';
import { PART_BYTES_MAX, rangeOf } from '../../src/http/console/map-file.js';
import { comesTrue } from '../helpers/eventually.js';
import { service } from '../helpers/http/rest.js';
import { waterWorld } from '../helpers/map-file.js';

t.setTimeout(300_000);

const PATH = '/console/map.pmtiles';

/** `size`: of the file, in bytes. */
async function withFile(t: Test, size?: number) {
  const path = join(t.testdir(), 'region.pmtiles');
  const bytes = waterWorld();
  await writeFile(path, bytes);
  if (size !== undefined) await truncate(path, size);
  const s = await service(t, { settings: { MAP_FILE: path } });
  const ask = async (range?: string) => {
    const answer = await fetch(`http://127.0.0.1:${s.port}${PATH}`, {
      headers: range === undefined ? {} : { range },
    });
    return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const errorOf = async (range?: string) => {
    const { status, bytes: body } = await ask(range);
    return [status, JSON.parse(body.toString()).error];
  };
  return { s, path, bytes, ask, errorOf };
}

t.test('a part of the map file is sent with its place and the tag of the file', async (t) => {
  const { s, bytes, ask } = await withFile(t);
  const first = await ask('bytes=0-126');
  t.equal(first.status, 206);
  t.ok(first.bytes.equals(bytes.subarray(0, 127)));
  t.equal(first.headers.get('content-range'), `bytes 0-126/${bytes.length}`);
  t.equal(first.headers.get('content-length'), '127');
  t.equal(first.headers.get('accept-ranges'), 'bytes');
  t.equal(first.headers.get('cache-control'), 'no-store');
  t.match(first.headers.get('etag'), /^"[\w-]+"$/);
  const beyond = await ask('bytes=100-16383');
  t.ok(beyond.bytes.equals(bytes.subarray(100)), 'to its end when it is shorter');
  t.equal(beyond.headers.get('etag'), first.headers.get('etag'));
  t.ok((await ask('bytes=-7')).bytes.equals(bytes.subarray(-7)));
  const config = await s.nobody.send('GET', '/console/config.json');
  t.match(config.body, { map_file: true, map_style_url: null });
});

t.test(
  'a range outside of the file gets 416 with its size, and a request without one range gets 400',
  async (t) => {
    const { bytes, ask, errorOf } = await withFile(t);
    const outside = await ask(`bytes=${bytes.length}-`);
    t.equal(outside.status, 416);
    t.equal(outside.headers.get('content-range'), `bytes */${bytes.length}`);
    for (const range of [undefined, 'bytes=0-1,3-4', 'bytes=-', 'lines=1-2', 'bytes=x'])
      t.strictSame(
        await errorOf(range),
        [400, 'send one byte range, such as Range: bytes=0-16383'],
        range ?? 'no range',
      );
  },
);

t.test('HEAD reads no part', async (t) => {
  const { s } = await withFile(t);
  const answer = await fetch(`http://127.0.0.1:${s.port}${PATH}`, {
    method: 'HEAD',
    headers: { range: 'bytes=0-126' },
  });
  t.equal(answer.status, 405);
});

t.test('a map file that is replaced, changed or removed is a 503 that says what to do', async (t) => {
  const error = [503, 'the map file is missing or has changed: the service must be started again'];
  const changes: Record<string, (path: string) => Promise<void>> = {
    changed: (path) => appendFile(path, 'more'),
    removed: (path) => rm(path),
    async replaced(path) {
      await writeFile(`${path}.new`, waterWorld());
      await rename(`${path}.new`, path);
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    const { path, ask, errorOf } = await withFile(t);
    t.equal((await ask('bytes=0-9')).status, 206);
    await change(path);
    t.strictSame(await errorOf('bytes=0-9'), error, what);
  }
});

t.test(
  'those who take nothing of their parts hold a share of the room for parts, and no other room',
  { skip: process.platform === 'linux' ? false : 'only Linux has 127.0.0.2' },
  async (t) => {
    const whole = PART_BYTES_MAX - 1;
    const { s } = await withFile(t, PART_BYTES_MAX);
    const held: ClientRequest[] = [];
    /** Asks for a part and does not read it. */
    const statusFrom = (localAddress: string, last = whole) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { range: `bytes=0-${last}` };
        const options = { port: s.port, path: PATH, localAddress, headers, agent: false };
        held.push(
          get({ host: '127.0.0.1', ...options }, ({ statusCode }) => resolve(statusCode)).on('error', reject),
        );
      });
    t.teardown(() => {
      for (const request of held) request.destroy();
    });
    // A third of 48 MiB for each address.
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) {
      for (let part = 0; part < 4; part += 1) t.equal(await statusFrom(address), 206);
      if (address !== '127.0.0.4') t.equal(await statusFrom(address), 429, `${address} has its share`);
    }
    t.equal(await statusFrom('127.0.0.5'), 429, 'the room is full');
    t.equal(await statusFrom('127.0.0.5', 9), 206, 'a small part needs none');
    t.match(await s.nobody.send('GET', '/talkgroups/directory'), { status: 401 });
    for (const request of held) request.destroy();
    await comesTrue('there is room again', async () => (await statusFrom('127.0.0.5')) === 206);
  },
);

t.test('the path is unknown without a map file', async (t) => {
  const s = await service(t, {});
  t.match(await s.nobody.send('GET', PATH), { status: 404, body: { error: 'no such path' } });
});

t.test('a range has at most 4 MiB, and lies in the file', async (t) => {
  t.strictSame(rangeOf('bytes=0-4194303', 1e12), [0, 4_194_303]);
  t.throws(() => rangeOf('bytes=0-4194304', 1e12), { code: 'bad_request' });
  t.throws(() => rangeOf('bytes=0-', 1e12), { code: 'bad_request' });
  t.strictSame(rangeOf('bytes=999999999990-', 1e12), [999_999_999_990, 999_999_999_999]);
  t.equal(rangeOf('bytes=9-8', 100), null);
  t.equal(rangeOf('bytes=-0', 100), null);
  t.strictSame(rangeOf('bytes=-200', 100), [0, 99]);
});

t.test('only a file of version 3 is a map file', async (t) => {
  const folder = t.testdir({ old: 'PMTiles\u0002 and more', short: 'PMT' });
  for (const path of ['old', 'short', 'missing', '.']) t.notOk(isMapFile(join(folder, path)), path);
  await writeFile(join(folder, 'map'), waterWorld());
  t.ok(isMapFile(join(folder, 'map')));
});
