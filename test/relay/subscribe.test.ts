// What a session hears: modes of subscription, snapshots and SYNC, and what is refused of them.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { type Json, type Radio, service } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);

// No burst here ends by silence.
const s = await service(t, { TALK_SILENCE_MS: '60000' });

const NOBODY = '00000000-0000-4000-8000-000000000000';

type Named = { readonly id: string };
const subscribe = (radio: Radio, groups: readonly Named[], more: Json = {}) =>
  radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: groups.map(({ id }) => id), ...more });
const unsubscribe = (radio: Radio, ...groups: readonly Named[]) =>
  radio.asks({ type: 'UNSUBSCRIBE', talkgroup_ids: groups.map(({ id }) => id) });
const sync = (radio: Radio, { id }: Named) => radio.asks({ type: 'SYNC', talkgroup_id: id });
const request = (radio: Radio, { id }: Named, more: Json = {}) =>
  radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, ...more });

const snapshotsOf = (message: Json | null) => (message?.talkgroups ?? []) as Json[];
const has = ({ messages }: Radio, type: string) => messages.some((message) => message.type === type);

/** One burst of one frame, handled and published when this resolves. */
async function speak(radio: Radio, { number }: { number: number }, text: string): Promise<void> {
  radio.speaks(number, text, { start: true, end: true });
  await radio.settled();
}

t.test('the same snapshot comes with WELCOME, SUBSCRIBED, SYNCED and TALKGROUP_JOINED', async (t) => {
  const group = await s.crew(t, 3, { name: 'snapshot', floor_mode: 'single', max_talk_ms: 90_000 });
  const [a, b, c] = group.radios;
  const codec = { name: 'opus', sample_rate: 16_000, frame_ms: 40 };
  await request(a, group, { codec });
  a.speaks(group.number, 'one', { start: true });
  a.speaks(group.number, 'two', { sequence: 6 });
  await c.hearsText('two');
  const where = { lat: 1.5, lng: -2.5 };
  const { emergency_id } = await b.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id, ...where });
  await s.admin.post('/keys/rotate', { talkgroup_id: group.id });
  await c.hears('KEY_ROTATED');

  const [ann, bob, cid] = group.people;
  const late = await s.person('snapshot-late');
  const l = await late.radio();
  await late.post(`/talkgroups/${group.id}/join`);
  const { type, ...joined } = await l.hears('TALKGROUP_JOINED');
  const started_at = (joined.talkers as Json[])[0]?.started_at;
  const raised_at = (joined.emergencies as Json[])[0]?.raised_at;
  t.same(joined, {
    talkgroup_id: group.id,
    number: group.number,
    name: 'snapshot',
    rotation_counter: 1,
    floor_mode: 'single',
    max_talk_ms: 90_000,
    encryption: 'allowed',
    clear_emergency: true,
    recording_days: 0,
    talk_counter: 0, // the new one is used 10 s after the rotation
    use_in_ms: joined.use_in_ms,
    may_have_keys: false,
    event: 3,
    talkers: [
      {
        talkgroup_id: group.id,
        session: a.session,
        burst: 1,
        user_id: ann.id,
        username: 'snapshot-0',
        priority: 1,
        emergency: false,
        codec,
        started_at,
        frames: 2,
        sequence: 6,
      },
    ],
    talkers_total: 1,
    emergencies: [
      {
        emergency_id,
        talkgroup_id: group.id,
        user_id: bob.id,
        username: 'snapshot-1',
        state: 'raised',
        ...where,
        raised_at,
      },
    ],
    emergencies_total: 1,
    online: 4,
  });
  for (const at of [started_at, raised_at]) t.equal(new Date(at as string).toISOString(), at);
  t.ok(Number(joined.use_in_ms) > 0 && Number(joined.use_in_ms) <= 10_000);
  /** All but the time, which runs. */
  const timeless = (snapshot: Json) => ({ ...snapshot, use_in_ms: joined.use_in_ms });

  const subscribed = await subscribe(l, [group]);
  t.same(snapshotsOf(subscribed).map(timeless), [joined]);
  t.same(subscribed.refused, []);
  const { type: synced, ref, ...shown } = await sync(l, group);
  t.same(timeless(shown), joined);
  t.equal(synced, 'SYNCED');
  l.socket.terminate();
  c.socket.terminate();
  const again = await cid.radio();
  t.match(snapshotsOf(again.welcome), [
    { event: 3, talkers: joined.talkers, emergencies: joined.emergencies },
  ]);
  again.socket.terminate();
});

t.test('a connection hears and may talk in every talkgroup of its user from the start', async (t) => {
  const [ann, bob] = [await s.person('start-ann'), await s.person('start-bob')];
  const groups = [await s.talkgroup('start 1', ann, bob), await s.talkgroup('start 2', ann, bob)];
  const [a, b] = [await ann.radio(), await bob.radio()];
  for (const group of groups) {
    await speak(a, group, 'mine');
    t.equal((await b.hearsFrame()).talkgroup, group.number);
    await speak(b, group, 'yours');
    t.equal((await a.hearsFrame()).talkgroup, group.number);
  }
});

t.test('a radio that listens hears everything and is refused the floor', async (t) => {
  const group = await s.crew(t, 2, { name: 'listen' });
  const [a, b] = group.radios;
  t.match(await subscribe(b, [group], { mode: 'listen' }), {
    type: 'SUBSCRIBED',
    talkgroups: [{ talkgroup_id: group.id, online: 2 }],
    refused: [],
  });
  await speak(a, group, 'one');
  await b.hearsText('one');
  await b.hears('TALK_STARTED');
  await b.hears('TALK_ENDED');

  for (let frame = 0; frame < 3; frame++) b.speaks(group.number, 'mine', { start: frame === 0 });
  t.match(await b.hears('ERROR'), { code: 'listen_only', talkgroup_id: group.id });
  const denial = await request(b, group, { queue: true });
  t.match(denial, { type: 'FLOOR_DENIED', talkgroup_id: group.id, code: 'listen_only' });
  await a.settled();
  t.same(a.frames, []);
  t.notOk(has(b, 'ERROR'), 'told once');
  t.notOk(has(b, 'FLOOR_DENIED'), 'a frame that fails this check gets ERROR only');
});

t.test('a radio that subscribes to events is told who talks, and hears not a frame', async (t) => {
  const group = await s.crew(t, 2, { name: 'events' });
  const [a, b] = group.radios;
  await subscribe(b, [group], { mode: 'events' });
  await speak(a, group, 'one');
  t.match(await b.hears('TALK_STARTED'), { session: a.session, event: 1 });
  t.match(await b.hears('TALK_ENDED'), { session: a.session, event: 2, frames: 1 });
  await b.settled();
  t.same(b.frames, []);
  b.speaks(group.number, 'mine', { start: true });
  t.match(await b.hears('ERROR'), { code: 'listen_only' });
  t.match(await request(b, group), { type: 'FLOOR_DENIED', code: 'listen_only' });
});

t.test('after UNSUBSCRIBE nothing comes of that talkgroup, and of the others everything', async (t) => {
  const [ann, bob] = [await s.person('less-ann'), await s.person('less-bob')];
  const [dropped, kept] = [await s.talkgroup('dropped', ann, bob), await s.talkgroup('kept', ann, bob)];
  // Of one relay: without a receiver it does not follow the talkgroup elsewhere.
  const [a, b] = [await ann.radioHere(), await bob.radioHere()];
  t.same(Object.keys(await unsubscribe(b, dropped)), ['type', 'ref']);
  await speak(a, dropped, 'unheard');
  await speak(a, kept, 'heard');
  await s.admin.patch(`/talkgroups/${dropped.id}`, { name: 'dropped, renamed' });
  await b.hearsText('heard');
  await b.settled();
  t.equal(b.frames.length, 1);
  t.notOk(
    b.messages.some(({ talkgroup_id }) => talkgroup_id === dropped.id),
    'no event either',
  );
  t.match(await sync(a, dropped), { online: 1, event: 2 });
  b.speaks(dropped.number, 'mine', { start: true });
  t.match(await b.hears('ERROR'), { code: 'listen_only', talkgroup_id: dropped.id });
  t.match(await request(b, dropped), { type: 'FLOOR_DENIED', code: 'listen_only' });
  t.match(await request(b, kept), { type: 'FLOOR_GRANTED' });

  t.match(await subscribe(b, [dropped]), { talkgroups: [{ event: 2, online: 2, name: 'dropped, renamed' }] });
  await speak(a, dropped, 'heard again');
  t.match(await b.hears('TALK_STARTED', ({ talkgroup_id }) => talkgroup_id === dropped.id), { event: 3 });
  await b.hearsText('heard again');
  await speak(b, dropped, 'and talks again');
  await a.hearsText('and talks again');
});

t.test('UNSUBSCRIBE of what one is no member of is no mistake', async (t) => {
  const radio = await (await s.person('less-cid')).radio();
  t.match(await unsubscribe(radio, { id: NOBODY }, { id: 'no id' }), { type: 'OK' });
  radio.says({ type: 'UNSUBSCRIBE', talkgroup_ids: [] });
  await radio.settled();
  t.same(radio.messages, [], 'without a ref there is no OK');
});

t.test('SUBSCRIBE without a mode is for talking, from whatever mode before', async (t) => {
  const group = await s.crew(t, 2, { name: 'back' });
  const [a, b] = group.radios;
  for (const mode of ['listen', 'events', 'talk']) {
    await subscribe(b, [group], { mode });
    await subscribe(b, [group]);
    await speak(a, group, `after ${mode}`);
    await b.hearsText(`after ${mode}`);
    await speak(b, group, `back from ${mode}`);
    await a.hearsText(`back from ${mode}`);
  }
  t.match(await sync(a, group), { online: 2 });
});

t.test('a talker that goes on listening only ends its burst, and who waits leaves the queue', async (t) => {
  const group = await s.crew(t, 3, { name: 'talker listens', floor_mode: 'single' });
  const [a, b, c] = group.radios;
  a.speaks(group.number, 'one', { start: true });
  await c.hearsText('one');
  for (const radio of [b, c]) await request(radio, group, { queue: true });
  await subscribe(b, [group], { mode: 'listen' });
  t.match(await c.hears('FLOOR_QUEUED'), { position: 1, size: 1 });
  await subscribe(a, [group], { mode: 'listen' });
  for (const radio of [a, b, c])
    t.match(await radio.hears('TALK_ENDED'), { session: a.session, code: 'released', frames: 1 });
  await c.hears('FLOOR_GRANTED');
  await b.settled();
  t.notOk(has(b, 'FLOOR_GRANTED'));
});

t.test('subscribing anew in the middle of a burst of one’s own cuts nothing', async (t) => {
  const group = await s.crew(t, 2, { name: 'renewed' });
  const [a, b] = group.radios;
  a.speaks(group.number, 'one', { start: true });
  t.match(await subscribe(a, [group]), { talkgroups: [{ talkers: [{ session: a.session, frames: 1 }] }] });
  a.speaks(group.number, 'two', { end: true });
  t.match(await b.hears('TALK_ENDED'), { burst: 1, frames: 2, code: 'released' });
});

t.test('one subscription is for one socket, not for the user', async (t) => {
  const group = await s.crew(t, 2, { name: 'one socket' });
  const [a, b] = group.radios;
  const second = await group.people[1].radio();
  await unsubscribe(b, group);
  await speak(a, group, 'one');
  await second.hearsText('one');
  await b.settled();
  t.same(b.frames, []);
  second.socket.terminate();
});

t.test('what cannot be subscribed to is refused by its own code, and the rest goes on', async (t) => {
  const group = await s.crew(t, 1, { name: 'refused' });
  const others = await s.talkgroup('of others');
  const [a] = group.radios;
  const ids = [others.id, group.id, NOBODY, 'no id', group.id, NOBODY, ''];
  const answer = await subscribe(
    a,
    ids.map((id) => ({ id })),
  );
  t.equal(answer.type, 'SUBSCRIBED');
  t.same(
    snapshotsOf(answer).map(({ talkgroup_id }) => talkgroup_id),
    [group.id],
    'named twice is once',
  );
  t.same(answer.refused, [
    { talkgroup_id: others.id, code: 'not_member' },
    { talkgroup_id: NOBODY, code: 'not_member' },
    { talkgroup_id: 'no id', code: 'not_member' },
    { talkgroup_id: '', code: 'not_member' },
  ]);
  t.match(await subscribe(a, []), { type: 'SUBSCRIBED', talkgroups: [], refused: [] });
});

t.test('200 talkgroups can be named at once, and one more is a bad message', async (t) => {
  const radio = await (await s.person('200')).radio();
  const ids = Array.from({ length: 200 }, () => ({ id: randomUUID() }));
  const answer = await subscribe(radio, ids, { mode: 'listen' });
  t.same(
    (answer.refused as Json[]).map(({ talkgroup_id }) => talkgroup_id),
    ids.map(({ id }) => id),
  );
  t.match(await unsubscribe(radio, ...ids), { type: 'OK' });
  const many = [...ids.map((_, index) => ({ id: `${index}` })), { id: '200' }];
  t.match(await subscribe(radio, many), { type: 'ERROR', code: 'bad_message' });
  t.match(await unsubscribe(radio, ...many), { type: 'ERROR', code: 'bad_message' });
});

t.test('a mode that is none is a bad message and changes nothing', async (t) => {
  const group = await s.crew(t, 2, { name: 'bad mode' });
  const [a, b] = group.radios;
  const talkgroup_ids = [group.id];
  for (const bad of [
    { talkgroup_ids, mode: 'none' },
    { talkgroup_ids, mode: 'TALK' },
    { talkgroup_ids: null, mode: 'listen' },
    { talkgroup_ids, mode: 'listen', presence: 'true' },
    { talkgroup_ids: group.id, mode: 'listen' },
    { talkgroup_ids: [7], mode: 'listen' },
    { mode: 'listen' },
  ])
    t.match(await b.asks({ type: 'SUBSCRIBE', ...bad }), { type: 'ERROR', code: 'bad_message' });
  t.match(await b.asks({ type: 'UNSUBSCRIBE' }), { type: 'ERROR', code: 'bad_message' });
  await speak(b, group, 'still talks');
  await a.hearsText('still talks');
});

t.test('SYNC is answered once a second for each talkgroup', async (t) => {
  const [ann, bob] = [await s.person('sync-ann'), await s.person('sync-bob')];
  const [one, two] = [await s.talkgroup('sync 1', ann, bob), await s.talkgroup('sync 2', ann, bob)];
  const [a, b] = [await ann.radio(), await bob.radio()];
  const askedAt = performance.now();
  t.match(await sync(a, one), { type: 'SYNCED', talkgroup_id: one.id, event: 0 });
  t.match(await sync(a, one), { type: 'ERROR', code: 'rate_limited' });
  t.match(await sync(a, two), { type: 'SYNCED', talkgroup_id: two.id }, 'each has its own second');
  t.match(await sync(b, one), { type: 'SYNCED' }, 'and each session');
  await speak(b, one, 'meanwhile');
  let answer = await sync(a, one);
  while (answer.type === 'ERROR') {
    await new Promise((resolve) => setTimeout(resolve, 100)); // within the rate of messages
    answer = await sync(a, one);
  }
  t.match(answer, { event: 2, talkers: [] });
  const tookMs = performance.now() - askedAt;
  t.ok(tookMs >= 1000, `${Math.round(tookMs)} ms`);
  within(t, tookMs, 2000);
});

t.test('SYNC answers not_member for a talkgroup of others and for an id that names none', async (t) => {
  const radio = await (await s.person('sync-cid')).radio();
  const others = await s.talkgroup('sync others');
  t.match(await sync(radio, others), { type: 'ERROR', code: 'not_member', talkgroup_id: others.id });
  t.match(await sync(radio, { id: NOBODY }), {
    type: 'ERROR',
    code: 'not_member',
    talkgroup_id: NOBODY,
  });
  t.match(await sync(radio, { id: 'no id' }), { type: 'ERROR', code: 'not_member' });
  t.match(await radio.asks({ type: 'SYNC' }), { type: 'ERROR', code: 'bad_message' });
});

t.test('a radio that syncs in the middle of talk misses no event and sees none twice', async (t) => {
  const [ann, bob] = [await s.person('gap-ann'), await s.person('gap-bob')];
  const groups = await Promise.all([1, 2, 3].map((index) => s.talkgroup(`gap ${index}`, ann, bob)));
  const [a, b] = [await ann.radio(), await bob.radio()];
  for (const { number } of groups)
    for (let burst = 0; burst < 4; burst++)
      a.speaks(number, '', { end: true, payload: Buffer.from('x'), start: true });
  for (const group of groups) {
    const snapshot = await sync(b, group);
    a.speaks(group.number, 'last', { start: true, end: true });
    await b.hears('TALK_ENDED', ({ talkgroup_id, event }) => talkgroup_id === group.id && event === 10);
    const mine = b.arrivals.filter((one) => (one as Json).talkgroup_id === group.id) as Json[];
    const at = mine.findIndex(({ type }) => type === 'SYNCED');
    const before = mine.slice(0, at).map(({ event }) => event);
    const after = mine.slice(at + 1).map(({ event }) => event);
    t.equal(before.length, snapshot.event, 'it stands for what came before it');
    t.same(
      [...before, ...after],
      Array.from({ length: 10 }, (_, index) => index + 1),
    );
  }
});

t.test('a talkgroup left and joined again is heard as if it were new', async (t) => {
  const group = await s.crew(t, 2, { name: 'rejoined' });
  const [a, b] = group.radios;
  const [, bob] = group.people;
  await subscribe(b, [group], { mode: 'events' });
  await bob.delete(`/talkgroups/${group.id}/leave`);
  await b.hears('TALKGROUP_LEFT');
  t.match(await subscribe(b, [group]), { refused: [{ code: 'not_member' }] });
  await bob.post(`/talkgroups/${group.id}/join`);
  await b.hears('TALKGROUP_JOINED');
  await speak(a, group, 'one');
  await b.hearsText('one');
  await speak(b, group, 'two');
  await a.hearsText('two');
});
