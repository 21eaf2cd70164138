// Sends change notifications over a real PostgreSQL: each arrives after the commit, or a gap is reported.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { type Database, openDatabase } from '../../src/db/client.js';
import { deadlineIn, REQUEST_MS } from '../../src/db/deadline.js';
import { type Notice, noticeOf, notify, type Question } from '../../src/db/notice.js';
import { listenForNotices } from '../../src/db/notices.js';
import type { TalkgroupId } from '../../src/ids.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { throughProxy } from '../helpers/database/proxied-database.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { IS_PROOF, within } from '../helpers/within.js';

/** Shorter than the defaults, so that a hole costs a test less than half a second. */
const BEAT_MS = 100;
const SILENCE_MS_MAX = 300;
/** A new connection, its LISTEN, and a machine that does other things as well. */
const RELISTEN_MS_MAX = 500;

t.setTimeout(300_000);

t.test('a notification arrives after its statement commits and not before', async (t) => {
  const { database, heard, sql } = await listening(t, { defaults: true });
  await sql`create table rows (n int)`;
  const late = noticeOf({ kind: 'key_rotated', talkgroup: someTalkgroup() });
  const inReturning = noticeOf({ kind: 'talkgroup_deleted', talkgroup: someTalkgroup() });
  const inSelect = noticeOf({ kind: 'key_rotated', talkgroup: someTalkgroup() });

  await sql`begin`;
  await sql`insert into rows values (1) returning ${notify(sql as never, late)}`;
  await database.write(
    deadlineIn(REQUEST_MS),
    (sql) => sql`insert into rows values (2) returning ${notify(sql, inReturning)}`,
  );
  await database.write(
    deadlineIn(REQUEST_MS),
    (sql) => sql`with added as (insert into rows values (3)) select ${notify(sql, inSelect)}`,
  );
  await eventually(() => assertTrue(heard.length >= 2));
  t.strictSame(heard, [inReturning, inSelect]);
  await sql`commit`;
  await eventually(() => assertTrue(heard.length >= 3));
  t.strictSame(heard, [inReturning, inSelect, late]);
});

t.test('a statement that fails or changes nothing sends no notification', async (t) => {
  const { database, heard, sql } = await listening(t, { defaults: true });
  await sql`create table rows (n int unique)`;
  const notice = () => noticeOf({ kind: 'key_rotated', talkgroup: someTalkgroup() });
  // The first row's notice is sent before the second row violates the constraint.
  await t.rejects(
    database.write(
      deadlineIn(REQUEST_MS),
      (sql) => sql`insert into rows values (1), (1) returning ${notify(sql, notice())}`,
    ),
    { code: '23505' },
  );
  await database.write(
    deadlineIn(REQUEST_MS),
    (sql) => sql`update rows set n = 2 where n = 404 returning ${notify(sql, notice())}`,
  );
  const marker = notice();
  await database.write(deadlineIn(REQUEST_MS), (sql) => sql`select ${notify(sql, marker)}`);
  await eventually(() => assertTrue(heard.length >= 1));
  t.strictSame(heard, [marker]);
});

t.test('a malformed notification is ignored, and the connection goes on', async (t) => {
  const { database, heard, sql, lines } = await listening(t, { defaults: true });
  for (const payload of [
    '',
    'null',
    '{}',
    '[1]',
    '{"id":1,"kind":"joined"}',
    '{"id":"x","kind":"later"}',
    '{',
  ]) {
    await sql`select pg_notify('talkgroup_radio', ${payload})`;
  }
  const notice = noticeOf({ kind: 'key_rotated', talkgroup: someTalkgroup() });
  await database.write(deadlineIn(REQUEST_MS), (sql) => sql`select ${notify(sql, notice)}`);
  await eventually(() => assertTrue(heard.length >= 1));
  t.strictSame(heard, [notice]);
  t.strictSame(lines, Array(7).fill('malformed database notification ignored'));
});

t.test('the first LISTEN reports a gap, and silence without changes does not', async (t) => {
  // A machine that does other things as well must not be silent for so long itself.
  const silenceMsMax = 2_000;
  const { gaps, lines } = await listening(t, { silenceMsMax });
  await delay(1.5 * silenceMsMax); // nothing may happen, however long
  t.equal(gaps.length, 1);
  t.strictSame(lines, []);
});

t.test('a half-open listening connection is detected by its silence while the pool works', async (t) => {
  const { gaps, lines, proxy } = await listening(t);
  proxy.hole();
  const holeAt = performance.now();
  proxy.heal(); // for new connections. The old one has lost bytes
  await eventually(() => assertTrue(gaps.length === 2));
  const ms = (gaps[1] ?? Number.NaN) - holeAt;
  within(t, ms, SILENCE_MS_MAX + RELISTEN_MS_MAX, 'a gap');
  t.strictSame(lines, ['database notifications silent, reconnecting']);
});

t.test('with the defaults a half-open connection is detected after 3 s of silence', async (t) => {
  const { gaps, proxy } = await listening(t, { defaults: true });
  proxy.hole();
  const holeAt = performance.now();
  proxy.heal();
  await eventually(() => assertTrue(gaps.length === 2));
  const ms = (gaps[1] ?? Number.NaN) - holeAt;
  within(t, ms, 3000 + RELISTEN_MS_MAX, 'a gap');
});

t.test('commits that stall for 1.5 s replace no pool and cause no gap', async (t) => {
  const direct = await freshDatabase(t);
  const { url, proxy } = await throughProxy(t, direct);
  const pool = await opened(url);
  const gaps: number[] = [];
  const beats: Promise<unknown>[] = [];
  const notices = listenForNotices({
    url: direct,
    database: {
      ...pool,
      write(deadline, statement) {
        const beat = pool.write(deadline, statement);
        beats.push(beat);
        if (beats.length === 1) proxy.stall(true); // before it is sent
        return beat;
      },
    },
    onNotice() {},
    onGap: () => gaps.push(performance.now()),
    log: { warn: (_, message) => t.fail(message) },
  });
  t.teardown(async () => {
    await notices.close();
    await pool.close();
  });
  await eventually(() => assertTrue(beats.length === 1));
  await delay(1500);
  proxy.stall(false);
  await t.resolves(Promise.all(beats), 'every heartbeat is stored');
  await eventually(() => assertTrue(beats.length >= 4)); // silence beyond 3 s would have been noticed
  await t.resolves(Promise.all(beats));
  t.equal(pool.figures().poolsReplaced, 0);
  t.equal(gaps.length, 1);
});

t.test(
  'while the link to the database is half-open no connections pile up, and its return reports a gap',
  async (t) => {
    const { gaps, proxy } = await listening(t);
    proxy.hole();
    await delay(5 * SILENCE_MS_MAX);
    t.ok(proxy.open() <= 2, `${proxy.open()} connections`);
    t.equal(gaps.length, 1);
    proxy.heal();
    const healedAt = performance.now();
    await eventually(() => assertTrue(gaps.length >= 2));
    const ms = (gaps[1] ?? Number.NaN) - healedAt;
    within(t, ms, SILENCE_MS_MAX + RELISTEN_MS_MAX, 'a gap');
  },
);

t.test(
  'a killed listening connection reports a gap immediately, and later notifications arrive',
  async (t) => {
    const { gaps, database, heard, sql } = await listening(t, { defaults: true });
    const killedAt = performance.now();
    await killListener(sql);
    await eventually(() => assertTrue(gaps.length === 2));
    const ms = (gaps[1] ?? Number.NaN) - killedAt;
    within(t, ms, 1500, 'a gap'); // by its silence it would be 2 s to 3 s
    const notice = noticeOf({ kind: 'key_rotated', talkgroup: someTalkgroup() });
    await database.write(deadlineIn(REQUEST_MS), (sql) => sql`select ${notify(sql, notice)}`);
    await eventually(() => assertTrue(heard.length >= 1));
    t.strictSame(heard, [notice]);
  },
);

t.test('after kills, holes and resets every notification has arrived or a gap was reported', async (t) => {
  const direct = await freshDatabase(t);
  const pause = fc.nat(150).map((ms) => ({ fault: 'pause' as const, ms }));
  const broken = fc.record({
    fault: fc.constantFrom(...(['kill', 'hole', 'close', 'reset', 'slam', 'refuse'] as const)),
    ms: fc.nat(150),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(pause, broken), { minLength: 2, maxLength: 6 }), async (faults) => {
      const { database, heard, gaps, sql, proxy, end } = await listening(t, { direct });
      const sent = sendNumbered(database);
      for (const { fault, ms } of faults) {
        if (fault === 'kill') await killListener(sql);
        else if (fault !== 'pause') proxy[fault]();
        if (fault === 'refuse' || fault === 'slam') proxy.reset();
        await delay(ms);
        proxy.heal();
        await proxy.listen();
      }
      await sent.stop();
      await eventually(() => {
        const known = new Set(heard.map(({ id }) => id));
        const lastGap = gaps.at(-1) ?? 0;
        const missed = sent.notices.filter(({ id, startMs }) => !known.has(id) && lastGap < startMs);
        if (missed.length > 0)
          throw new Error(`${missed.length} of ${sent.notices.length} missed without a gap`);
      });
      await end();
    }),
    { numRuns: IS_PROOF ? 100 : 8 },
  );
});

t.test('close leaves no connection or timer, also during a new attempt', async (t) => {
  for (const fault of ['none', 'kill', 'refuse'] as const) {
    const { notices, sql, proxy, gaps } = await listening(t);
    if (fault === 'kill') await killListener(sql);
    if (fault === 'refuse') {
      proxy.refuse();
      proxy.reset();
      await delay(SILENCE_MS_MAX); // several attempts
    }
    await notices.close();
    await proxy.listen();
    const accepted = proxy.accepted();
    await delay(200); // several times the pause between attempts
    t.equal(proxy.accepted(), accepted, `${fault}: no attempt after close`);
    await eventually(async () => assertTrue((await listeners(sql)) === 0));
    t.equal(proxy.open(), 0, fault);
    t.equal(gaps.length, fault === 'kill' ? gaps.length : 1);
  }
});

/** A listener behind a proxy of its own, beside a pool that does not go through it, after its first gap. */
async function listening(
  t: Test,
  {
    direct,
    defaults,
    silenceMsMax = SILENCE_MS_MAX,
  }: { direct?: string; defaults?: boolean; silenceMsMax?: number } = {},
) {
  const database = direct ?? (await freshDatabase(t));
  const { url, proxy } = await throughProxy(t, database);
  const sql = postgres(database, { max: 1, onnotice: () => {} });
  const pool = await opened(database);
  const heard: (Notice | Question)[] = [];
  const gaps: number[] = [];
  const lines: string[] = [];
  const notices = listenForNotices({
    url,
    database: pool,
    onNotice: (notice) => heard.push(notice),
    onGap: () => gaps.push(performance.now()),
    log: { warn: (_, message) => lines.push(message) },
    ...(defaults ? {} : { beatMs: BEAT_MS, silenceMsMax }),
  });
  const end = async () => {
    await notices.close();
    await pool.close();
    await sql.end({ timeout: 1 });
    await proxy.stop();
  };
  t.teardown(end);
  await eventually(() => assertTrue(gaps.length === 1));
  return { database: pool, notices, heard, gaps, lines, sql, proxy, end };
}

async function opened(url: string): Promise<Database> {
  const database = openDatabase({ url, connections: 2, log: { warn() {}, info() {} } });
  await database.up(deadlineIn(HANGS_MS));
  return database;
}

/** One notice after the other, each with the moment before it was sent, until stopped. */
function sendNumbered(database: Database) {
  const notices: { id: string; startMs: number }[] = [];
  let stopped = false;
  const sending = (async () => {
    while (!stopped) {
      const notice = noticeOf({ kind: 'key_rotated', talkgroup: someTalkgroup() });
      const startMs = performance.now();
      await database.write(deadlineIn(REQUEST_MS), (sql) => sql`select ${notify(sql, notice)}`);
      notices.push({ id: notice.id, startMs });
      await delay(2);
    }
  })();
  return {
    notices,
    async stop() {
      stopped = true;
      await sending;
    },
  };
}

async function killListener(sql: postgres.Sql): Promise<void> {
  await sql`
    select pg_terminate_backend(pid, 1000) from pg_stat_activity
    where datname = current_database() and application_name = 'talkgroup-radio-notices'`;
}

async function listeners(sql: postgres.Sql): Promise<number> {
  const rows = await sql`
    select pid from pg_stat_activity
    where datname = current_database() and application_name = 'talkgroup-radio-notices'`;
  return rows.length;
}

const someTalkgroup = () => randomUUID() as TalkgroupId;

function assertTrue(condition: boolean): void {
  if (!condition) throw new Error('not yet');
}
