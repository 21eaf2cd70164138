// Migrations against a real PostgreSQL: once, whole or not at all, and never backwards.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { DeadlineError } from '../../src/db/deadline.js';
import { migrate, NewerDatabaseError } from '../../src/db/migrate.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { proxiedDatabase } from '../helpers/database/proxied-database.js';
import { eventually } from '../helpers/eventually.js';
import { within } from '../helpers/within.js';

const SQL_FOLDER = fileURLToPath(new URL('../../../sql', import.meta.url));

t.setTimeout(300_000);

for (const isolation of ['read committed', 'serializable']) {
  t.test(`of five migrations at once all succeed and one applies (${isolation})`, async (t) => {
    const url = await freshDatabase(t);
    const sql = raw(t, url);
    await sql.unsafe(
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = '${isolation}'`,
    );
    const folder = await folderWith(t, {
      '998.do.two.sql': 'create table two (n int); insert into two values (2);',
      '999.do.three.sql': 'insert into two values (3);',
    });
    t.same(await Promise.all([1, 2, 3, 4, 5].map(() => migrate(url, { folder }))), Array(5).fill(999));
    const applied = await versions(sql);
    t.same(applied.slice(-2), [998, 999]);
    t.same(await sql`select n from two`, [{ n: 2 }, { n: 3 }]);
    t.equal(await migrate(url, { folder }), 999, 'a later start finds nothing to do');
    t.same(await versions(sql), applied);
  });
}

t.test('the project’s own files apply to an empty database', async (t) => {
  const url = await freshDatabase(t);
  const version = await migrate(url);
  t.same((await versions(raw(t, url))).at(-1), version);
});

t.test('a database newer than the code is refused with both versions and left as it is', async (t) => {
  const url = await freshDatabase(t);
  const known = await migrate(url);
  const folder = await folderWith(t, { '999.do.later.sql': 'create table later (n int)' });
  t.equal(await migrate(url, { folder }), 999);
  const refused = await migrate(url).catch((error) => error);
  t.type(refused, NewerDatabaseError);
  t.equal(refused.message, `the database is at version 999, this code knows ${known}: run the newer code`);
  t.equal((await versions(raw(t, url))).at(-1), 999);
});

t.test('a file that fails applies nothing of itself, and the repaired file applies', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  const version = await migrate(url);
  const folder = await folderWith(t, { '999.do.half.sql': 'create table half (n int); select 1 / 0;' });
  await t.rejects(migrate(url, { folder }), { code: '22012' });
  t.notOk(await exists(sql, 'half'));
  t.equal((await versions(sql)).at(-1), version);

  await writeFile(join(folder, '999.do.half.sql'), 'create table half (n int); select 1 / 1;');
  t.equal(await migrate(url, { folder }), 999);
  t.ok(await exists(sql, 'half'));
});

t.test('a file whose version cannot be recorded is not applied either', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await migrate(url);
  await sql`alter table schema_version add constraint no_more check (version < 999)`;
  const folder = await folderWith(t, { '999.do.half.sql': 'create table half (n int)' });
  await t.rejects(migrate(url, { folder }), { code: '23514' });
  t.notOk(await exists(sql, 'half'));
});

t.test('a migration cut off in the middle leaves nothing, and its lock is free', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  const folder = await folderWith(t, {
    '998.do.half.sql': 'create table half (n int)',
    '999.do.slow.sql': 'select pg_sleep(60)',
  });
  const cutOff = migrate(url, { folder }).catch((error) => error);
  await eventually(async () => {
    const killed = await sql`
      select pg_terminate_backend(pid, 1000) from pg_stat_activity
      where datname = current_database() and wait_event = 'PgSleep'`;
    if (killed.length === 0) throw new Error('not yet');
  });
  t.type(await cutOff, Error);
  t.notOk(await exists(sql, 'half'));

  await writeFile(join(folder, '999.do.slow.sql'), 'select 1');
  t.equal(await migrate(url, { folder }), 999);
});

t.test(
  'a link that falls silent under the question for the version is given up, and the next attempt succeeds',
  async (t) => {
    const { url, proxy, direct } = await proxiedDatabase(t);
    const version = await migrate(direct);
    const sql = raw(t, direct);
    const startedAt = performance.now();
    let attempt: Promise<unknown> = Promise.resolve();
    await sql.begin(async (locked) => {
      await locked`lock table schema_version`;
      attempt = migrate(url).catch((error) => error);
      await eventually(async () => {
        const waiting =
          await locked`select from pg_locks where not granted and relation = 'schema_version'::regclass`;
        if (waiting.length === 0) throw new Error('not asked yet');
      });
      proxy.hole();
    });
    t.type(await attempt, DeadlineError);
    within(t, performance.now() - startedAt, 6000);
    proxy.heal();
    t.equal(await migrate(url), version);
  },
);

t.test('a folder without migrations is named, instead of taken for an old version', async (t) => {
  const url = await freshDatabase(t);
  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await t.rejects(migrate(url, { folder }), { message: `no migrations in ${folder}` });
});

/** A copy of the project's migrations with further ones. */
async function folderWith(t: Test, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await cp(SQL_FOLDER, folder, { recursive: true, dereference: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

async function versions(sql: postgres.Sql): Promise<number[]> {
  const rows = await sql<{ version: number }[]>`select version::int from schema_version order by version`;
  return rows.map(({ version }) => version);
}

async function exists(sql: postgres.Sql, table: string): Promise<boolean> {
  const [row] = await sql<{ there: boolean }[]>`select to_regclass(${table}) is not null as there`;
  return row?.there ?? false;
}

function raw(t: Test, url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end({ timeout: 1 }));
  return sql;
}
