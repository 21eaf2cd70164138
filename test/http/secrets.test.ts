// Rotates the keys of tokens and master secrets on nodes that share a database.
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSigner } from 'fast-jwt';
import t, { type Test } from 'tap';
import { keptSecret } from '../../src/auth/secret.js';
import { signing } from '../../src/auth/tokens.js';
import { operator } from '../../src/commands/running.js';
import { compose } from '../../src/compose.js';
import { readConfig } from '../../src/config/config.js';
import { type Database, openDatabase } from '../../src/db/client.js';
import { deadlineIn } from '../../src/db/deadline.js';
import type { TalkgroupId } from '../../src/ids.js';
import { rewrapSecrets } from '../../src/keys/secrets.js';
import { createKeyring, readKeys, type StoredSecret } from '../../src/keys/wrapping.js';
import { createLog } from '../../src/log.js';
import { createTalkgroup } from '../../src/talkgroups/store.js';
import { HANGS_MS } from '../helpers/eventually.js';
import { runCommand, SECRET, type Service, service, serviceProcess } from '../helpers/service/service.js';

t.setTimeout(300_000);

const drawn = () => randomBytes(32).toString('base64');
const ringOf = (text: string) => createKeyring(readKeys(text) ?? []);

t.test(
  'both interfaces accept a token during the rotation of its key, and reject it afterwards',
  async (t) => {
    const NEW = drawn();
    const during = await service(t, { JWT_SECRET: NEW, JWT_SECRET_PREVIOUS: SECRET });
    const after = await service(t, { DATABASE_URL: during.url, JWT_SECRET: NEW });
    const { token: old } = await during.person('ann'); // signed with SECRET, as before the rotation
    const { body } = await during.call('POST', '/auth/login', null, ADMIN);
    const fresh = body.jwt as string;

    t.same(await answersTo(during, old), OPEN);
    t.same(await answersTo(during, fresh), OPEN);
    t.same(
      await answersTo(after, old),
      { rest: 401, relay: 'invalid token' },
      'with the old key its tokens go',
    );
    t.same(await answersTo(after, fresh), OPEN, 'new tokens are signed with the new key');
  },
);

const ADMIN = { username: 'admin', password: 'admin password' };
const OPEN = { rest: 200, relay: 'open' };

/** What a token is answered at REST and at the relay. */
async function answersTo(node: Service, token: string) {
  const { status } = await node.call('GET', '/talkgroups', token);
  const radio = await node.radioOf({ token });
  const relay = radio.welcome === null ? (await radio.closes()).reason : 'open';
  radio.socket.terminate();
  return { rest: status, relay };
}

t.test('a token that JWT_SECRET would reject is rejected with the previous key as well', async (t) => {
  const PREVIOUS = drawn();
  const node = await service(t, { JWT_SECRET_PREVIOUS: PREVIOUS });
  const ann = await node.person('ann');
  const claims = { sub: ann.id, username: 'ann', role: 'user', iat: Math.floor(Date.now() / 1000) };
  const sign = (key: string, algorithm: 'HS256' | 'HS384' | 'HS512' = signing.algorithm) =>
    createSigner({ key, algorithm })(claims);
  const [head, payload] = sign(PREVIOUS).split('.');
  t.same(await answersTo(node, sign(PREVIOUS)), OPEN);
  const forged = {
    HS384: sign(PREVIOUS, 'HS384'),
    HS512: sign(PREVIOUS, 'HS512'),
    'a third key': sign(drawn()),
    'no signature': `${head}.${payload}.`,
    'alg none': createSigner({ algorithm: 'none' })(claims),
    'a list of roles': createSigner({ key: PREVIOUS, ...signing })({ ...claims, role: ['admin'] }),
    'a user who never was': createSigner({ key: PREVIOUS, ...signing })({ ...claims, sub: randomUUID() }),
  };
  for (const [what, token] of Object.entries(forged)) {
    const { rest, relay } = await answersTo(node, token);
    t.equal(rest, 401, what);
    t.not(relay, 'open', what);
  }
});

t.test('the generated key is created once, and the start fails when it is too short', async (t) => {
  const folder = t.testdir();
  const made = await keptSecret(folder);
  t.ok(Buffer.from(made, 'base64').length === 32);
  t.equal(await keptSecret(folder), made);
  for (const broken of ['', 'abc', 'x'.repeat(31)]) {
    await writeFile(join(folder, 'jwt.secret'), broken);
    await t.rejects(keptSecret(folder), {
      name: 'ConfigError',
      message: /jwt\.secret must hold at least 32 bytes/,
    });
  }
});

t.test('a new secret is encrypted, beside unencrypted ones of nodes without keys', async (t) => {
  const ring = ringOf(drawn());
  const node = await service(t);
  const database = await databaseOf(t, node);
  const make = (name: string) =>
    createTalkgroup(database, deadlineIn(HANGS_MS), { name, wrap: ring.wrap, by: operator() });
  const made = [await make('fire'), await make('rail')].map(({ id }) => id as TalkgroupId);
  const stored = await storedSecrets(node);
  const secrets = made.map((id) => {
    const one = stored.get(id);
    t.equal(one?.wrappedBy, ring.wrapsWith);
    return one && ring.unwrap(id, one);
  });
  t.same(
    secrets.map((secret) => secret?.length),
    [32, 32],
  );
  t.not(secrets[0]?.toString(), secrets[1]?.toString());

  // As the version before did, which may still run beside this one.
  await node.sql`insert into talkgroups (name, master_secret) values ('old', ${randomBytes(32)})`;
  await t.rejects(node.sql`insert into talkgroups (name, master_secret) values ('x', ${randomBytes(60)})`);
  await t.rejects(node.sql`
    insert into talkgroups (name, master_secret, wrapped_by) values ('x', ${randomBytes(32)}, ${'0'.repeat(16)})`);
});

t.test(
  'secrets rotate encrypts unencrypted secrets and those of the old key, and changes no secret',
  async (t) => {
    const [OLD, NEW] = [drawn(), randomBytes(32).toString('hex')];
    const open = await service(t);
    const database = await databaseOf(t, open);
    for (const name of ['a', 'b']) await open.talkgroup(name);
    for (const name of ['c', 'd', 'e'])
      await createTalkgroup(database, deadlineIn(HANGS_MS), { name, wrap: ringOf(OLD).wrap, by: operator() });
    const before = await unwrapped(open, OLD);
    const both = ringOf(`${NEW},${OLD}`);

    t.same(await rewrapSecrets(database, { keyring: both, by: operator() }, 2), {
      wrapped: 5,
      unreadable: [],
      left: 0,
    });
    t.same(
      await rewrapSecrets(database, { keyring: both, by: operator() }, 2),
      { wrapped: 0, unreadable: [], left: 0 },
      'nothing is left to do',
    );
    t.strictSame(await unwrapped(open, NEW), before, 'the old key is needed no more');

    await open.talkgroup('f');
    const command = { DATABASE_URL: open.url, JWT_SECRET: SECRET, SECRETS_KEY: NEW };
    t.match(await runCommand(['secrets', 'rotate'], command), {
      code: 0,
      output: `secrets encrypted with key ${ringOf(NEW).wrapsWith}: 1\n`,
    });

    const [mine = '', foreign = ''] = before.keys();
    await open.sql`
    update talkgroups set master_secret = (select master_secret from talkgroups where id = ${mine})
    where id = ${foreign}`;
    const outcome = await rewrapSecrets(
      database,
      { keyring: ringOf(`${drawn()},${NEW}`), by: operator() },
      2,
    );
    t.same(
      outcome,
      { wrapped: 5, unreadable: [foreign], left: 1 },
      'a secret of another talkgroup is left alone',
    );
  },
);

t.test(
  'two rotations at once lose and duplicate no secret while talkgroups are created and deleted',
  async (t) => {
    const keys = `${drawn()},${drawn()}`;
    const node = await service(t, { SECRETS_KEY: keys });
    await node.sql`
    insert into talkgroups (name, master_secret)
    select 'many', sha256(int4send(n)) from generate_series(1, 300) as n`;
    const before = await unwrapped(node, keys);
    const [gone = ''] = before.keys();
    const databases = [await databaseOf(t, node), await databaseOf(t, node)];
    const rotations = databases.map((database) =>
      rewrapSecrets(database, { keyring: ringOf(keys), by: operator() }, 20),
    );
    await node.admin.delete(`/talkgroups/${gone}`);
    for (const name of ['x', 'y', 'z']) await node.talkgroup(name);
    const outcomes = await Promise.all(rotations);

    const after = await unwrapped(node, keys.slice(0, keys.indexOf(',')));
    t.equal(after.size, 302);
    for (const [id, secret] of before) if (id !== gone && after.get(id) !== secret) t.fail(id);
    const wrapped = outcomes.reduce((sum, each) => sum + each.wrapped, 0);
    t.ok(wrapped === 299 || wrapped === 300, `each by one of the two: ${wrapped}`);
    t.same(
      outcomes.flatMap(({ unreadable }) => unreadable),
      [],
    );
  },
);

t.test(
  'a node that lacks the key of a stored secret does not start and names the key by its id',
  async (t) => {
    const [OLD, NEW] = [drawn(), drawn()];
    const node = await service(t, { SECRETS_KEY: OLD });
    await node.talkgroup('fire');
    for (const environment of [{}, { SECRETS_KEY: NEW }]) {
      const config = readConfig({
        ...{ DATABASE_URL: node.url, JWT_SECRET: SECRET, PORT: '0', WS_PORT: '0', METRICS_PORT: '0' },
        RELAY_THREADS: '0',
        ...environment,
      });
      const running = await compose(config, createLog('silent'), (error) => t.fail(error.message));
      t.teardown(() => running.close());
      const { port } = await running.listen();
      await t.rejects(running.start(), {
        name: 'ConfigError',
        message: new RegExp(`^SECRETS_KEY must include every key .*: ${ringOf(OLD).wrapsWith} \\(1\\)$`),
      });
      t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 503);
    }
  },
);

t.test('a process with all of these keys prints none of them at any log level', async (t) => {
  const keys = { JWT_SECRET: drawn(), JWT_SECRET_PREVIOUS: drawn(), SECRETS_KEY: `${drawn()},${drawn()}` };
  const node = await serviceProcess(t, { ...keys, LOG_LEVEL: 'trace' });
  const { body } = await node.call('POST', '/auth/login', null, ADMIN);
  t.equal((await node.call('POST', '/talkgroups', body.jwt as string, { name: 'fire' })).status, 200);
  node.signal('SIGTERM');
  t.equal(await node.exit(), 0);
  const secrets = Object.values(keys).flatMap((text) => text.split(','));
  for (const secret of [...secrets, body.jwt as string]) {
    const bytes = Buffer.from(secret, 'base64');
    for (const spelling of [secret, bytes.toString('hex'), [...bytes.subarray(0, 6)].join(',')])
      t.notOk(node.output().includes(spelling));
  }
});

/** A connection of the kind that commands have. */
async function databaseOf(t: Test, { url }: Service): Promise<Database> {
  const database = openDatabase({ url, connections: 1, log: createLog('silent') });
  t.teardown(() => database.close());
  await database.up(deadlineIn(HANGS_MS));
  return database;
}

async function storedSecrets({ sql }: Service): Promise<Map<TalkgroupId, StoredSecret>> {
  const rows = await sql<{ id: TalkgroupId; master_secret: Buffer; wrapped_by: string | null }[]>`
    select id, master_secret, wrapped_by from talkgroups order by id`;
  return new Map(
    rows.map(({ id, master_secret: bytes, wrapped_by: wrappedBy }) => [id, { bytes, wrappedBy }]),
  );
}

/** Every secret in hexadecimal, as these keys read it. */
async function unwrapped(node: Service, keys: string): Promise<Map<TalkgroupId, string>> {
  const ring = ringOf(keys);
  const stored = await storedSecrets(node);
  return new Map([...stored].map(([id, one]) => [id, Buffer.from(ring.unwrap(id, one)).toString('hex')]));
}
