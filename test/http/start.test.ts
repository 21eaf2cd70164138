// Starting without a database, beside another process, and on a database that is not ours to use.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { compose } from '../../src/compose.js';
import { ConfigError, readConfig } from '../../src/config.js';
import { NewerDatabaseError } from '../../src/db/migrate.js';
import { createLog } from '../../src/log.js';
import { freshDatabase } from '../helpers/cluster.js';
import { connect, service } from '../helpers/service.js';

/** Built, not started: `environment` says what differs from a service that would start. */
async function build(t: Test, environment: Record<string, string>) {
  const config = readConfig({
    PORT: '0',
    WS_PORT: '0',
    JWT_SECRET: 'a test secret of more than thirty-two bytes',
    ADMIN_PASSWORD: 'admin password',
    LOG_LEVEL: 'silent',
    ...environment,
  });
  const running = await compose(config, createLog(config.LOG_LEVEL), (error) => t.fail(error.message));
  t.teardown(() => running.close());
  return running;
}

t.test(
  'without its database the service lives, says that it is not ready, and refuses at once',
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

t.test('a second service on the same ports refuses to start and leaves the first alone', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const taken = String((holder.address() as AddressInfo).port);
  const DATABASE_URL = await freshDatabase(t);
  await t.rejects((await build(t, { DATABASE_URL, PORT: taken })).listen(), { code: 'EADDRINUSE' });
  await t.rejects(
    (await build(t, { DATABASE_URL, WS_PORT: taken })).listen(),
    new RegExp(`${taken} is taken`),
  );
});

t.test('the admin exists after the start, keeps its password, and is never a promoted user', async (t) => {
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

t.test('a database that is newer than the code is refused', async (t) => {
  const s = await service(t);
  await s.sql`insert into schema_version (version, name) values (999, 'from the future')`;
  const older = await build(t, { DATABASE_URL: s.url });
  await older.listen();
  await t.rejects(older.start(), NewerDatabaseError);
});
