// Starts the service without a database, beside another process, and on a database that it must not use.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { compose } from '../../src/compose.js';
import { readConfig } from '../../src/config/config.js';
import { ourAccount } from '../../src/db/embedded/account.js';
import { tryLock } from '../../src/db/embedded/lock.js';
import { NewerDatabaseError } from '../../src/db/migrate.js';
import { ConfigError } from '../../src/errors.js';
import { createLog } from '../../src/log.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { eventually } from '../helpers/eventually.js';
import { connect, service } from '../helpers/service/service.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

const settings = {
  PORT: '0',
  WS_PORT: '0',
  METRICS_PORT: '0',
  JWT_SECRET: 'a test secret of more than thirty-two bytes',
  ADMIN_PASSWORD: 'admin password',
  LOG_LEVEL: 'silent',
};

/**
 * Built, not started: `environment` says what differs from a service that would start. The relay shares this thread, for
 * one of its own takes a second of CPU.
 */
async function build(t: Test, environment: Record<string, string>, log = createLog('silent')) {
  const config = readConfig({ ...settings, RELAY_THREADS: '0', ...environment });
  const running = await compose(config, log, (error) => t.fail(error.message));
  t.teardown(() => running.close());
  return running;
}

t.test(
  'without its database the service runs, reports that it is not ready, and answers 503 immediately',
  async (t) => {
    const running = await build(t, { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' });
    const { port, wsPort } = await running.listen();
    void running.start(); // never ends here
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);

    t.equal((await get('/healthz')).status, 200);
    const ready = await get('/readyz');
    t.equal(ready.status, 503);
    t.ok(ready.headers.get('retry-after'));
    const login = await fetch(`http://127.0.0.1:${port}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'ann', password: 'secret' }),
    });
    t.equal(login.status, 503);
    t.ok(login.headers.get('retry-after'));
    t.same(Object.keys((await login.json()) as object), ['error']);
    const radio = await connect(t, `ws://127.0.0.1:${wsPort}/ws?token=x`);
    t.same(await radio.closes(), { code: 1008, reason: 'invalid token' }, 'a bad token needs no database');
  },
);

t.test('a second service on the same ports does not start, and the first is not affected', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const taken = String((holder.address() as AddressInfo).port);
  const DATABASE_URL = await freshDatabase(t);
  for (const [name, reason] of [
    ['PORT', 'in use (EADDRINUSE)'],
    ['WS_PORT', 'in use, or permission denied'],
  ] as const) {
    await t.rejects((await build(t, { DATABASE_URL, RELAY_THREADS: '1', [name]: taken })).listen(), {
      message: `cannot listen on ${name} ${taken} of 127.0.0.1: ${reason}`,
    });
  }
});

t.test('startup fails and names HOST when it is not an address of this machine', async (t) => {
  for (const HOST of ['nosuch.invalid', '192.0.2.1', '2001:db8::1']) {
    // No request asks this database, whose folder could not be made either.
    await t.rejects(build(t, { HOST, DATA_DIR: '/dev/null/data' }), {
      name: 'ConfigError',
      message: /^HOST must /,
    });
  }
});

t.test('the wait for a database is logged once for each reason', async (t) => {
  const reasons = ['57P03', '57P03', '57P03', '53300', '53300', '57P03', '57P03'];
  let asked = 0;
  let enough = () => {};
  const allGiven = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const refusing = createServer((socket) => {
    socket.on('error', () => {}); // it may be gone before it has read why
    socket.once('data', () => {
      const reason = `SFATAL\0C${reasons[asked++] ?? '57P03'}\0Mnot now\0\0`;
      const head = Buffer.from('E\0\0\0\0');
      head.writeInt32BE(reason.length + 4, 1);
      socket.end(Buffer.concat([head, Buffer.from(reason)]));
      if (asked > reasons.length) enough();
    });
  }).listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  t.teardown(() => refusing.close());
  const { port } = refusing.address() as AddressInfo;

  const lines: string[] = [];
  const running = await build(
    t,
    { DATABASE_URL: `postgres://ann@127.0.0.1:${port}/x` },
    pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
  );
  await running.listen();
  void running.start(); // never ends here
  await allGiven;
  const waited = lines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'waiting for the database');
  t.same(
    waited.map(({ reason }) => reason),
    ['57P03', '53300', '57P03'],
  );
});

t.test('startup fails and names DATABASE_URL when it is not valid, without printing its value', async (t) => {
  const DATABASE_URL = 'postgres://ann:TOPSECRET@host:notaport/name';
  const env = { ...settings, DATABASE_URL, LOG_LEVEL: 'trace' };
  const child = spawn(process.execPath, [MAIN], { env });
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  t.same(await once(child, 'exit'), [1, null]);
  const output = (await outputs).join('');
  t.match(output, /^refusing to start: DATABASE_URL must /m);
  t.notMatch(output, 'TOPSECRET');
});

t.test('the start warns of addresses and databases that other machines reach without TLS', async (t) => {
  const open = { HOST: '0.0.0.0', DATABASE_URL: 'postgres://ann:TOPSECRET@db.invalid/x' };
  for (const [more, warned] of [
    [{}, ['HOST', 'DATABASE_URL']],
    [{ TRUST_PROXY: '127.0.0.1', DATABASE_URL: `${open.DATABASE_URL}?sslmode=require` }, []],
  ] as const) {
    const child = spawn(process.execPath, [MAIN], {
      env: { ...settings, ...open, LOG_LEVEL: 'warn', ...more },
    });
    t.teardown(() => child.kill('SIGKILL'));
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes('waiting for the database')) child.kill('SIGTERM');
    });
    t.same(await once(child, 'close'), [0, null]);
    const texts = [...log.matchAll(/"setting":"(\w+)","msg":"[^"]*without TLS: /g)].map(([, name]) => name);
    t.strictSame(texts, warned);
    t.notMatch(log, 'TOPSECRET');
  }
});

t.test('a service with an unread standard output starts, serves and exits', async (t) => {
  const env = { ...settings, DATABASE_URL: await freshDatabase(t), LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, [MAIN], { env });
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  child.stdout.destroy();
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await eventually(async () => {
    const [, rest] = /listening at (http:[^"]+)/.exec(log) ?? [];
    assert.equal((await fetch(`${rest}/readyz`)).status, 200);
  });
  child.kill('SIGTERM');
  t.same(await exited, [0, null]);
});

t.test(
  'SIGTERM ends a start that waits for an earlier database server, cleanly and immediately',
  async (t) => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-')));
    await chmod(folder, 0o755);
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const lock = await tryLock(join(folder, 'server.lock'), ourAccount());
    assert(lock);
    t.teardown(() => lock.release());
    const child = spawn(process.execPath, [MAIN], {
      env: { ...settings, DATA_DIR: folder, LOG_LEVEL: 'warn' },
    });
    const exited = once(child, 'close');
    t.teardown(() => child.kill('SIGKILL'));
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const waits = output.includes('waiting for the database server of an earlier start');
      if (waits && !child.killed) child.kill('SIGTERM');
    });
    t.same(await exited, [0, null]);
    t.notMatch(output, 'cannot start', 'it does not wait to the end');
  },
);

t.test('the start creates the admin, keeps an existing password, and never promotes a user', async (t) => {
  const s = await service(t, { ADMIN_USERNAME: 'chief', ADMIN_PASSWORD: 'first' });
  const login = (password: string) => s.call('POST', '/auth/login', null, { username: 'chief', password });
  t.equal((await login('first')).status, 200);

  const again = await build(t, { DATABASE_URL: s.url, ADMIN_USERNAME: 'chief', ADMIN_PASSWORD: 'second' });
  await again.listen();
  await again.start();
  t.equal((await login('second')).status, 401);
  t.equal((await login('first')).status, 200);

  await s.person('ann');
  const refused = await build(t, { DATABASE_URL: s.url, ADMIN_USERNAME: 'ann' });
  await refused.listen();
  await t.rejects(refused.start(), ConfigError);
});

t.test('the service does not start with a database that is newer than the code', async (t) => {
  const s = await service(t);
  await s.sql`insert into schema_version (version, name) values (999, 'from the future')`;
  const older = await build(t, { DATABASE_URL: s.url });
  await older.listen();
  await t.rejects(older.start(), NewerDatabaseError);
});

for (const RELAY_THREADS of ['0', '1', '2']) {
  t.test(`closed before it listened, with RELAY_THREADS=${RELAY_THREADS}, the service exits`, async (t) => {
    await build(t, { DATABASE_URL: await freshDatabase(t), RELAY_THREADS });
    t.pass('the teardown closes it');
  });
}

t.test(
  'a service that is closed during its start exits without an error, and a second close waits',
  async (t) => {
    for (const afterMs of [0, 40, 80, 120, 160, 240]) {
      const RELAY_THREADS = afterMs % 120 === 0 ? '1' : '0';
      const service = await build(t, { DATABASE_URL: await freshDatabase(t), RELAY_THREADS });
      await service.listen();
      const started = service.start();
      await delay(afterMs); // into the migration, the hash of the password, or what follows
      const closes = [service.close(), service.close()];
      t.equal(closes[0], closes[1]);
      await t.resolves(started, `after ${afterMs} ms`);
      await Promise.all(closes);
    }
  },
);
