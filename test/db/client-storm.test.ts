// Connections and whole servers killed under load, with a ledger of every write that was acknowledged.
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { type Database, openDatabase } from '../../src/db/client.js';
import { deadlineIn, REQUEST_MS } from '../../src/db/deadline.js';
import { startEmbedded } from '../../src/db/embedded.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { compare, inS, insertInto, keepWriting } from '../helpers/database/write-ledger.js';
import { eventually } from '../helpers/eventually.js';
import { within } from '../helpers/within.js';

const STORM_S = Number(process.env.KILL_STORM_S ?? 6);
/** One kill of the whole server for each 3 s of the storm. */
const POSTMASTER_KILLS = Math.ceil(STORM_S / 3);
const WRITERS = 8;
const CONNECTIONS = 10;
const CALL_MS_MAX = 3000;
const RECOVERED_MS_MAX = 2000;

t.setTimeout((STORM_S + POSTMASTER_KILLS * 10 + 60) * 1000);

// Uncaught exceptions and unhandled rejections fail the test in which they happen. Tap sees to that.
t.test('through a storm of killed backends no call hangs and no acknowledged write is lost', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table ledger (id int primary key)`;
  const database = await opened(t, url);
  const { ledger, stop } = writing(t, database);

  const endMs = performance.now() + STORM_S * 1000;
  let kills = 0;
  let backendsMax = 0;
  while (performance.now() < endMs) {
    await delay(randomInt(20, 50));
    const backends = await sql`
      select case when row_number() over (order by random()) = 1 then pg_terminate_backend(pid) end as killed
      from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    kills += backends.filter(({ killed }) => killed).length;
    backendsMax = Math.max(backendsMax, backends.length);
  }

  await recovers(t, database);
  await stop();
  t.comment(`${kills} kills, at most ${backendsMax} backends`);
  t.ok(kills > STORM_S * 5, 'it was a storm');
  t.ok(ledger.acknowledged.size > STORM_S * 20, 'writes went through in the midst of it');
  t.ok(ledger.unknown.size > 0, 'some were hit while they were under way');
  t.ok(ledger.unknown.size <= kills * WRITERS, 'unknown is said of those alone');
  t.ok(backendsMax <= 4 * CONNECTIONS, `${backendsMax} backends: no pile of connections`);
  t.ok(ledger.slowestMs < CALL_MS_MAX, `the slowest call took ${inS(ledger.slowestMs)}`);
  compare(t, 'killed backends', ledger, await storedIds(sql));
});

t.test(
  'through kill -9 of the server itself no acknowledged write is lost, and it is used again at once',
  async (t) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-'));
    t.teardown(() => rm(dataDir, { recursive: true, force: true }));
    const server = await startEmbedded({ dataDir, log: { info() {}, warn() {}, error: console.error } });
    t.teardown(() => server.stop());
    const setup = raw(t, server.url);
    await setup`create table ledger (id int primary key)`;
    const database = await opened(t, server.url);
    const { ledger, stop } = writing(t, database);

    for (let kill = 0; kill < POSTMASTER_KILLS; kill++) {
      const before = ledger.acknowledged.size;
      await eventually(() => assertTrue(ledger.acknowledged.size > before + 50));
      process.kill(await postmasterPid(dataDir), 'SIGKILL');
      await eventually(async () => assertTrue(!(await answers(server.url))));
      await eventually(async () => assertTrue(await answers(server.url))); // recovered from its log
      await recovers(t, database);
    }

    await stop();
    t.ok(ledger.slowestMs < CALL_MS_MAX, `the slowest call took ${inS(ledger.slowestMs)}`);
    const fresh = raw(t, server.url);
    compare(t, `${POSTMASTER_KILLS} kills of the server`, ledger, await storedIds(fresh));
  },
);

const writing = (t: Test, database: Database) =>
  keepWriting(t, WRITERS, (id) => insertInto(database, id), { afterMs: 2, afterRefusalMs: 2 });

/** From now it takes less than 2 s until the database answers, and goes on answering. */
async function recovers(t: Test, database: Database): Promise<void> {
  const startMs = performance.now();
  const ask = () => database.read(deadlineIn(REQUEST_MS), (sql) => sql`select 1`);
  await eventually(ask);
  for (let more = 0; more < 3 * CONNECTIONS; more++) await eventually(ask);
  const ms = Math.round(performance.now() - startMs);
  within(t, ms, RECOVERED_MS_MAX, 'recovered');
}

async function storedIds(sql: postgres.Sql): Promise<Set<number>> {
  const rows = await sql<{ id: number }[]>`select id from ledger`;
  return new Set(rows.map(({ id }) => id));
}

async function opened(t: Test, url: string): Promise<Database> {
  const database = openDatabase({ url, connections: CONNECTIONS, log: { warn() {}, info() {} } });
  t.teardown(() => database.close());
  await database.up(deadlineIn(10_000));
  return database;
}

/** One connection around the client. */
function raw(t: Test, url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end({ timeout: 1 }));
  return sql;
}

async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 1, onnotice: () => {} });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false; // refused, starting up
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

function assertTrue(condition: boolean): void {
  if (!condition) throw new Error('not yet');
}
