// Recorded speech on the wire: what was heard is stored byte for byte, and who may hear it later.
import t from 'tap';
import { decodeFrame, encodeFrame } from '../../src/protocol/frame.js';
import { readRecordingId } from '../../src/protocol/recording-id.js';
import { eventually } from '../helpers/eventually.js';
import { type Recording, recordedIn } from '../helpers/service/recorded.js';
import { type Person, service } from '../helpers/service/service.js';

t.setTimeout(300_000);
t.jobs = 4;

// No burst here ends by silence, and none is too fast.
const s = await service(t, { TALK_SILENCE_MS: '60000', FRAMES_PER_SECOND: '10000' });

const { recorded, listOf, endedOf, framesOf } = recordedIn(s);

t.test('what a listener heard is stored byte for byte, and listed with its end', async (t) => {
  const { id, number, name, people, radios } = await recorded(t, 3, 'fire');
  const [ann, bob] = radios;
  const count = 400; // several parts
  for (let index = 0; index < count; index++)
    ann.speaks(number, `frame ${index} ${'x'.repeat(index % 90)}`, {
      start: index === 0,
      end: index === count - 1,
    });
  const heard = await bob.hearsFrames(count);
  const [recording] = await endedOf(people[1], id, 1);
  t.match(recording, {
    ...{ talkgroup_id: id, talkgroup_name: name, session: ann.session, burst: 1, piece: 0 },
    ...{ user_id: people[0].id, username: people[0].name, code: 'released', emergency: false },
    ...{ frames: count, stored_frames: count, missing: 0, missing_because: {}, erased_at: null },
  });
  const named = readRecordingId(recording?.recording_id ?? '');
  t.match(named, {
    session: ann.session,
    burst: 1,
    piece: 0,
    startedAt: Date.parse(String(recording?.started_at)),
  });
  const { status, frames, type } = await framesOf(people[1], recording?.recording_id ?? '');
  t.equal(status, 200);
  t.equal(type, 'application/octet-stream');
  t.same(
    frames.map((frame) => frame.toString('hex')),
    heard.map((frame) => Buffer.from(encodeFrame(frame)).toString('hex')),
  );
  t.equal(decodeFrame(frames[0] ?? Buffer.of(), 1024) instanceof Object, true);
  const reads =
    await s.sql`select reader_id, reader_name from recording_reads where recording_id = ${recording?.recording_id ?? ''}`;
  t.same(
    reads.map(({ reader_id, reader_name }) => [reader_id, reader_name]),
    [[people[1].id, people[1].name]],
  );
});

t.test('only what a member could hear live is open to it, and all to an administrator', async (t) => {
  const { id, number, people, radios } = await recorded(t, 2, 'rights');
  const [ann, bob] = radios;
  const late = await s.person('late');
  const stranger = await s.person('stranger');
  const chief = await s.person('chief', { role: 'admin' });
  ann.speaks(number, 'before', { start: true, end: true });
  await bob.hearsText('before');
  await endedOf(people[0], id, 1);
  await late.post(`/talkgroups/${id}/join`);
  ann.speaks(number, 'after', { start: true, end: true });
  await bob.hearsText('after');
  const [first, second] = await endedOf(people[0], id, 2);
  t.same(
    (await endedOf(late, id, 1)).map(({ recording_id }) => recording_id),
    [second?.recording_id],
  );
  const heardBy = async (person: Person, recording: Recording | undefined) => [
    (await person.call('GET', `/recordings/${recording?.recording_id}`)).status,
    (await framesOf(person, recording?.recording_id ?? '')).status,
  ];
  t.same(await heardBy(late, first), [404, 404]);
  t.same(await heardBy(late, second), [200, 200]);
  t.same(await heardBy(chief, first), [200, 200]);
  t.same(await heardBy(stranger, second), [404, 404]);
  t.match(await stranger.call('GET', `/recordings?talkgroup_id=${id}`), {
    ...{ status: 404, body: { error: 'talkgroup not found' } },
  });
  t.equal((await stranger.call('GET', '/recordings')).status, 400, 'a user must name the talkgroup');
  t.ok((await listOf(chief, `user_id=${people[0].id}`)).length >= 2);
  // The token still says admin.
  await s.sql`update users set role = 'user' where id = ${chief.id}`;
  t.same(await heardBy(chief, first), [404, 404]);
  await late.delete(`/talkgroups/${id}/leave`);
  t.same(await heardBy(late, second), [404, 404]);
});

t.test('a talkgroup that is not recorded leaves nothing, and one that is switched off an end', async (t) => {
  const { id, number, people, radios } = await recorded(t, 2, 'off');
  const [ann, bob] = radios;
  ann.speaks(number, 'one', { start: true });
  await bob.hearsText('one');
  await s.admin.patch(`/talkgroups/${id}`, { recording_days: 0 });
  t.match(await bob.hears('TALKGROUP_CHANGED'), { recording_days: 0 });
  ann.speaks(number, 'two');
  ann.speaks(number, 'three', { end: true });
  await bob.hearsText('three');
  ann.speaks(number, 'four', { start: true, end: true });
  await bob.hearsText('four');
  const [only, ...others] = await endedOf(people[0], id, 1);
  t.match(only, { code: 'switched_off', frames: 1, missing: 0 });
  t.same(others, []);
  const { frames } = await framesOf(people[1], only?.recording_id ?? '');
  t.same(
    frames.map((frame) => frame.subarray(16).toString()),
    ['one'],
  );
});

t.test('an erased recording keeps its entry, and neither its speech nor its name', async (t) => {
  const { id, number, people, radios } = await recorded(t, 2, 'erased');
  radios[0].speaks(number, 'secret', { start: true, end: true });
  await radios[1].hearsText('secret');
  const [recording] = await endedOf(people[0], id, 1);
  const path = `/recordings/${recording?.recording_id}`;
  t.equal((await people[0].call('DELETE', path)).status, 403);
  t.match(await s.admin.call('DELETE', path), { status: 200, body: { ok: true } });
  t.match(await s.admin.call('DELETE', path), { status: 200 }, 'once more changes nothing');
  const { status, bytes } = await framesOf(people[1], recording?.recording_id ?? '');
  t.same([status, JSON.parse(bytes.toString())], [410, { error: 'the recording was erased' }]);
  const [left] = await listOf(people[1], `talkgroup_id=${id}`);
  t.match(left, { username: null, user_id: null, frames: 1 });
  t.ok(left?.erased_at);
  const acts =
    await s.sql`select act from acts where details ->> 'recording_id' = ${recording?.recording_id ?? ''}`;
  t.same(
    acts.map(({ act }) => act),
    ['recording_erased'],
  );
});

t.test('speech waits while the database does not take it, and is whole afterwards', async (t) => {
  const { id, number, people, radios } = await recorded(t, 2, 'waits');
  const [ann, bob] = radios;
  let unlock = () => {};
  const unlocked = new Promise<void>((resolve) => {
    unlock = resolve;
  });
  let isLocked = false;
  const holding = s.sql.begin(async (sql) => {
    await sql`lock table recording_parts in exclusive mode`;
    isLocked = true;
    await unlocked;
  });
  await eventually(() => {
    if (!isLocked) throw new Error('not locked');
  });
  for (let index = 0; index < 50; index++)
    ann.speaks(number, `frame ${index}`, { start: index === 0, end: index === 49 });
  await bob.hearsFrames(50);
  t.same(await listOf(people[0], `talkgroup_id=${id}`), [], 'what is not stored is not listed');
  unlock();
  await holding;
  const [recording] = await endedOf(people[0], id, 1);
  t.match(recording, { frames: 50, stored_frames: 50, missing: 0 });
});

t.test('bad questions are refused', async (t) => {
  const { id } = await s.talkgroup('bad');
  const status = async (query: string) => (await s.admin.call('GET', `/recordings?${query}`)).status;
  for (const query of [
    'limit=0',
    'limit=201',
    'limit=1e2',
    'talkgroup_id=x',
    'since=2026-11-25',
    'order=up',
    'after=1',
  ])
    t.equal(await status(`talkgroup_id=${id}&${query}`), 400, query);
  for (const path of ['/recordings/x', `/recordings/${id}`, `/recordings/${id}/frames`])
    t.equal((await s.admin.call('GET', path)).status, 404, path);
  for (const days of [3651, -1, 1.5, '30'])
    t.equal(
      (await s.admin.call('PATCH', `/talkgroups/${id}`, { recording_days: days })).status,
      400,
      String(days),
    );
});
