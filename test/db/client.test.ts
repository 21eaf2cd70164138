// The guarded client against a real PostgreSQL that is absent, slow, half-open, contended or read-only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { type Database, openDatabase } from '../../src/db/client.js';
import { deadlineIn, REQUEST_MS } from '../../src/db/deadline.js';
import { AppError, type RefusalCode } from '../../src/errors.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { proxiedDatabase } from '../helpers/database/proxied-database.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);
const CONNECTIONS = 4;
/** What failures.md allows a call with the deadline of a request. */
const ANSWERED_MS_MAX = 3000;
const REFUSED_AT_ONCE_MS_MAX = 100;
const RECOVERED_MS_MAX = 2000;

t.test('a database that is absent at the start is refused at once, and used when it has come', async (t) => {
  const { url, proxy } = await proxiedDatabase(t);
  proxy.refuse();
  const { database } = open(t, url);
  for (let call = 0; call < 5; call++) {
    const { outcome, ms } = await timed(() => one(database));
    t.equal(outcome, 'database_unavailable');
    within(t, ms, REFUSED_AT_ONCE_MS_MAX, 'refused');
    await delay(100); // beyond the first attempts to connect
  }
  t.not(database.trouble(), null);

  await proxy.listen();
  within(t, await msUntilAnswered(database), RECOVERED_MS_MAX, 'recovered');
  t.equal(database.trouble(), null);
});

t.test('a server that ends every connection as soon as it is made is not stormed', async (t) => {
  const { url, proxy } = await proxiedDatabase(t);
  proxy.slam();
  const { database } = open(t, url);
  await delay(1000); // the time over which attempts are counted
  t.ok(proxy.accepted() < 20, `${proxy.accepted()} attempts within a second`);

  await proxy.listen();
  within(t, await msUntilAnswered(database), RECOVERED_MS_MAX, 'recovered');
});

t.test(
  'on a link that went half-open every call is answered, later ones at once, and it heals without a pile',
  async (t) => {
    const { url, proxy, direct } = await proxiedDatabase(t);
    const sql = raw(t, direct);
    await sql`create table rows (n int)`;
    const { database } = await opened(t, url);
    const calls = keepCalling({
      read: () => one(database),
      write: () =>
        database.write(deadlineIn(REQUEST_MS), (sql) => sql`insert into rows values (1) returning n`),
    });
    await eventually(() => assertTrue(calls.outcomes.length > 100));

    proxy.hole();
    const beforeHole = proxy.accepted();
    await eventually(() => assertTrue(database.trouble() !== null));
    for (let call = 0; call < 5; call++) {
      const { outcome, ms } = await timed(() => one(database));
      t.equal(outcome, 'database_unavailable');
      within(t, ms, REFUSED_AT_ONCE_MS_MAX, 'refused');
      t.ok(proxy.open() <= 3 * CONNECTIONS, `${proxy.open()} connections`);
      await delay(200); // the hole lasts 1 s longer
    }
    t.ok(proxy.accepted() - beforeHole < 3 * CONNECTIONS, `${proxy.accepted() - beforeHole} attempts`);

    proxy.heal();
    within(t, await msUntilAnswered(database), RECOVERED_MS_MAX, 'recovered');
    await calls.stop();
    for (const { kind, outcome, ms } of calls.outcomes) {
      if (ms > ANSWERED_MS_MAX) t.fail(`a ${kind} took ${ms} ms`);
      if (kind === 'read' && outcome === 'outcome_unknown') t.fail('a read has no outcome to be unknown');
    }
    t.ok(calls.outcomes.some(({ outcome }) => outcome === 'outcome_unknown'));
    await eventually(() => assertTrue(proxy.open() <= CONNECTIONS));
    const [{ count } = { count: Number.NaN }] = await sql<{ count: number }[]>`
      select count(*)::int from pg_stat_activity
      where datname = current_database() and application_name = 'talkgroup-radio'`;
    t.ok(count <= 2 * CONNECTIONS, `${count} backends`);
  },
);

t.test('a process that closes its clients ends by itself, whatever the link does', async (t) => {
  const script = fileURLToPath(new URL('../helpers/database/database-child.js', import.meta.url));
  const faults = ['none', 'hole', 'refuse', 'slam'] as const;
  await Promise.all(
    faults.map(async (fault) => {
      const { url, proxy } = await proxiedDatabase(t);
      const child = spawn(process.execPath, [script, url], { stdio: ['pipe', 'pipe', 'inherit'] });
      t.teardown(() => child.kill('SIGKILL'));
      const says = createInterface(child.stdout)[Symbol.asyncIterator]();
      t.equal((await says.next()).value, 'up');
      if (fault !== 'none') {
        proxy[fault]();
        if (fault !== 'hole') proxy.reset();
        t.equal((await says.next()).value, 'down', fault);
      }
      const closingAt = performance.now();
      child.stdin.end();
      t.same(await once(child, 'exit'), [0, null], fault);
      const ms = performance.now() - closingAt;
      within(t, ms, 2000, `${fault}: ended`);
    }),
  );
});

t.test('a caller of a locked table is refused by its deadline, and no other one notices', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table locked (n int)`;
  await sql`create table free (n int)`;
  const { database } = await opened(t, url);
  await sql.unsafe('begin; lock table locked in access exclusive mode');
  const beforeMs = performance.now();
  const refused = Promise.all(
    ['read', 'write', 'write'].map((kind) =>
      timed(() =>
        kind === 'read'
          ? database.read(deadlineIn(REQUEST_MS), (sql) => sql`select n from locked`)
          : database.write(deadlineIn(REQUEST_MS), (sql) => sql`insert into locked values (1) returning n`),
      ),
    ),
  );
  const others = keepCalling({
    read: () => database.read(deadlineIn(REQUEST_MS), (sql) => sql`select n from free limit 1`),
    write: () =>
      database.write(deadlineIn(REQUEST_MS), (sql) => sql`insert into free values (1) returning n`),
  });
  for (const { outcome, ms } of await refused) {
    t.match(outcome, /^(database_unavailable|outcome_unknown)$/);
    within(t, ms, ANSWERED_MS_MAX, 'refused');
  }
  await others.stop();
  t.ok(performance.now() - beforeMs > 1000, 'the lock was waited for');
  t.strictSame(
    others.outcomes.filter(({ outcome }) => outcome !== 'answered'),
    [],
  );
  t.ok(others.outcomes.length > 100);
  await sql`rollback`;
  t.equal((await timed(() => one(database))).outcome, 'answered');
  t.same(await sql`select n from locked`, [], 'what was refused did not happen later');
});

t.test('a user whose statements run into their deadlines costs no other user the pool', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table locked as select 1 as n`;
  const { database, lines } = await opened(t, url);
  await sql.unsafe('begin; select n from locked for update');
  const others = keepCalling({ read: () => one(database), write: () => one(database) });
  for (let round = 0; round < 2; round++) {
    // The lock would be refused after 1.2 s, the sleep at the deadline of a read.
    const late = [
      timed(() =>
        database.write(deadlineIn(800, { user: 'bob' }), (sql) => sql`update locked set n = 2 returning n`),
      ),
      timed(() => database.read(deadlineIn(REQUEST_MS, { user: 'eve' }), (sql) => sql`select pg_sleep(9)`)),
    ];
    const outcomes = (await Promise.all(late)).map(({ outcome }) => outcome);
    t.strictSame(outcomes, ['outcome_unknown', 'database_unavailable']);
  }
  await others.stop();
  t.ok(others.outcomes.every(({ outcome }) => outcome === 'answered'));
  t.strictSame(lines, [], 'no pool was replaced');
});

t.test('a statement whose caller gave up holds the place of its user until the server ends it', async (t) => {
  const { database, lines } = await lockedTable(t);
  const others = keepCalling({ read: () => one(database), write: () => one(database) });
  // Of four connections one user has one. A statement waits 1.2 s for the lock, its caller 0.1 s: of 30 callers some
  // come when the first statement has ended.
  const hasty = () =>
    timed(() => database.read(deadlineIn(100, { user: 'eve' }), (sql) => sql`select n from locked`));
  for (let round = 0; round < 30; round++) t.equal((await hasty()).outcome, 'database_unavailable');
  await others.stop();
  const slowest = Math.max(...others.outcomes.map(({ ms }) => ms));
  t.ok(slowest < 500, `the slowest of the others took ${slowest} ms`);
  t.strictSame(lines, []);
});

t.test('one silent connection is found while the others answer, and its place is given back', async (t) => {
  const { database, lines } = await opened(t, await freshDatabase(t));
  const others = keepCalling({ read: () => one(database), write: () => one(database) });
  const eve = { user: 'eve' }; // of four connections she has one
  const { outcome } = await timed(() =>
    database.read(deadlineIn(REQUEST_MS, eve), () => new Promise<never[]>(() => {})),
  );
  t.equal(outcome, 'database_unavailable');
  t.strictSame(lines, [], 'the others are answered');
  const next = () => timed(() => database.read(deadlineIn(REQUEST_MS, eve), (sql) => sql`select 1 as n`));
  t.equal((await next()).outcome, 'answered');
  t.strictSame(lines, ['database pool replaced']);
  await others.stop();
  t.ok(others.outcomes.every(({ outcome }) => outcome === 'answered'));
});

t.test('the 577th call at once is refused at once, the 576 before it are answered', async (t) => {
  const { sql, database } = await lockedTable(t);
  const call = () => timed(() => database.read(deadlineIn(REQUEST_MS), (sql) => sql`select n from locked`));
  const answers = Array.from({ length: 64 + 512 }, call);
  const last = await call();
  t.equal(last.outcome, 'database_unavailable');
  within(t, last.ms, REFUSED_AT_ONCE_MS_MAX, 'refused');

  await sql`commit`;
  const outcomes = (await Promise.all(answers)).map(({ outcome }) => outcome);
  t.equal(outcomes.filter((outcome) => outcome === 'answered').length, 576);
});

t.test('reserved reads are answered while all other places are taken, and one after another', async (t) => {
  const { sql, database } = await lockedTable(t, 1);
  const stuck = (ms: number) =>
    timed(() => database.write(deadlineIn(ms), (sql) => sql`insert into locked values (1)`));
  // The first ones give up while the server still waits for the lock: their connections stay occupied.
  for (const { outcome } of await Promise.all(Array.from({ length: CONNECTIONS - 1 }, () => stuck(300))))
    t.equal(outcome, 'outcome_unknown');
  const others = Array.from({ length: 64 + 512 + 1 }, () => stuck(REQUEST_MS));
  const reserved = () =>
    timed(() => database.readReserved(deadlineIn(REQUEST_MS), (sql) => sql`select 1 as n`));
  for (let round = 0; round < 20; round++) {
    const { outcome, ms } = await reserved();
    t.equal(outcome, 'answered');
    within(t, ms, 200, 'answered');
  }
  // Two at once: the second one waits with the others, and where that is full it is refused.
  const outcomes = (await Promise.all([reserved(), reserved()])).map(({ outcome }) => outcome);
  t.same(outcomes, ['answered', 'database_unavailable']);
  t.equal((await others.at(-1))?.outcome, 'database_unavailable');
  await sql`commit`;
  await Promise.all(others);
});

t.test('a single connection is not reserved, and reserved reads share it', async (t) => {
  const database = openDatabase({
    ...{ url: await freshDatabase(t), connections: 1, reserved: 1 },
    log: { warn() {}, info() {} },
  });
  t.teardown(() => database.close());
  await database.up(deadlineIn(HANGS_MS));
  t.equal((await timed(() => one(database))).outcome, 'answered');
  const read = () => database.readReserved(deadlineIn(REQUEST_MS), (sql) => sql`select 1 as n`);
  t.equal((await timed(read)).outcome, 'answered');
});

t.test('no caller waits at the gate beyond its deadline, and one that gives up makes room', async (t) => {
  const { sql, database, lines } = await lockedTable(t);
  const inside = Array.from({ length: 64 }, () =>
    timed(() => database.write(deadlineIn(REQUEST_MS), (sql) => sql`select n from locked`)),
  );
  for (let round = 0; round < 3; round++) {
    const waiting = Array.from({ length: 512 }, () => timed(() => one(database, 200)));
    for (const { outcome, ms } of await Promise.all(waiting)) {
      if (outcome !== 'database_unavailable') t.fail(`expected a refusal, got ${outcome}`);
      if (ms < 190 || ms > 500) t.fail(`refused after ${ms} ms`);
    }
  }
  await sql`commit`;
  for (const { outcome } of await Promise.all(inside)) t.equal(outcome, 'answered');
  t.strictSame(lines, [], 'no pool was replaced');
});

t.test('a caller with little time left gets its refusal, and the pool is not blamed for it', async (t) => {
  const url = await freshDatabase(t);
  const { database, lines } = await opened(t, url);
  const sleepy = (ms: number) =>
    timed(() => database.read(deadlineIn(ms), (sql) => sql`select pg_sleep(0.3)`));
  for (const ms of [-1000, 0, 1, 20, 100]) {
    const { outcome, ms: took } = await sleepy(ms);
    t.equal(outcome, 'database_unavailable', `${ms} ms`);
    t.ok(took < Math.max(ms, 0) + 100, `${ms} ms: refused after ${took} ms`);
  }
  t.strictSame(lines, []);
});

t.test('a caller that gives up leaves no other one waiting behind its statement', async (t) => {
  const { database } = await lockedTable(t);
  const hasty = () => timed(() => database.read(deadlineIn(100), (sql) => sql`select n from locked`));
  // All connections but one are left with a statement that waits for the lock.
  for (const { outcome } of await Promise.all(Array.from({ length: CONNECTIONS - 1 }, hasty))) {
    t.equal(outcome, 'database_unavailable');
  }
  const answers = await Promise.all(Array.from({ length: 20 }, () => timed(() => one(database))));
  for (const { outcome, ms } of answers) {
    t.equal(outcome, 'answered');
    t.ok(ms < 500, `answered after ${ms} ms`);
  }
});

t.test('a slow link is slow and nothing worse', async (t) => {
  const { url, proxy } = await proxiedDatabase(t);
  const { database, lines } = await opened(t, url);
  proxy.delay(50);
  for (const { outcome, ms } of await Promise.all([1, 2, 3].map(() => timed(() => one(database))))) {
    t.equal(outcome, 'answered');
    t.ok(ms >= 100, `answered after ${ms} ms`);
  }
  t.strictSame(lines, [], 'no pool was replaced');
});

t.test('of two sessions in a deadlock, ours tries again and succeeds', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table balances as select id, 0 as n from generate_series(1, 2) as id`;
  await sql`create sequence tries`;
  await setForDatabase(sql, `deadlock_timeout = '100ms'`);
  const { database } = await opened(t, url);
  const other = raw(t, url);
  // The first to look is the one to be ended: ours.
  await other.unsafe(`set deadlock_timeout = '1h'; begin; update balances set n = n + 10 where id = 2`);
  await sql`select pg_advisory_lock(1), pg_advisory_lock(102)`;
  // Holds row 1 and waits at the advisory lock before it takes row 2. Its second try waits before it takes any row.
  const ours = database.write(
    deadlineIn(4 * REQUEST_MS),
    (sql) => sql`
      with tried as materialized (
        select pg_advisory_xact_lock_shared(100 + nextval('tries')) is not null as goes
      )
      update balances set n = n + 1 from tried
      where goes and (id = 1 or pg_advisory_xact_lock_shared(1) is not null)
      returning id`,
  );
  await untilBlocked(sql, 'talkgroup-radio');
  const others = other`update balances set n = n + 10 where id = 1`.execute();
  await untilBlocked(sql, 'postgres.js');
  await sql`select pg_advisory_unlock(1)`;

  await others;
  await other`commit`;
  await sql`select pg_advisory_unlock(102)`;
  t.same((await ours).length, 2);
  t.same(await sql`select id, n from balances order by id`, [
    { id: 1, n: 11 },
    { id: 2, n: 11 },
  ]);
  t.same(await sql`select last_value::int as tries from tries`, [{ tries: 2 }]);
});

t.test('a statement that cannot be serialized is tried again with what the other one wrote', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table counters as select 0 as n`;
  await setForDatabase(sql, `default_transaction_isolation = 'repeatable read'`);
  const { database } = await opened(t, url);
  const other = raw(t, url);
  await other.unsafe('begin; update counters set n = n + 10');
  const ours = database.write(
    deadlineIn(REQUEST_MS),
    (sql) => sql`update counters set n = n + 1 returning n`,
  );
  await untilBlocked(sql, 'talkgroup-radio');
  await other`commit`;
  t.same(await ours, [{ n: 11 }]);
});

t.test('a statement in conflict twice is refused and has not happened', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql.unsafe(`
    create table rows (n int);
    create sequence tries;
    create function conflict() returns trigger language plpgsql as $$
      begin perform nextval('tries'); raise exception using errcode = '40001'; end $$;
    create trigger conflict after insert on rows for each row execute function conflict()`);
  const { database, lines } = await opened(t, url);
  const { outcome } = await timed(() =>
    database.write(deadlineIn(REQUEST_MS), (sql) => sql`insert into rows values (1) returning n`),
  );
  t.equal(outcome, 'database_unavailable');
  t.same(await sql`select last_value::int as tries, (select count(*)::int from rows) as rows from tries`, [
    { tries: 2, rows: 0 },
  ]);
  t.strictSame(lines, []);
});

t.test(
  'after a failover, a write that meets the old read-only server succeeds on a fresh pool',
  async (t) => {
    const url = await freshDatabase(t);
    const sql = raw(t, url);
    await sql`create table rows (n int)`;
    await setForDatabase(sql, 'default_transaction_read_only = on');
    const { database, lines } = await opened(t, url);
    // Sessions keep what they began with: those of the pool stay read-only, new ones are not.
    await setForDatabase(sql, 'default_transaction_read_only = off');
    const write = () =>
      database.write(deadlineIn(REQUEST_MS), (sql) => sql`insert into rows values (1) returning n`);
    t.same(await write(), [{ n: 1 }]);
    t.strictSame(lines, ['database pool replaced']);
  },
);

t.test('while the database is read-only writes are refused and reads answered, and it heals', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table rows (n int)`;
  await setForDatabase(sql, 'default_transaction_read_only = on');
  const { database } = await opened(t, url);
  const write = () =>
    database.write(deadlineIn(REQUEST_MS), (sql) => sql`insert into rows values (1) returning n`);
  t.equal((await timed(write)).outcome, 'database_unavailable');
  t.equal((await timed(() => one(database))).outcome, 'answered');
  await setForDatabase(sql, 'default_transaction_read_only = off');
  t.same(await write(), [{ n: 1 }]);
  t.same(await sql`select count(*)::int from rows`, [{ count: 1 }]);
});

t.test(
  'a write whose backend dies under it is said to be unknown, and is not sent a second time',
  async (t) => {
    const url = await freshDatabase(t);
    const sql = raw(t, url);
    await sql`create sequence tries`;
    const { database } = await opened(t, url);
    const dying = timed(() =>
      database.write(deadlineIn(REQUEST_MS), (sql) => sql`select nextval('tries'), pg_sleep(10)`),
    );
    await eventually(async () => {
      const killed = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event = 'PgSleep'`;
      assertTrue(killed.length === 1);
    });
    t.equal((await dying).outcome, 'outcome_unknown');
    t.equal((await timed(() => one(database))).outcome, 'answered');
    t.same(await sql`select last_value::int as tries from tries`, [{ tries: 1 }]);
  },
);

t.test('text that PostgreSQL cannot store or read is the caller’s bad request', async (t) => {
  const url = await freshDatabase(t);
  const { database, lines } = await opened(t, url);
  const refused = async (name: string, work: () => Promise<unknown>) => {
    await t.rejects(work(), { code: 'bad_request', status: 400 }, name);
  };
  const ask = (statement: Parameters<typeof database.read>[1]) =>
    database.read(deadlineIn(REQUEST_MS), statement);
  await refused('22021', () => ask((sql) => sql`select ${'a\0b'}::text`));
  await refused('22P02', () => ask((sql) => sql`select ${'no uuid'}::text::uuid`));
  await refused('22P05', () => ask((sql) => sql`select ${'"\\u0000"'}::text::jsonb ->> 0`));
  t.strictSame(lines, []);
});

t.test('behind a statement that ended amid its rows the next one has its own, from the first', async (t) => {
  const { url } = await proxiedDatabase(t);
  const database = openDatabase({ url, connections: 1, log: { warn() {}, info() {} } });
  t.teardown(() => database.close());
  await database.up(deadlineIn(HANGS_MS));
  for (const good of [0, 1, 2]) {
    const breaking = database.read(
      deadlineIn(REQUEST_MS),
      (sql) => sql`select 1 / (${good + 1}::int - n) from generate_series(1, 9) n`,
    );
    await t.rejects(breaking, { code: '22012' }, `a division by zero behind ${good} rows`);
    const rows = await database.read<{ n: number }>(
      deadlineIn(REQUEST_MS),
      (sql) => sql`select n from generate_series(1, 3) n`,
    );
    t.strictSame([...rows], [{ n: 1 }, { n: 2 }, { n: 3 }]);
  }
});

t.test(
  'what resolves without an answer of PostgreSQL is a lost statement, and its pool is replaced',
  async (t) => {
    const { url } = await proxiedDatabase(t);
    const { database, lines } = await opened(t, url);
    // As postgres.js makes it before the first byte of an answer.
    const unanswered = async () => Object.assign([], { count: null, command: null });
    await t.rejects(database.read(deadlineIn(REQUEST_MS), unanswered), { code: 'database_unavailable' });
    await t.rejects(database.write(deadlineIn(REQUEST_MS), unanswered), { code: 'outcome_unknown' });
    t.strictSame(lines, ['database pool replaced', 'database pool replaced']);
    const none = await database.read(deadlineIn(REQUEST_MS), (sql) => sql`select 1 where false`);
    t.equal(none.length, 0, 'an answer without rows is an answer');
  },
);

t.test('a violated constraint and a mistake in a statement reach the caller as they are', async (t) => {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table names (name text unique)`;
  await sql`insert into names values ('taken')`;
  const { database, lines } = await opened(t, url);
  const write = (statement: Parameters<typeof database.write>[1]) =>
    database.write(deadlineIn(REQUEST_MS), statement);
  await t.rejects(
    write((sql) => sql`insert into names values ('taken')`),
    {
      code: '23505',
      constraint_name: 'names_name_key',
    },
  );
  await t.rejects(
    write((sql) => sql`insert into nowhere values (1)`),
    { code: '42P01' },
  );
  await t.rejects(
    write((sql) => sql`select ${undefined as never}::text`),
    { code: 'UNDEFINED_VALUE' },
  );
  t.strictSame(lines, [], 'no pool was replaced');
});

t.test(
  'moments arrive as ISO 8601 in UTC and large integers as numbers, whatever the server prefers',
  async (t) => {
    const url = await freshDatabase(t);
    const sql = raw(t, url);
    await setForDatabase(sql, `timezone = 'Asia/Kolkata'`);
    await setForDatabase(sql, `datestyle = 'German, DMY'`);
    const { database } = await opened(t, url);
    const [row] = await database.read(
      deadlineIn(REQUEST_MS),
      (sql) => sql`
      select '2026-02-03T04:05:06.789+05:30'::timestamptz as moment,
             '2026-02-03T00:00:00Z'::timestamptz as whole_second,
             9007199254740991::int8 as large, null::timestamptz as none`,
    );
    t.strictSame(row, {
      moment: '2026-02-02T22:35:06.789Z',
      whole_second: '2026-02-03T00:00:00.000Z',
      large: Number.MAX_SAFE_INTEGER,
      none: null,
    });
  },
);

t.test(
  'close answers what is in flight within a second, refuses the rest and leaves no connection',
  async (t) => {
    const url = await freshDatabase(t);
    const sql = raw(t, url);
    const { database } = await opened(t, url);
    const quick = timed(() => database.read(deadlineIn(REQUEST_MS), (sql) => sql`select pg_sleep(0.5)`));
    const slow = timed(() => database.write(deadlineIn(REQUEST_MS), (sql) => sql`select pg_sleep(2)`));
    await eventually(async () => {
      const asleep = await sql`
        select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
      assertTrue(asleep.length === 2);
    });
    const closing = timed(() => database.close());
    t.equal((await timed(() => one(database))).outcome, 'database_unavailable');
    t.equal((await quick).outcome, 'answered');
    t.equal((await slow).outcome, 'outcome_unknown');
    within(t, (await closing).ms, 1200);
    await eventually(async () => {
      const backends = await sql`
      select pid from pg_stat_activity
      where datname = current_database() and application_name = 'talkgroup-radio'`;
      assertTrue(backends.length === 0);
    });
  },
);

function open(t: Test, url: string, reserved = 0): { database: Database; lines: string[] } {
  const lines: string[] = [];
  const warn = (_: object, message: string) => lines.push(message);
  const database = openDatabase({ url, connections: CONNECTIONS, reserved, log: { warn, info() {} } });
  t.teardown(() => database.close());
  return { database, lines };
}

/** An open database that answers, and the warnings it has logged since. */
async function opened(t: Test, url: string, reserved = 0): Promise<{ database: Database; lines: string[] }> {
  const both = open(t, url, reserved);
  await both.database.up(deadlineIn(HANGS_MS));
  return both;
}

/** An open database with a table that `sql` has locked, until it says `commit` or ends. */
async function lockedTable(t: Test, reserved = 0) {
  const url = await freshDatabase(t);
  const sql = raw(t, url);
  await sql`create table locked (n int)`;
  const { database, lines } = await opened(t, url, reserved);
  await sql.unsafe('begin; lock table locked in access exclusive mode');
  return { sql, database, lines };
}

/** One connection around the client, for what a test must see or break. */
function raw(t: Test, url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end({ timeout: 1 }));
  return sql;
}

async function setForDatabase(sql: postgres.Sql, setting: string): Promise<void> {
  const [{ name } = { name: '' }] = await sql<{ name: string }[]>`select current_database() as name`;
  await sql.unsafe('set default_transaction_read_only = off');
  await sql.unsafe(`alter database ${name} set ${setting}`);
}

const one = (database: Database, ms = REQUEST_MS) =>
  database.read(deadlineIn(ms), (sql) => sql`select 1 as one`);

type Outcome = 'answered' | RefusalCode;

/** How a call ended and how long it took. Anything but an answer or a refusal is thrown. */
async function timed(call: () => Promise<unknown>): Promise<{ outcome: Outcome; ms: number }> {
  const startMs = performance.now();
  const outcome = await call().then(
    (): Outcome => 'answered',
    (error) => {
      if (error instanceof AppError) return error.code;
      throw error;
    },
  );
  return { outcome, ms: Math.round(performance.now() - startMs) };
}

async function msUntilAnswered(database: Database): Promise<number> {
  const startMs = performance.now();
  await eventually(() => one(database));
  return performance.now() - startMs;
}

/** Eight callers, each with one call after the other, until stopped. */
function keepCalling(calls: { read(): Promise<unknown>; write(): Promise<unknown> }) {
  const outcomes: { kind: 'read' | 'write'; outcome: Outcome; ms: number }[] = [];
  let stopped = false;
  const callers = Array.from({ length: 8 }, async (_, caller) => {
    const kind = caller % 2 === 0 ? 'read' : 'write';
    while (!stopped) {
      outcomes.push({ kind, ...(await timed(calls[kind])) });
      await delay(5); // a refusal at once must not become a busy loop
    }
  });
  return {
    outcomes,
    async stop() {
      stopped = true;
      await Promise.all(callers);
    },
  };
}

/** Until a session of that application name waits for a lock. */
async function untilBlocked(sql: postgres.Sql, application: string): Promise<void> {
  await eventually(async () => {
    const blocked = await sql`
      select pid from pg_stat_activity
      where datname = current_database() and application_name = ${application} and wait_event_type = 'Lock'`;
    assertTrue(blocked.length === 1);
  });
}

function assertTrue(condition: boolean): void {
  if (!condition) throw new Error('not yet');
}
