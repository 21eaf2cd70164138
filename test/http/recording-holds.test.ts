// Recordings that are erased many at a time, those that a legal hold keeps, and who listened to them.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { readRecordingId } from '../../src/protocol/recording-id.js';
import { eraseRecordings } from '../../src/recordings/erasing/store.js';
import { eventually } from '../helpers/eventually.js';
import { keptIn, NO_DEADLINE } from '../helpers/service/kept-recordings.js';
import { framesAt, listOf } from '../helpers/service/recorded.js';
import { type Json, type Person, service } from '../helpers/service/service.js';

t.setTimeout(300_000);

const s = await service(t);
const { database, kept, expire, deleteOld, partsOf, isThere } = keptIn(t, s);
const { admin } = s;
const member = await s.person('member');

const HOUR_MS = 3_600_000;
const at = (ms: number) => new Date(ms).toISOString();
/** Of which the member was one before all that is said in the tests. */
async function newGroup(): Promise<never> {
  const { id } = await s.talkgroup('Fire 1', member);
  await s.sql`update memberships set created_at = now() - interval '1 day' where talkgroup_id = ${id}`;
  return id as never;
}

const framesOf = (person: Pick<Person, 'call' | 'token'>, id: string) => framesAt(s.rest, person, id);
const seenBy = async (person: Person, id: string) => [
  (await person.call('GET', `/recordings/${id}`)).status,
  (await framesOf(person, id)).status,
];

/** A hold over the last hour, or over the span. */
async function holds(talkgroup: string, over: Json = {}): Promise<string> {
  const span = { from: at(Date.now() - HOUR_MS), to: at(Date.now()), reason: 'Case 4711' };
  const { hold } = await admin.post('/recordings/holds', { talkgroup_id: talkgroup, ...span, ...over });
  return (hold as { hold_id: string }).hold_id;
}

const sorted = (details: Json) => Object.fromEntries(Object.entries(details).sort());
const release = (id: string) => admin.delete(`/recordings/holds/${id}`);
const actsOf = (talkgroup: string) =>
  s.sql`select act, user_id, details from acts where talkgroup_id = ${talkgroup} and act ~ 'hold|recording' order by id`;

t.test('a hold keeps recordings from being erased, until it is released', async (t) => {
  const talkgroup_id = await newGroup();
  const id = await kept({ talkgroup_id });
  const [from, to] = [at(Date.now() - HOUR_MS), at(Date.now())];
  const { hold } = await admin.post('/recordings/holds', { talkgroup_id, from, to, reason: 'Case 4711' });
  const { hold_id } = hold as { hold_id: string };
  t.match(hold, {
    ...{ talkgroup_id, talkgroup_name: 'Fire 1', from, to, reason: 'Case 4711' },
    ...{ created_by: admin.id, created_by_name: admin.name },
  });
  const { body } = await admin.call('GET', '/recordings/holds');
  t.same(
    (body.holds as Json[]).find((one) => one.hold_id === hold_id),
    hold,
  );
  t.match((await admin.get(`/recordings/${id}`)).recording, { held: true });
  t.notOk('held' in ((await member.get(`/recordings/${id}`)).recording as Json), 'members do not see it');
  t.same(await admin.call('DELETE', `/recordings/${id}`), {
    ...{ status: 409, body: { error: 'a legal hold keeps the recording' } },
  });
  t.same(await admin.delete(`/recordings?talkgroup_id=${talkgroup_id}`), { erased: 0, held: 1, more: false });
  t.match((await admin.get(`/recordings/${id}`)).recording, { username: 'ann', stored_frames: 2 });
  t.same(await release(hold_id), { ok: true });
  t.match(await admin.call('DELETE', `/recordings/holds/${hold_id}`), {
    ...{ status: 404, body: { error: 'legal hold not found' } },
  });
  t.same(await admin.delete(`/recordings?talkgroup_id=${talkgroup_id}`), { erased: 1, held: 0, more: false });
  const details = sorted({ talkgroup: 'Fire 1', hold_id, from, to, reason: 'Case 4711' });
  t.strictSame(
    (await actsOf(talkgroup_id)).map(({ details, ...row }) => ({ ...row, details: sorted(details) })),
    [
      { act: 'hold_created', user_id: null, details },
      { act: 'hold_released', user_id: null, details },
      { act: 'recordings_erased', user_id: null, details: sorted({ talkgroup: 'kept', recordings: 1 }) },
    ],
  );
});

t.test(
  'an expired recording under a hold is for administrators, and deleted after its release',
  async (t) => {
    const talkgroup_id = await newGroup();
    const [id, other] = [await kept({ talkgroup_id }), await kept()];
    t.same(await seenBy(member, id), [200, 200]);
    const first = await holds(talkgroup_id);
    const second = await holds(talkgroup_id);
    for (const one of [id, other]) await expire(one, '2 hours');
    await deleteOld();
    t.same([await isThere(id), await isThere(other)], [true, false]);
    t.same(await seenBy(member, id), [404, 404]);
    t.same(await listOf(member, `talkgroup_id=${talkgroup_id}`), []);
    t.same(await seenBy(admin, id), [200, 200]);
    t.match(await listOf(admin, `talkgroup_id=${talkgroup_id}`), [
      { recording_id: id, held: true, missing: 1 },
    ]);
    t.equal((await admin.call('DELETE', `/recordings/${id}`)).status, 409);
    await release(first);
    await deleteOld();
    t.same(await seenBy(admin, id), [200, 200], 'the other hold keeps it');
    await release(second);
    t.same(await seenBy(admin, id), [404, 404], 'hidden at once');
    await deleteOld();
    t.notOk(await isThere(id));
    t.same(await partsOf(id), []);
  },
);

t.test('a hold over an unfinished erasure keeps the speech, for administrators alone', async (t) => {
  const talkgroup_id = await newGroup();
  const [id, whole] = [await kept({ talkgroup_id }), await kept({ talkgroup_id })];
  await admin.delete(`/recordings/${id}`);
  t.equal((await framesOf(admin, id)).status, 410);
  const hold = await holds(talkgroup_id);
  await s.sql`update recordings set erased_at = now() - interval '2 minutes' where id = ${id}`;
  await deleteOld();
  t.equal((await partsOf(id)).length, 2);
  t.equal((await framesOf(admin, id)).frames.length, 2);
  t.equal((await framesOf(member, id)).status, 410);
  t.match((await admin.get(`/recordings/${id}`)).recording, { username: null, stored_frames: 2, missing: 1 });
  t.match((await member.get(`/recordings/${id}`)).recording, {
    stored_frames: 0,
    missing_because: { erased: 3 },
  });
  t.match(await admin.delete(`/recordings?talkgroup_id=${talkgroup_id}`), { erased: 0, held: 2 });
  t.equal((await admin.call('DELETE', `/recordings/${id}`)).status, 409);
  await release(hold);
  t.equal((await framesOf(admin, id)).status, 410);
  await deleteOld();
  t.same(await partsOf(id), []);
  await holds(talkgroup_id);
  t.match(
    await admin.delete(`/recordings?talkgroup_id=${talkgroup_id}`),
    { held: 1 },
    'nothing is left of one',
  );
  t.equal((await framesOf(admin, id)).status, 410);
  t.equal((await framesOf(admin, whole)).status, 200);
});

t.test('a hold covers what was said in its span, also in a burst that began before', async (t) => {
  const talkgroup_id = await newGroup();
  const from = Date.now() - 2 * HOUR_MS;
  const to = from + HOUR_MS;
  const said = async (started_at: number, duration_ms: number | undefined) => {
    const id = await kept({ talkgroup_id, started_at, duration_ms: duration_ms ?? 0 });
    if (duration_ms === undefined)
      await s.sql`update recordings set duration_ms = null, code = null, frames = null where id = ${id}`;
    return id;
  };
  const inside = [
    await said(from - 60_000, 60_000),
    await said(from, 0),
    await said(to - 1, 60_000),
    await said(from - 600_000, undefined),
  ];
  const outside = [
    await said(from - 60_000, 59_999),
    await said(to, 0),
    await said(from - 661_000, undefined),
  ];
  await holds(talkgroup_id, { from: at(from), to: at(to) });
  const found = await listOf(admin, `talkgroup_id=${talkgroup_id}`);
  t.same(
    found
      .filter(({ held }) => held)
      .map(({ recording_id }) => recording_id)
      .sort(),
    inside.sort(),
  );
  t.same(
    found
      .filter(({ held }) => !held)
      .map(({ recording_id }) => recording_id)
      .sort(),
    outside.sort(),
  );
  t.match(await admin.delete(`/recordings?talkgroup_id=${talkgroup_id}`), { erased: 3, held: 4 });
});

t.test('500 recordings are erased at a time, the oldest first, of a talker or of a talkgroup', async (t) => {
  const talker = await s.person('talker');
  const [talkgroup_id, other] = [await newGroup(), await newGroup()];
  const began = Date.now() - HOUR_MS;
  const ids: string[] = [];
  for (let n = 0; n < 503; n++)
    ids.push(
      await kept({
        ...{ talkgroup_id: n < 501 ? talkgroup_id : other, user_id: talker.id, username: talker.name },
        started_at: began + n * 1000,
      }),
    );
  const kept1 = await kept({ talkgroup_id });
  const since = at(began + 1000);
  const until = at(began + 502_000);
  const path = `/recordings?user_id=${talker.id}&since=${since}&until=${until}`;
  t.same(await admin.delete(path), { erased: 500, held: 0, more: true });
  t.same(await admin.delete(path), { erased: 1, held: 0, more: false });
  t.same(await admin.delete(path), { erased: 0, held: 0, more: false });
  const left = await listOf(admin, `user_id=${talker.id}`);
  t.same(left.map(({ recording_id }) => recording_id).sort(), [ids[0], ids[502]].sort());
  const acts =
    await s.sql`select details from acts where user_id = ${talker.id} and act = 'recordings_erased' order by id`;
  t.same(
    acts.map(({ details }) => details),
    [500, 1].map((recordings) => ({ username: 'talker', recordings, since, until })),
  );
  t.same(await admin.delete(`/recordings?talkgroup_id=${talkgroup_id}`), { erased: 2, held: 0, more: false });
  t.equal((await framesOf(admin, kept1)).status, 410);
  t.equal((await framesOf(admin, ids[502] ?? '')).status, 200, 'another talkgroup');
  t.match(await listOf(admin, `talkgroup_id=${talkgroup_id}&limit=1`), [{ user_id: null, username: null }]);
});

t.test('two administrators who erase the same at once erase each recording once', async (t) => {
  const talkgroup_id = await newGroup();
  for (let n = 0; n < 20; n++) await kept({ talkgroup_id });
  const path = `/recordings?talkgroup_id=${talkgroup_id}`;
  const done = await Promise.all([admin.delete(path), admin.delete(path), admin.delete(path)]);
  t.equal(
    done.reduce((sum, { erased }) => sum + Number(erased), 0),
    20,
  );
});

t.test('a hold that was answered is never overtaken by a deletion or an erasure under way', async (t) => {
  const talkgroup_id = await newGroup();
  // A statement takes some time between what it sees and what it does.
  await s.sql.unsafe(`
    create function slow() returns trigger language plpgsql
      as $$ begin perform pg_sleep(random() * 0.005); return coalesce(new, old); end $$;
    create trigger slow before delete on recording_parts for each row execute function slow();
    create trigger slow before update on recordings for each row when (new.erased_by is not null) execute function slow()`);
  let [late, early] = [0, 0];
  for (let time = 0; time < 100; time++) {
    const [expired, erased, whole] = [
      await kept({ talkgroup_id }),
      await kept({ talkgroup_id }),
      await kept({ talkgroup_id }),
    ];
    await expire(expired, '2 hours');
    await s.sql`update recordings set erased_at = now() - interval '2 minutes' where id = ${erased}`;
    // They begin in any order, and at once.
    const pause = () => delay(Math.random() * 6);
    const ended = Promise.all([
      pause().then(deleteOld),
      pause().then(deleteOld),
      pause().then(() => admin.call('DELETE', `/recordings/${whole}`)),
      pause().then(() =>
        eraseRecordings(
          database,
          NO_DEADLINE,
          { of: { talkgroup: talkgroup_id }, since: readRecordingId(whole)?.startedAt ?? 0, until: null },
          { id: admin.id, name: null, way: 'rest' },
        ),
      ),
    ]);
    await pause();
    const hold = await holds(talkgroup_id);
    const now = async () => ({
      expired: await isThere(expired),
      parts: (await partsOf(erased)).length,
      ...(await s.sql`select username from recordings where id = ${whole}`)[0],
    });
    const before = await now();
    if (before.expired || before.parts > 0) early++;
    else late++;
    await ended;
    await deleteOld();
    t.same(await now(), before);
    await release(hold);
    await deleteOld();
  }
  await s.sql.unsafe('drop function slow() cascade');
  t.ok(early > 0 && late > 0, `${early} holds were in time, ${late} were not`);
});

t.test('a hold waits for a deletion that has begun, and a deletion for a hold', async (t) => {
  const talkgroup_id = await newGroup();
  const waiting = async (text: string) => {
    const rows = await s.sql`select from pg_stat_activity
      where wait_event_type = 'Lock' and query ~ ${text} and query !~ 'pg_stat_activity'`;
    if (rows.length === 0) throw new Error(`${text} does not wait`);
  };
  const first = await kept({ talkgroup_id });
  await expire(first, '2 hours');
  let deletion: Promise<unknown> = Promise.resolve();
  let hold = Promise.resolve('');
  let isAnswered = false;
  // The deletion has chosen its rows, and waits for a part.
  await s.sql.begin(async (sql) => {
    await sql`select from recording_parts where recording_id = ${first} for update`;
    deletion = deleteOld();
    await eventually(() => waiting('where r.expires_at < now'));
    hold = holds(talkgroup_id).then((id) => {
      isAnswered = true;
      return id;
    });
    await eventually(() => waiting('insert into recording_holds_made'));
    t.notOk(isAnswered);
  });
  await deletion;
  await release(await hold);
  t.notOk(await isThere(first), 'it was deleted before the hold was answered');

  const second = await kept({ talkgroup_id });
  await expire(second, '2 hours');
  // The hold is under way, and the deletion saw the holds without it.
  await s.sql.begin(async (sql) => {
    await sql`update recording_holds_made set holds = holds + 1`;
    await sql`insert into recording_holds (talkgroup_id, talkgroup_name, from_at, to_at, from_id, to_id, reason, created_by, created_by_name)
      select ${talkgroup_id}, 'x', now() - interval '1 hour', now() + interval '1 hour',
             '00000000-0000-7000-8000-000000000000', 'ffffffff-ffff-7fff-bfff-ffffffffffff', 'x', ${admin.id}, 'x'`;
    deletion = deleteOld();
    await eventually(() => waiting('recording_holds_made for share'));
  });
  await deletion;
  t.ok(await isThere(second));
});

t.test(
  'a hold of a deleted talkgroup keeps its recordings, and one of no talkgroup is not found',
  async (t) => {
    const group = await s.talkgroup('Gone', member);
    const id = await kept({ talkgroup_id: group.id as never, talkgroup_name: 'Was here' });
    await admin.delete(`/talkgroups/${group.id}`);
    const span = { from: at(Date.now() - HOUR_MS), to: at(Date.now()), reason: 'x' };
    const { hold } = await admin.post('/recordings/holds', { ...span, talkgroup_id: group.id });
    t.match(hold, { talkgroup_name: 'Was here' });
    t.match((await admin.get(`/recordings/${id}`)).recording, { held: true });
    for (const talkgroup_id of [randomUUID(), 'x', ''])
      t.match(await admin.call('POST', '/recordings/holds', { ...span, talkgroup_id }), {
        ...{ status: 404, body: { error: 'talkgroup not found' } },
      });
  },
);

t.test('bad input is 400, and changes nothing', async (t) => {
  const talkgroup_id = await newGroup();
  await kept({ talkgroup_id });
  const good = { talkgroup_id, from: at(Date.now() - HOUR_MS), to: at(Date.now() - 1000), reason: 'x' };
  const bodies: [Json, RegExp][] = [
    [{ ...good, to: at(Date.now() + 60_000) }, /^body\/to must not be in the future$/],
    [{ ...good, from: good.to }, /^body\/from must be before body\/to$/],
    [{ ...good, from: good.to, to: good.from }, /^body\/from must be before body\/to$/],
    [{ ...good, reason: '' }, /^body\/reason /],
    [{ ...good, reason: 'x'.repeat(129) }, /^body\/reason /],
    [{ ...good, reason: 'two\nlines' }, /^body\/reason /],
    [{ ...good, reason: 5 }, /^body\/reason /],
    [{ ...good, from: '2026-11-25T14:00:00' }, /^body\/from must be a time in ISO 8601 with a zone$/],
    [{ ...good, from: 1764079200 }, /^body\/from /],
    [{ ...good, to: null }, /^body/],
    [{ from: good.from, to: good.to, reason: 'x' }, /talkgroup_id/],
  ];
  for (const [body, text] of bodies)
    t.match(
      await admin.call('POST', '/recordings/holds', body),
      { status: 400, body: { error: text } },
      JSON.stringify(body),
    );
  const queries: [string, RegExp][] = [
    ['', /either user_id or talkgroup_id/],
    [`user_id=${admin.id}&talkgroup_id=${talkgroup_id}`, /either user_id or talkgroup_id/],
    ['talkgroup_id=x', /talkgroup_id must be an id/],
    [`talkgroup_id=${talkgroup_id}&since=2026-11-25T14:00:00`, /since must be a time/],
    [`talkgroup_id=${talkgroup_id}&since=${good.to}&until=${good.from}`, /since must not be after/],
  ];
  for (const [query, error] of queries)
    t.match(await admin.call('DELETE', `/recordings?${query}`), { status: 400, body: { error } }, query);
  const lists = [
    'holds?limit=0',
    'holds?limit=201',
    'holds?limit=1e2',
    'holds?after=x',
    'holds?after=',
  ].concat([
    'reads?limit=201',
    'reads?before=0',
    'reads?before=x',
    'reads?recording_id=x',
    'reads?reader_id=x',
  ]);
  for (const path of lists) t.match(await admin.call('GET', `/recordings/${path}`), { status: 400 }, path);
  t.match(
    await admin.call('GET', `/recordings?talkgroup_id=${talkgroup_id}&since=${good.to}&until=${good.from}`),
    { status: 400, body: { error: /since must not be after/ } },
  );
  for (const id of ['x', randomUUID()])
    t.match(await admin.call('DELETE', `/recordings/holds/${id}`), { status: 404 }, id);
  t.same(
    [
      (await actsOf(talkgroup_id)).length,
      (await s.sql`select from recording_holds where talkgroup_id = ${talkgroup_id}`).length,
    ],
    [0, 0],
  );
});

t.test('only administrators of now hold, erase and see who listened', async (t) => {
  const talkgroup_id = await newGroup();
  const id = await kept({ talkgroup_id });
  const former = await s.person('former', { role: 'admin' });
  await s.sql`update users set role = 'user' where id = ${former.id}`;
  const hold = { talkgroup_id, from: at(Date.now() - HOUR_MS), to: at(Date.now()), reason: 'x' };
  const requests: [string, string, Json?][] = [
    ['POST', '/recordings/holds', hold],
    ['GET', '/recordings/holds'],
    ['DELETE', `/recordings/holds/${await holds(await newGroup())}`],
    ['GET', '/recordings/reads'],
    ['DELETE', `/recordings?talkgroup_id=${talkgroup_id}`],
    ['DELETE', `/recordings/${id}`],
  ];
  for (const [method, path, body] of requests)
    for (const person of [member, former])
      t.match(
        await person.call(method, path, body),
        { status: 403, body: { error: 'admin role required' } },
        `${person.name}: ${method} ${path}`,
      );
  t.equal((await framesOf(admin, id)).status, 200);
});

t.test('administrators see who listened, the newest first', async (t) => {
  const talkgroup_id = await newGroup();
  const [one, two] = [await kept({ talkgroup_id }), await kept({ talkgroup_id })];
  for (const [person, id] of [
    [member, one],
    [admin, one],
    [member, two],
  ] as const)
    await framesOf(person, id);
  const readsOf = async (query: string) => {
    const { reads, next } = (await admin.get(`/recordings/reads?${query}`)) as {
      reads: Json[];
      next: string | null;
    };
    return { reads: reads.map(({ reader_name, recording_id }) => [reader_name, recording_id]), next };
  };
  t.same((await readsOf(`recording_id=${one}`)).reads, [
    [admin.name, one],
    ['member', one],
  ]);
  t.same((await readsOf(`reader_id=${member.id}&limit=200`)).reads.slice(0, 2), [
    ['member', two],
    ['member', one],
  ]);
  t.same((await readsOf(`recording_id=${one}&reader_id=${member.id}`)).reads, [['member', one]]);
  const first = await readsOf('limit=2');
  t.same(first.reads, [
    ['member', two],
    [admin.name, one],
  ]);
  t.same((await readsOf(`limit=1&before=${first.next}`)).reads, [['member', one]]);
  t.match(((await admin.get(`/recordings/reads?recording_id=${two}`)).reads as Json[])[0], {
    ...{ reader_id: member.id, talkgroup_id, talkgroup_name: 'kept' },
  });
  t.same(await readsOf(`recording_id=${randomUUID()}`), { reads: [], next: null });
  await expire(one, '2 hours');
  await deleteOld();
  t.same((await readsOf(`recording_id=${one}`)).reads, [], 'they leave with the recording');
});
