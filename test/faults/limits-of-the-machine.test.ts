// What the machine runs out of: file descriptors, and room on the disk of the embedded database.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { eventually } from '../helpers/eventually.js';
import { handshake } from '../helpers/relay/wire.js';
import { SECRET, type ServiceProcess, serviceProcess } from '../helpers/service/service.js';

t.setTimeout(300_000);

const isLinux = process.platform === 'linux';
const DESCRIPTORS = 400;
const WAVE = 100;
const CUTS = Number(process.env.CONNECTION_CUTS ?? 300);
/** Of the REST connections that one address may have with so few descriptors. */
const DEAF = 30;
/** To the database, opened meanwhile or not. */
const CONNECTIONS = 8;

const limit = ['sh', '-c', `ulimit -n ${DESCRIPTORS} && exec "$@"`, 'sh'];

t.test('a start with more sockets than open files is refused, and says both numbers', async (t) => {
  const env = { SOCKETS_MAX: '1000', DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', JWT_SECRET: SECRET };
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
  const [command = '', ...args] = [...limit, process.execPath, main];
  const { status, stderr } = spawnSync(command, args, { env, encoding: 'utf8', timeout: 60_000 });
  t.equal(status, 1);
  t.match(stderr, /^ended: SOCKETS_MAX: 1000 sockets, .* limit \(ulimit -n\) is 400\./m);
});

t.test('the process with few descriptors', { skip: isLinux ? false : 'reads /proc' }, async (t) => {
  const s = await serviceProcess(t, { DATABASE_POOL: '2', LOG_LEVEL: 'error' }, limit);

  t.test('no file is open for a client that does not read it, nor for one that has gone', async (t) => {
    const { hostname, port } = new URL(s.rest);
    const request = 'GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n';
    const baseline = await s.descriptors();
    const deaf = await Promise.all(
      Array.from({ length: DEAF }, async () => {
        const socket = connect(Number(port), hostname).on('error', () => {});
        socket.write(request.repeat(16));
        await once(socket, 'data');
        return socket.pause();
      }),
    );
    t.teardown(() => {
      for (const socket of deaf) socket.destroy();
    });
    await eventually(async () => assert.ok((await s.descriptors()) <= baseline + DEAF + CONNECTIONS));
    const ann = await s.person('beside files');
    (await ann.radio()).socket.terminate();
    for (const socket of deaf) socket.destroy();
    await eventually(async () => assert.ok((await s.descriptors()) <= baseline + CONNECTIONS));
  });

  t.test(`${CUTS} requests whose clients go before the answer leave nothing behind`, async (t) => {
    const ann = await s.person('cut');
    const { hostname, port } = new URL(s.rest);
    const requests = ['/talkgroups', '/docs', '/healthz'].map(
      (path) => `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ann.token}\r\n\r\n`,
    );
    const baseline = await s.descriptors();
    async function cut(index: number): Promise<void> {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {}); // we are not alone in resetting
      await once(socket, 'connect');
      await new Promise((resolve) => socket.write(requests[index % 3] ?? '', resolve));
      // Before the first byte of the answer, or in the midst of it.
      if (index % 2 === 0) await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      socket.resetAndDestroy();
    }
    for (let done = 0; done < CUTS; done += 10)
      await Promise.all(Array.from({ length: 10 }, (_, index) => cut(done + index)));
    await eventually(async () => assert.ok((await s.descriptors()) <= baseline + CONNECTIONS));
    t.equal((await ann.call('GET', '/talkgroups')).status, 200);
    t.notMatch(s.output(), '"level":50');
  });

  for (const [name, what, address, first] of [
    ['silent', 'connections to the relay that say nothing', s.ws, ''],
    [
      'lingering',
      'refused radios that keep their half of the connection',
      s.ws,
      handshake(`${s.ws}/ws?token=no`),
    ],
    ['rest', 'connections to REST that say nothing', s.rest, ''],
  ] as const) {
    t.test(`too many ${what}: those inside go on, nothing spins, others come in again`, async (t) => {
      const { radios, number, people } = await s.crew(t, 2, { name });
      const [talker, listener] = radios;
      const [ann] = people;
      const sockets: Socket[] = [];
      do {
        sockets.push(...(await Promise.all(Array.from({ length: WAVE }, () => stranger(t, address, first)))));
      } while (sockets.length < DESCRIPTORS || (await isLetIn(t, address)));
      t.ok((await s.descriptors()) < DESCRIPTORS - 20, 'descriptors are left');
      const other = address === s.ws ? s.rest : s.ws;
      t.equal(await isLetIn(t, other), true, 'the other port has a share of its own');

      const load = await loadOf(s);
      for (let frame = 0; frame < 50; frame++) {
        talker.speaks(number, `${frame}`, { start: frame === 0 });
        await delay(20); // the pace of speech
      }
      const heard = await listener.hearsFrames(50);
      const busiest = await load();
      t.same(
        heard.map(({ text }) => Number(text)),
        heard.map((_, index) => index),
        'all is heard',
      );
      t.ok(busiest < 0.5, `the busiest thread ran ${Math.round(busiest * 100)} % of the time`);

      for (const socket of sockets) socket.destroy();
      await eventually(async () => assert.ok((await ann.radio()).welcome));
      t.equal((await ann.call('GET', '/talkgroups')).status, 200);
    });
  }
});

/** Its tmpfs is one that no other process sees: of a new cluster some 40 MB are used. */
const SMALL_DISK = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs -o size=64m tmpfs "$DATA_DIR" && exec "$@"',
  'sh',
];
const mayMount = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

t.test(
  'on a full disk writes are refused, audio and reads go on, and with room it is as before',
  { skip: mayMount ? false : 'needs the right to mount a small disk' },
  async (t) => {
    const s = await serviceProcess(t, { DATA_DIR: t.testdir(), LOG_LEVEL: 'debug' }, SMALL_DISK);
    const { radios, number, people } = await s.crew(t, 2, { name: 'disk' });
    const [talker, listener] = radios;
    const ballast = await open(join(s.root, t.testdirName, 'ballast'), 'w');
    t.teardown(() => ballast.close());
    await fill(ballast);

    const create = () => s.call('POST', '/talkgroups', s.admin.token, { name: 'x'.repeat(128) });
    const acknowledged: unknown[] = [];
    const refusal = await eventually(async () => {
      const answer = await create();
      if (answer.status === 200) acknowledged.push((answer.body.talkgroup as { id: string }).id);
      assert.notEqual(answer.status, 200);
      return answer;
    }, 60_000);
    t.equal(refusal.status, 503);
    talker.speaks(number, 'on a full disk', { start: true, end: true });
    await listener.hearsText('on a full disk');
    t.equal((await s.call('GET', '/healthz', null)).status, 200);

    await ballast.truncate(0);
    await eventually(async () => assert.equal((await create()).status, 200), 30_000);
    t.equal((await people[0].call('GET', '/talkgroups')).status, 200);
    const kept = await s.sql`select id from talkgroups where id = any(${acknowledged as string[]})`;
    t.equal(kept.length, acknowledged.length, `all ${acknowledged.length} acknowledged are there`);
    s.signal('SIGTERM');
    t.equal(await s.exit(), 0);
  },
);

/** Until the disk has no room for another byte. */
async function fill(file: FileHandle): Promise<void> {
  const chunk = Buffer.alloc(65_536);
  for (let length = chunk.length; length > 0; ) {
    try {
      await file.write(chunk, 0, length);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      length = length >> 1;
    }
  }
}

/** A connection that says nothing more, and keeps its half open. The kernel takes it, even if the server does not. */
async function stranger(t: Test, address: string, first: string): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.on('error', () => {}); // a reset. 'close' follows
  t.teardown(() => socket.destroy());
  socket.write(first);
  await anyOf(socket, 'connect', 'close');
  return socket;
}

/** The first of these events. */
function anyOf<Event extends string>(socket: Socket, ...events: Event[]): Promise<Event> {
  return new Promise((resolve) => {
    for (const event of events) socket.once(event, () => resolve(event));
  });
}

/** Whether the server answers a new connection. It closes those that it has no room for. */
async function isLetIn(t: Test, address: string): Promise<boolean> {
  const socket = await stranger(t, address, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const answered = (await anyOf(socket, 'data', 'end', 'close')) === 'data';
  socket.destroy();
  return answered;
}

/**
 * How much of the time in which it could run each thread ran: on a busy machine a loop without a pause gets little CPU,
 * and takes all of it. `schedstat`: nanoseconds on a CPU, nanoseconds of waiting for one.
 */
async function loadOf({ pid }: Pick<ServiceProcess, 'pid'>): Promise<() => Promise<number>> {
  const read = async () => {
    const threads = await readdir(`/proc/${pid}/task`);
    const texts = await Promise.all(
      threads.map((id) => readFile(`/proc/${pid}/task/${id}/schedstat`, 'utf8')),
    );
    return new Map(threads.map((id, index) => [id, texts[index]?.split(' ').map(Number) ?? []]));
  };
  const before = await read();
  const startedAt = performance.now();
  return async () => {
    const after = await read();
    const wallNs = (performance.now() - startedAt) * 1e6;
    const loads = [...before].map(([id, [ran = 0, waited = 0]]) => {
      const [ranNow = ran, waitedNow = waited] = after.get(id) ?? [];
      const ranNs = ranNow - ran;
      // Beside a busy machine a thread that has little to do may have waited all the time. One that spins still runs: beside
      // seven others on two cores a quarter of the time.
      if (ranNs < wallNs / 5) return ranNs / wallNs;
      return ranNs / Math.max(ranNs, wallNs - (waitedNow - waited));
    });
    return Math.max(...loads);
  };
}
