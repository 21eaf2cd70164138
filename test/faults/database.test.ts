// The service while its database is silent, comes late, or lost a word: what REST says, and that audio does not notice.
import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { compose } from '../../src/compose.js';
import { readConfig } from '../../src/config/config.js';
import { createLog } from '../../src/log.js';
import { throughProxy } from '../helpers/database/proxied-database.js';
import { eventually } from '../helpers/eventually.js';
import { connect, SECRET, service } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);

/** A request's own deadline is 2.5 s. The fault table's is this. */
const ANSWER_MS_MAX = 3000;

t.test(
  'behind a half-open link every request has its refusal in time, and audio loses no frame',
  async (t) => {
    const direct = await service(t);
    const link = await throughProxy(t, direct.url);
    const s = await service(t, { DATABASE_URL: link.url }, direct.url);
    const { radios, people, number, id } = await s.crew(t, 3, { name: 'on air' });
    const [talker, ...listeners] = radios;
    const [ann] = people;
    talker.speaks(number, '0', { start: true });
    for (const listener of listeners) await listener.hearsText('0');

    const ownDelay = monitorEventLoopDelay();
    ownDelay.enable();
    link.proxy.hole();
    let holed = true;
    const speech = (async () => {
      let frame = 1;
      for (; holed; frame++) {
        talker.speaks(number, `${frame}`);
        await delay(20); // the pace of speech
      }
      talker.speaks(number, `${frame}`, { end: true });
      return frame;
    })();
    const asked = Array.from({ length: 60 }, async (_, index) => {
      await delay(index * 20);
      const askedAt = performance.now();
      const headers = { authorization: `Bearer ${ann.token}` };
      const way = [
        () => fetch(`${s.rest}/talkgroups`, { headers }),
        () => fetch(`${s.rest}/talkgroups/${id}/join`, { method: 'POST', headers }),
        () => fetch(`${s.rest}/healthz`),
      ][index % 3];
      const answer = await way?.();
      return {
        refused: index % 3 !== 2,
        status: answer?.status,
        retryAfter: answer?.headers.get('retry-after') ?? null,
        tookMs: performance.now() - askedAt,
      };
    });
    const answers = await Promise.all(asked);
    holed = false;
    const last = await speech;

    const other = answers.filter(({ refused, status, retryAfter }) =>
      refused ? status !== 503 || retryAfter !== '1' : status !== 200,
    );
    t.strictSame(other, [], 'all refused, but for healthz');
    // This thread asks and answers, and on a busy machine it waits.
    const slowestMs = Math.max(...answers.map(({ tookMs }) => tookMs)) - (2 * ownDelay.max) / 1e6;
    within(t, slowestMs, ANSWER_MS_MAX, 'the slowest answer');
    for (const listener of listeners) {
      await listener.hearsText(`${last}`);
      const heard = listener.frames.map(({ text }) => Number(text));
      t.same(
        heard,
        Array.from({ length: last + 1 }, (_, frame) => frame),
        'all of it, in order',
      );
      t.notOk(listener.messages.some(({ type }) => type === 'LAG'));
    }

    link.proxy.heal();
    await eventually(async () => assert.equal((await ann.call('GET', '/talkgroups')).status, 200));
  },
);

t.test('a database that comes late is waited for, and radios are told to come again', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('fire', ann);
  const link = await throughProxy(t, s.url);
  link.proxy.refuse();
  const config = readConfig({
    PORT: '0',
    WS_PORT: '0',
    METRICS_PORT: '0',
    JWT_SECRET: SECRET,
    ADMIN_PASSWORD: 'admin password',
    DATABASE_URL: link.url,
    RELAY_THREADS: '0',
  });
  const late = await compose(config, createLog('silent'), (error) => t.fail(error.message));
  t.teardown(() => late.close());
  const { port, wsPort } = await late.listen();
  const started = late.start();
  const get = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${ann.token}` } });
  const call = () => connect(t, `ws://127.0.0.1:${wsPort}/ws?token=${ann.token}`);

  t.same(await (await call()).closes(), { code: 1013, reason: 'overloaded' });
  t.equal((await get('/readyz')).status, 503);
  const refused = await get('/talkgroups');
  t.same([refused.status, refused.headers.get('retry-after')], [503, '1']);
  t.equal((await get('/healthz')).status, 200);

  await link.proxy.listen();
  const cameAt = performance.now();
  await started;
  await eventually(async () => assert.equal((await get('/readyz')).status, 200));
  const waitedMs = performance.now() - cameAt;
  within(t, waitedMs, READY_MS_MAX, 'ready after its coming');
  t.match((await call()).welcome?.talkgroups, [{ name: 'fire' }]);
  t.equal((await get('/talkgroups')).status, 200);
});

/** The fault table says 2 s, to which a machine busy with other tests adds its own. */
const READY_MS_MAX = 5000;

t.test('what changed while no notice was heard is found by reading anew', async (t) => {
  const s = await service(t);
  const { radios, people, number, id } = await s.crew(t, 2, { name: 'deaf' });
  const [a, b] = radios;
  const cid = await s.person('deaf-cid', { serial: 'deaf-SN' });
  const dan = await s.person('deaf-dan');
  for (const person of [cid, dan]) await person.post(`/talkgroups/${id}/join`);
  const [c, d] = [await cid.radio(), await dan.radio()];
  a.speaks(number, 'before', { start: true });
  for (const radio of [b, c, d]) await radio.hearsText('before');

  // One statement: no relay is told of the changes, and the ear is cut off.
  await s.sql`
    with gone as (delete from memberships where user_id = ${people[1].id}),
         disabled as (update devices set active = false where serial = 'deaf-SN'),
         revoked as (update users set valid_from = extract(epoch from now())::bigint + 1 where id = ${dan.id})
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'talkgroup-radio-notices' and datname = current_database()`;
  t.match(await b.hears('TALKGROUP_LEFT'), { talkgroup_id: id, reason: 'left' });
  t.same(await c.closes(), { code: 1008, reason: 'device disabled' });
  t.same(await d.closes(), { code: 1008, reason: 'invalid token' });
  a.speaks(number, 'after');
  await a.settled();
  await b.settled();
  for (const radio of [b, c, d]) t.notOk(radio.frames.some(({ text }) => text === 'after'));
});

t.test('a database that is out of something refuses what it cannot do, and loses no emergency', async (t) => {
  const s = await service(t);
  const { radios, people, id } = await s.crew(t, 2, { name: 'scarce' });
  const [a, b] = radios;
  const headers = { authorization: `Bearer ${people[0].token}` };
  const other = await s.talkgroup('scarce too');
  const stored = (emergency: unknown, state: string) =>
    eventually(async () => {
      const [row] = await s.sql`select state from emergencies where id = ${String(emergency)}`;
      assert.equal(row?.state, state);
    });
  // A sequence remembers what is rolled back.
  await s.sql.unsafe(`
    create sequence tries;
    create function scarce() returns trigger language plpgsql as
      $$ begin perform nextval('tries'); raise exception 'out of it' using errcode = tg_argv[0]; end $$`);
  const tries = async () => Number((await s.sql`select last_value from tries`)[0]?.last_value);
  // Descriptors, I/O, the queue of notices: by their codes, for the real ones cannot be had at will.
  for (const code of ['53000', '58030', '54000']) {
    for (const table of ['memberships', 'emergencies'])
      await s.sql.unsafe(
        `create trigger scarce before insert on ${table} execute function scarce('${code}')`,
      );
    const join = await fetch(`${s.rest}/talkgroups/${other.id}/join`, { method: 'POST', headers });
    t.same([join.status, join.headers.get('retry-after')], [503, '1'], code);
    const { emergency_id } = await a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id });
    t.match(await b.hears('EMERGENCY', ({ state }) => state === 'raised'), { emergency_id });
    const joined = await tries();
    await eventually(async () => assert.ok((await tries()) > joined));
    for (const table of ['memberships', 'emergencies']) await s.sql.unsafe(`drop trigger scarce on ${table}`);
    await stored(emergency_id, 'raised');
    t.match(await a.asks({ type: 'EMERGENCY_CLEAR', emergency_id }), { type: 'OK' });
    await stored(emergency_id, 'cleared');
  }

  await s.sql.unsafe(`create trigger scarce before insert on emergencies for each row
    when (new.talkgroup_id = '${id}') execute function scarce('58030')`);
  const joined = await people[1].call('POST', `/talkgroups/${other.id}/join`);
  t.equal(joined.status, 200);
  const { emergency_id: kept } = await b.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id });
  const { emergency_id: beside } = await b.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: other.id });
  await stored(beside, 'raised');
  await s.sql`drop trigger scarce on emergencies`;
  await stored(kept, 'raised');
});
