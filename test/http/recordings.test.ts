// Stored recordings: what is repeated, erased, expired or of a time with other keys.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { type Database, openDatabase } from '../../src/db/client.js';
import { deadlineIn } from '../../src/db/deadline.js';
import { ENCRYPTED } from '../../src/protocol/frame.js';
import type { RecordingTail } from '../../src/protocol/recording-batch.js';
import { recordingIdOf } from '../../src/protocol/recording-id.js';
import type { Stored } from '../../src/recordings/intake/intake.js';
import { storeRecordings } from '../../src/recordings/intake/store.js';
import { deleteErased, deleteExpired, storedBytes } from '../../src/recordings/upkeep/store.js';
import { framesAt, recordedIn } from '../helpers/service/recorded.js';
import { type Json, type Person, service } from '../helpers/service/service.js';

t.setTimeout(300_000);

const s = await service(t, { TALK_SILENCE_MS: '60000', FRAMES_PER_SECOND: '10000' });
const { recorded, listOf, endedOf, framesOf } = recordedIn(s);
const database: Database = openDatabase({ url: s.url, connections: 2, log: { info() {}, warn() {} } });
t.teardown(() => database.close());
const store = (stored: Stored) => storeRecordings(database, deadlineIn(10_000), stored);
const deleteOld = async () => {
  await deleteExpired(database, deadlineIn(10_000));
  await deleteErased(database, deadlineIn(10_000));
};

let session = 4_000_000_000;

/** A whole recording of a talkgroup as a relay hands it over, with two frames. */
async function given(over: Partial<RecordingTail> = {}) {
  const { id: talkgroup_id, number } = await s.talkgroup('given', s.admin);
  const startedAt = Date.now();
  const id = recordingIdOf({ startedAt, session: ++session, burst: 1, piece: 0 });
  const row: RecordingTail = {
    ...{ id, talkgroup_id: talkgroup_id as never, talkgroup_number: number, talkgroup_name: 'given' },
    ...{
      user_id: s.admin.id,
      username: 'ann',
      started_at: startedAt,
      days: 1,
      epoch: 3,
      was_required: false,
    },
    ...{ priority: 1, emergency: false, codec: null, crypto: null, first_frame: 1 },
    ...{ frames: 3, duration_ms: 60, code: 'released', lost: { 1: { memory_full: 1 } } },
    ...over,
  };
  const bytes = new Uint8Array(Buffer.from('00000000000141000000010001420000'.slice(0, 28), 'hex'));
  const stored: Stored = { rows: [row], parts: [{ id, from: 1, frames: 2, bytes }] };
  return { id, row, stored, talkgroup: talkgroup_id };
}

const one = async (id: string) => (await s.admin.get(`/recordings/${id}`)).recording as Json;
const partsOf = (id: string) =>
  s.sql`select * from recording_parts where recording_id = ${id} order by from_frame`;
const statusOf = async (person: Person, id: string) => [
  (await person.call('GET', `/recordings/${id}`)).status,
  (await framesOf(person, id)).status,
];

t.test('storing the same again changes nothing', async (t) => {
  const { id, row, stored } = await given();
  const { frames, duration_ms, code, lost, ...head } = row;
  await store({ rows: [head], parts: [] });
  t.match(await one(id), { frames: null, code: null, missing: null, stored_frames: 0 });
  await store(stored);
  const [before, parts] = [await one(id), await partsOf(id)];
  t.match(before, { frames: 3, stored_frames: 2, missing: 1, missing_because: { memory_full: 1 } });
  for (let time = 0; time < 2; time++) await store(stored);
  await store({ rows: [head], parts: [] });
  t.same(await one(id), before);
  t.same(await partsOf(id), parts);
  t.same(
    (await framesOf(s.admin, id)).frames.map((frame) => frame.subarray(16).toString()),
    ['A', 'B'],
  );
});

t.test('of two relays that store the row of one recording the stricter one counts', async (t) => {
  for (const order of [0, 1]) {
    const { id, row } = await given();
    const { frames, duration_ms, code, lost, ...head } = row;
    const rows = [
      { ...head, was_required: true, lost: { 1: { memory_full: 2 } } },
      { ...row, epoch: 4, lost: { 9: { failed: 1 } } },
    ];
    for (const each of order === 0 ? rows : rows.reverse()) await store({ rows: [each], parts: [] });
    const [found] = await s.sql`select epoch::int, was_required, lost, code from recordings where id = ${id}`;
    t.same(
      { ...found },
      {
        ...{ epoch: 3, was_required: true, code: 'released' },
        lost: { 1: { memory_full: 2 }, 9: { failed: 1 } },
      },
    );
  }
});

t.test('neither a repeated row nor a late part brings an erased recording back', async (t) => {
  const { id, row, stored } = await given();
  await store(stored);
  await s.admin.delete(`/recordings/${id}`);
  await store(stored);
  await store({ rows: [row], parts: stored.parts.map((part) => ({ ...part, from: 3 })) });
  t.match(await one(id), { username: null, user_id: null });
  t.equal((await framesOf(s.admin, id)).status, 410);
  await deleteOld();
  t.equal((await partsOf(id)).length, 2, 'a download under way has a minute');
  await s.sql`update recordings set erased_at = erased_at - interval '61 seconds' where id = ${id}`;
  await deleteOld();
  t.same(await partsOf(id), []);
  await store(stored);
  await deleteOld();
  t.same(await partsOf(id), [], 'what comes later goes as well');
  t.match(await one(id), { username: null, missing_because: { erased: 3 } });
  t.same(await listOf(s.admin, `talker=${row.username}&talkgroup_id=${row.talkgroup_id}`), []);
});

t.test('an expired recording is hidden at once, and deleted an hour later', async (t) => {
  const [expired, other] = [await given(), await given()];
  for (const { stored } of [expired, other]) await store(stored);
  const { id } = expired;
  await framesOf(s.admin, id);
  const expire = (ago: string) =>
    s.sql`update recordings set expires_at = now() - ${ago}::text::interval where id = ${id}`;
  await expire('1 second');
  t.same(await statusOf(s.admin, id), [404, 404]);
  t.same(await listOf(s.admin, `talkgroup_id=${expired.talkgroup}`), []);
  t.equal((await s.admin.call('DELETE', `/recordings/${id}`)).status, 404);
  await deleteOld();
  t.equal((await partsOf(id)).length, 1);
  await expire('61 minutes');
  await deleteOld();
  t.same(await partsOf(id), []);
  for (const table of ['recordings', 'recording_reads'])
    t.same(
      await s.sql`select from ${s.sql(table)} where ${s.sql(table === 'recordings' ? 'id' : 'recording_id')} = ${id}`,
      [],
    );
  t.same(await statusOf(s.admin, other.id), [200, 200]);
});

t.test('names and codecs with any characters are stored as they are', async (t) => {
  const codec = {
    name: '"},{\\u0041\\',
    sample_rate: 8000,
    frame_ms: 2.5,
    channels: 2,
    more: { x: ['é😀', null] },
  };
  const { id, row, stored } = await given({
    username: `a"b'c{d},\\e 火 😀`,
    talkgroup_name: '{"x", NULL}',
    codec,
  });
  await store(stored);
  const { username, talkgroup_name } = row;
  t.match(await one(id), { username, talkgroup_name, codec });
  t.same(
    (await listOf(s.admin, `talkgroup_id=${row.talkgroup_id}&talker=${encodeURIComponent(username)}`)).length,
    1,
  );
});

t.test('no codec keeps a burst from being recorded', async (t) => {
  const { id, number, people, radios } = await recorded(t, 2, 'codec');
  const [ann, bob] = radios;
  for (const name of ['nul \u0000', 'half \ud800', '\\u0000']) {
    await ann.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, codec: { name, sample_rate: 1, frame_ms: 1 } });
    ann.speaks(number, 'x', { start: true, end: true });
    await bob.hears('TALK_ENDED');
  }
  const found = await endedOf(people[1], id, 3);
  t.same(
    found.map(({ codec, stored_frames }) => [(codec as Json).name, stored_frames]),
    [
      ['nul \ufffd', 1],
      ['half \ufffd', 1],
      ['\\u0000', 1],
    ],
  );
});

t.test('what was said while encryption was required is open only with the keys of that time', async (t) => {
  const { id, number, people, radios } = await recorded(t, 4, 'required');
  const [ann, bob] = radios;
  const [talker, keyed, keyless, later] = people;
  const setMode = async (encryption: string) => {
    await s.sql`update talkgroups set encryption = ${encryption}, revision = revision + 1 where id = ${id}`;
    await s.sql`select pg_notify('talkgroup_radio', ${JSON.stringify({ id: randomUUID(), kind: 'talkgroup_changed', talkgroup: id })})`;
    for (const radio of radios)
      await radio.hears('TALKGROUP_CHANGED', (one) => one.encryption === encryption);
  };
  await s.sql`update memberships set may_have_keys = true
    where talkgroup_id = ${id} and user_id in (${talker.id}, ${keyed.id})`;
  await setMode('required');
  const emergency = await ann.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id });
  ann.speaks(number, 'help', { start: true, end: true });
  await bob.hearsText('help');
  await ann.asks({ type: 'EMERGENCY_CLEAR', emergency_id: emergency.emergency_id });
  const crypto = { suite: 4, epoch: 0, salt: 'oKGio6SlpqeoqaqrrK2urw' };
  t.match(await ann.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, crypto }), { type: 'FLOOR_GRANTED' });
  ann.speaks(number, 'sealed', { flags: ENCRYPTED, end: true });
  await bob.hearsText('sealed');
  const [help, sealed] = await endedOf(keyed, id, 2);
  t.match([help, sealed], [{ emergency: true }, { emergency: false, crypto }]);
  t.equal(((await framesOf(keyed, sealed?.recording_id ?? '')).frames[0]?.[0] ?? 0) & ENCRYPTED, ENCRYPTED);
  // The permission came with the rotation behind what was said.
  await s.sql`update memberships set may_have_keys = true, first_epoch = 1 where talkgroup_id = ${id} and user_id = ${later.id}`;
  const hear = async (person: Person) => [
    await statusOf(person, help?.recording_id ?? ''),
    await statusOf(person, sealed?.recording_id ?? ''),
    (await listOf(person, `talkgroup_id=${id}`)).length,
  ];
  const [all, nothing] = [
    [[200, 200], [200, 200], 2],
    [[404, 404], [404, 404], 0],
  ];
  for (const mode of ['required', 'allowed']) {
    if (mode === 'allowed') await setMode(mode);
    t.same(await hear(keyed), all, mode);
    t.same(await hear(keyless), nothing, `without keys, ${mode}`);
    t.same(await hear(later), nothing, `with keys since then, ${mode}`);
    t.same(await hear(s.admin), [...all.slice(0, 2), 2], mode);
  }
  ann.speaks(number, 'clear', { start: true, end: true });
  await bob.hearsText('clear');
  t.equal((await endedOf(keyless, id, 1)).length, 1, 'what it could hear live it hears later');
});

t.test('a look at whether there is speech is no download, and no answer is kept in a cache', async (t) => {
  const { id, stored } = await given();
  await store(stored);
  const { status } = await framesAt(s.rest, s.admin, id, 'HEAD');
  t.ok(status === 404 || status === 405, `${status}`);
  const reads = () => s.sql`select from recording_reads where recording_id = ${id}`;
  t.equal((await reads()).length, 0);
  const { cache } = await framesOf(s.admin, id);
  t.equal(cache, 'no-store');
  t.equal((await reads()).length, 1);
  for (const path of ['/recordings', `/recordings/${id}`]) {
    const answer = await fetch(`${s.rest}${path}`, { headers: { authorization: `Bearer ${s.admin.token}` } });
    t.same([answer.status, answer.headers.get('cache-control')], [200, 'no-store'], path);
  }
  t.match(await s.admin.call('GET', `/recordings/${randomUUID()}`), {
    ...{ status: 404, body: { error: 'recording not found' } },
  });
});

t.test('a user that listens again within 10 minutes leaves one row', async (t) => {
  const { id, row, stored } = await given();
  await store(stored);
  const bob = await s.person(`bob-${randomUUID()}`);
  await bob.post(`/talkgroups/${row.talkgroup_id}/join`);
  await s.sql`update memberships set created_at = now() - interval '1 day' where user_id = ${bob.id}`;
  const listen = async (...people: Person[]) => {
    for (const person of people) t.equal((await framesOf(person, id)).frames.length, 2);
    const reads = await s.sql`select reader_id from recording_reads where recording_id = ${id} order by id`;
    return reads.map(({ reader_id }) => (reader_id === bob.id ? 'bob' : 'admin'));
  };
  const age = (ago: string) =>
    s.sql`update recording_reads set at = now() - ${ago}::text::interval where recording_id = ${id} and reader_id = ${bob.id}`;
  t.same(await listen(bob, bob, bob), ['bob']);
  t.same(await listen(s.admin, bob, s.admin), ['bob', 'admin'], 'each reader for itself');
  await age('9 minutes');
  t.same(await listen(bob), ['bob', 'admin']);
  await age('601 seconds');
  t.same(await listen(bob, bob), ['bob', 'admin', 'bob']);
  await s.sql`update recording_reads set of_key = true where recording_id = ${id}`;
  t.same(await listen(bob, bob), ['bob', 'admin', 'bob', 'bob'], 'a row of a key is no row of frames');
});

t.test('many reads are deleted step by step, and other recordings do not wait', async (t) => {
  const all = [await given(), await given(), await given(), await given()] as const;
  for (const { stored } of all) await store(stored);
  const [many, few, none, held] = all.map(({ id }) => id) as [string, string, string, string];
  const read = (id: string, count: number) =>
    s.sql`insert into recording_reads (reader_id, reader_name, recording_id)
      select gen_random_uuid(), 'reader', ${id} from generate_series(1, ${count}::integer)`;
  await Promise.all([read(many, 12_000), read(few, 4), read(held, 6)]);
  const span = {
    from: new Date(Date.now() - 60_000).toISOString(),
    to: new Date(Date.now()).toISOString(),
  };
  await s.admin.post('/recordings/holds', { ...span, talkgroup_id: all[3].talkgroup, reason: 'x' });
  const ids = [many, few, none, held];
  await s.sql`update recordings set expires_at = now() - interval '61 minutes' where id in ${s.sql(ids)}`;
  const left = async () => {
    const rows = await s.sql<{ id: string; reads: number }[]>`
      select id, (select count(*)::integer from recording_reads where recording_id = r.id) as reads
      from recordings r where id in ${s.sql(ids)}`;
    return new Map(rows.map(({ id, reads }) => [id, reads]));
  };
  let before = 12_000;
  for (let isFirst = true; ; isFirst = false) {
    const { count, hasMore } = await deleteExpired(database, deadlineIn(10_000));
    const found = await left();
    t.same([...found.keys()].sort(), (hasMore ? [many, held] : [held]).sort());
    t.equal(found.get(held), 6);
    t.equal(count, isFirst ? 2 : hasMore ? 0 : 1);
    const reads = found.get(many) ?? 0;
    t.ok(before - reads > 0 && before - reads <= 5000, `${before - reads} at once`);
    before = reads;
    if (!hasMore) break;
    t.equal((await partsOf(many)).length, 1, 'its speech goes with it');
  }
  t.same(await s.sql`select from recording_reads where recording_id in ${s.sql([many, few, none])}`, []);
});

t.test('a member that joined late lists what it may hear, and nothing of the time before', async (t) => {
  const [ann, bob, cid] = [
    await s.person('late-ann'),
    await s.person('late-bob'),
    await s.person('late-cid'),
  ];
  const group = await s.talkgroup('late', ann, bob);
  const started = Date.now() - 3_600_000;
  const rows: RecordingTail[] = Array.from({ length: 400 }, (_, n) => {
    const started_at = started + n * 1000;
    return {
      id: recordingIdOf({ startedAt: started_at, session: ++session, burst: 1, piece: 0 }),
      ...{ talkgroup_id: group.id as never, talkgroup_number: 1, talkgroup_name: 'late' },
      ...{ user_id: ann.id, username: n % 2 === 0 ? 'even' : 'odd', started_at, days: 1, epoch: n },
      ...{ was_required: n % 3 === 0, priority: 1, emergency: n % 5 === 0, codec: null, crypto: null },
      ...{ first_frame: 1, frames: 1, duration_ms: 20, code: 'released', lost: {} },
    };
  });
  await store({ rows, parts: [] });
  const set = (created_at: number, keys: boolean, epoch: number) =>
    s.sql`update memberships set created_at = to_timestamp(${created_at}::float8 / 1000), may_have_keys = ${keys},
      first_epoch = ${epoch} where talkgroup_id = ${group.id} and user_id = ${bob.id}`;
  const encrypt = (mode: string) => s.sql`update talkgroups set encryption = ${mode} where id = ${group.id}`;
  const pages = async (person: Person, query: string) => {
    const ids: string[] = [];
    for (let after: unknown = null; after !== undefined; ) {
      const { recordings, next } = (await person.get(
        `/recordings?talkgroup_id=${group.id}&limit=20${query}${after === null ? '' : `&after=${after}`}`,
      )) as { recordings: { recording_id: string }[]; next: string | null };
      ids.push(...recordings.map(({ recording_id }) => recording_id));
      after = next ?? undefined;
    }
    return ids;
  };
  const check = async (person: Person, mayHear: (row: RecordingTail, n: number) => boolean, why: string) => {
    const heard = rows.filter(mayHear);
    const idsOf = (some: readonly RecordingTail[]) => some.map(({ id }) => id);
    t.same(await pages(person, '&order=oldest'), idsOf(heard), why);
    t.same(await pages(person, ''), idsOf(heard).reverse(), why);
    t.same(await pages(person, '&talker=odd&order=oldest'), idsOf(heard.filter((r) => r.username === 'odd')));
    t.same(await pages(person, '&emergency=true&order=oldest'), idsOf(heard.filter((r) => r.emergency)));
    t.same(await pages(person, `&user_id=${ann.id}&order=oldest`), idsOf(heard), why);
    const since = `&order=oldest&since=${new Date(started + 100_000).toISOString()}`;
    t.same(await pages(person, since), idsOf(heard.filter((r) => r.started_at >= started + 100_000)), why);
  };
  const at = started + 350_000;
  await set(at, true, 0);
  await check(bob, (_, n) => n >= 350, 'in the very millisecond');
  await set(at + 0.5, true, 0);
  await check(bob, (_, n) => n >= 351, 'half a millisecond later');
  await set(at - 0.5, true, 0);
  await check(bob, (_, n) => n >= 350, 'half a millisecond earlier');
  await set(at - 200_000, true, 300);
  await check(bob, (row, n) => n >= 150 && (!row.was_required || n >= 300), 'keys that came later');
  await set(at, false, 0);
  await check(bob, (row, n) => n >= 350 && !row.was_required, 'without keys');
  await encrypt('required');
  await check(bob, () => false, 'required now, and without keys');
  await check(s.admin, () => true, 'an administrator');
  await set(at, true, 360);
  await check(bob, (row, n) => n >= 350 && (!row.was_required || n >= 360), 'required, with keys');
  t.match(await cid.call('GET', `/recordings?talkgroup_id=${group.id}`), {
    ...{ status: 404, body: { error: 'talkgroup not found' } },
  });
  await s.sql`update users set role = 'admin' where id = ${cid.id}`;
  await check(cid, () => true, 'the role of now');
  const odd = rows.filter((row) => row.username === 'odd').map(({ id }) => id);
  const ofTalker = await listOf(s.admin, 'talker=odd&order=oldest&limit=200');
  t.same(
    ofTalker.map(({ recording_id }) => recording_id),
    odd,
    'of all talkgroups',
  );
});

t.test('a node reads four recordings at once, and one of each user', async (t) => {
  const { id, stored } = await given();
  await store(stored);
  const others: Person[] = [];
  for (let count = 0; count < 4; count++) others.push(await s.person(`reader-${count}`, { role: 'admin' }));
  const busy = [429, { error: 'too many recordings are read now' }];
  const said = ({ status, bytes }: Awaited<ReturnType<typeof framesOf>>) => [
    status,
    JSON.parse(bytes.toString()),
  ];
  // They wait for the note of who listened.
  const { all } = await s.sql.begin(async (sql) => {
    await sql`lock table recording_reads in exclusive mode`;
    const twice = [framesOf(s.admin, id), framesOf(s.admin, id)];
    t.same(said(await Promise.race(twice)), busy, 'the second one of a user');
    const downloads = others.map((other) => framesOf(other, id));
    t.same(said(await Promise.race(downloads)), busy, 'the fifth user');
    return { all: [...twice, ...downloads] };
  });
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  t.same(statuses.sort(), [200, 200, 200, 200, 429, 429]);
  for (const reader of [s.admin, ...others])
    t.equal((await framesOf(reader, id)).status, 200, 'and further ones afterwards');
});

t.test('the amount of stored speech is that of the parts there are', async (t) => {
  for (let count = 0; count < 20; count++) await store((await given()).stored);
  const [{ bytes } = { bytes: 0 }] = await s.sql<{ bytes: number }[]>`
    select sum(octet_length(bytes))::float8 as bytes from recording_parts`;
  const estimated = await storedBytes(database, deadlineIn(10_000));
  t.ok(bytes > 0);
  t.equal(estimated, bytes, 'of a table this small each page is read');
});

t.test('a time that no calendar has is refused, and a user names its talkgroup', async (t) => {
  const { talkgroup } = await given();
  for (const since of ['2026-02-30T10:00:00Z', '2026-01-01T24:00:00Z', '2026-13-01T00:00:00Z']) {
    const { status } = await s.admin.call('GET', `/recordings?talkgroup_id=${talkgroup}&since=${since}`);
    t.equal(status, 400, since);
  }
  const late = '9999-12-31T23:59:59-23:59';
  t.match(await s.admin.get(`/recordings/missed?since=${late}`), { since: /^20/, talkgroups: [] });
  const user = await s.person('names-none');
  t.equal((await user.call('GET', '/recordings')).status, 400);
});
