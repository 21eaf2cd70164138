// Emergencies over the wire: announced at once, heard above all others, stored when the database allows, cleared once.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { EMERGENCY, START } from '../../src/protocol/frame.js';
import { throughProxy } from '../helpers/database/proxied-database.js';
import { eventually } from '../helpers/eventually.js';
import { type Json, type Person, type Radio, service } from '../helpers/service/service.js';
import { heardEverywhere, isDealt } from '../helpers/service/two-nodes.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);

const NOBODY = '00000000-0000-4000-8000-000000000000';

// No burst here ends by silence.
const s = await service(t, { TALK_SILENCE_MS: '60000' });

type Named = { readonly id: string };
/** The answer, when the other node has heard what it tells of. */
async function known(answer: Promise<Json>): Promise<Json> {
  const known = await answer;
  await heardEverywhere();
  return known;
}

const raise = (radio: Radio, { id }: Named, more: Json = {}) =>
  known(radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id, ...more }));
const acknowledge = (radio: Radio, emergency_id: unknown) =>
  known(radio.asks({ type: 'EMERGENCY_ACK', emergency_id }));
const clear = (radio: Radio, emergency_id: unknown) =>
  known(radio.asks({ type: 'EMERGENCY_CLEAR', emergency_id }));
const request = (radio: Radio, { id }: Named, more: Json = {}) =>
  radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, ...more });
const sync = (radio: Radio, { id }: Named) => radio.asks({ type: 'SYNC', talkgroup_id: id });
/** What REST lists of this talkgroup. */
async function listed({ get }: Pick<Person, 'get'>, { id }: Named): Promise<Json[]> {
  const { emergencies } = await get('/emergencies');
  return (emergencies as Json[]).filter(({ talkgroup_id }) => talkgroup_id === id);
}
const count = ({ messages }: Radio, type: string) => messages.filter((one) => one.type === type).length;

/** Resolves when the database has it in this state. */
const stored = (id: unknown, state = 'raised') =>
  eventually(async () => {
    const [row] = await s.sql`select * from emergencies where id = ${id as string}`;
    if (row?.state !== state) throw new Error(`${id} is ${row?.state ?? 'not stored'}`);
    return row;
  });

t.test('a raise is answered with its id and announced to every member, the raiser too', async (t) => {
  const group = await s.crew(t, 2, { name: 'raise' });
  const [a, b] = group.radios;
  const [ann] = group.people;
  const before = Date.now();
  const answer = await raise(a, group, { lat: 52.5, lng: -13.25, alt: 34 });
  t.match(answer, { type: 'OK', emergency_id: /^[-0-9a-f]{36}$/ });
  for (const radio of [a, b]) {
    const { raised_at, ...told } = await radio.hears('EMERGENCY');
    t.same(told, {
      type: 'EMERGENCY',
      event: 1,
      emergency_id: answer.emergency_id,
      talkgroup_id: group.id,
      user_id: ann.id,
      username: 'raise-0',
      state: 'raised',
      lat: 52.5,
      lng: -13.25,
      alt: 34,
    });
    const raisedAt = Date.parse(raised_at as string);
    t.ok(raisedAt >= before && raisedAt <= Date.now() && /Z$/.test(raised_at as string));
  }
  b.says({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  const { lat, lng, alt, ...other } = await a.hears('EMERGENCY');
  t.match(other, { user_id: group.people[1].id, event: 2 }, 'one for each user');
  t.same([lat, lng, alt], [undefined, undefined, undefined], 'where nobody knows, nothing is said');
  await b.settled();
  t.equal(count(b, 'OK'), 0, 'without a ref there is no OK');
});

t.test('a second raise returns the open one, from whatever socket, and is announced no more', async (t) => {
  const group = await s.crew(t, 2, { name: 'second' });
  const elsewhere = await s.talkgroup('second elsewhere', ...group.people);
  const [a, b] = group.radios;
  const second = await group.people[0].radio();
  t.teardown(() => second.socket.terminate());
  const { emergency_id } = await raise(a, group);
  t.equal((await raise(a, group, { lat: 1, lng: 1 })).emergency_id, emergency_id);
  t.equal((await raise(second, group)).emergency_id, emergency_id);
  await b.settled();
  t.equal(count(b, 'EMERGENCY'), 1);
  await second.hears('EMERGENCY');
  t.not((await raise(second, elsewhere)).emergency_id, emergency_id, 'in another talkgroup it is another');
  await clear(second, emergency_id);
  const next = await raise(second, group);
  t.ok(next.type === 'OK' && next.emergency_id !== emergency_id, 'after it was cleared there is a new one');
});

t.test('a call for help does not fail for a place out of range: the place is left out', async (t) => {
  const places = [
    [{ lat: 999, lng: 999, alt: 30 }, { alt: 30 }],
    [{ lat: 90.1, lng: 7 }, {}],
    [{ lat: 50, lng: -180.1 }, {}],
    [
      { lat: 50, lng: 7, alt: -99_999 },
      { lat: 50, lng: 7 },
    ],
  ] as const;
  const group = await s.crew(t, places.length, { name: 'places' });
  for (const [index, [sent, heard]] of places.entries()) {
    const radio = group.radios[index] as Radio;
    t.match(await raise(radio, group, sent), { type: 'OK' });
    const { lat, lng, alt } = await radio.hears(
      'EMERGENCY',
      ({ username }) => username === `places-${index}`,
    );
    t.match({ lat, lng, alt }, { lat: undefined, lng: undefined, alt: undefined, ...heard });
  }
});

t.test('of a position each part is optional, and one that is no number is a bad message', async (t) => {
  const group = await s.crew(t, 1, { name: 'position' });
  const [a] = group.radios;
  for (const bad of [{ lat: '90' }, { lng: true }, { alt: '0' }])
    t.match(await raise(a, group, bad), { type: 'ERROR', code: 'bad_message' });
  await raise(a, group, { lat: -90 });
  const told = await a.hears('EMERGENCY');
  t.match(told, { lat: -90 });
  t.notOk('lng' in told || 'alt' in told);
});

t.test('only a member can raise', async (t) => {
  const group = await s.crew(t, 1, { name: 'others' });
  const stranger = await (await s.person('others-stranger')).radio();
  t.match(await raise(stranger, group), { type: 'ERROR', code: 'not_member', talkgroup_id: group.id });
  t.match(await raise(stranger, { id: NOBODY }), { type: 'ERROR', code: 'not_member' });
  t.match(await raise(stranger, { id: 'no id' }), { type: 'ERROR', code: 'not_member' });
  await group.radios[0].settled();
  t.equal(count(group.radios[0], 'EMERGENCY'), 0);
});

t.test('a fourth raise within a minute is refused', async (t) => {
  const group = await s.crew(t, 1, { name: 'four' });
  const [a] = group.radios;
  for (let round = 0; round < 3; round++) {
    const { emergency_id } = await raise(a, group);
    t.match(await clear(a, emergency_id), { type: 'OK' });
  }
  t.match(await raise(a, group), { type: 'ERROR', code: 'rate_limited' });
});

t.test('clearing what was not raised does not ask the database without end', async (t) => {
  const group = await s.crew(t, 1, { name: 'guessing' });
  const [radio] = group.radios;
  const answers = await Promise.all(Array.from({ length: 8 }, () => clear(radio, randomUUID())));
  t.same(
    answers.map(({ code }) => code),
    [...Array(5).fill('unknown_emergency'), ...Array(3).fill('rate_limited')],
  );
  const { emergency_id } = await raise(radio, group);
  t.match(
    await clear(radio, emergency_id),
    { type: 'OK' },
    'what is open is cleared, however many he guessed',
  );
});

t.test('the raiser’s running bursts become ones of emergency, and on CLEAR ordinary ones', async (t) => {
  const group = await s.crew(t, 3, { name: 'running' });
  const elsewhere = await s.talkgroup('running elsewhere');
  for (const { post } of group.people) await post(`/talkgroups/${elsewhere.id}/join`);
  const [a, b, c] = group.radios;
  const second = await group.people[0].radio();
  t.teardown(() => second.socket.terminate());
  /** The flags of one frame, as the listener hears it. */
  const flagsOf = async (radio: Radio, text: string, { number }: { number: number } = group) => {
    const said = `${text} of ${radio.session} in ${number}`;
    radio.speaks(number, said);
    return (await b.hearsText(said)).flags;
  };
  const talkersFor = async (radio: Radio) =>
    ((await sync(radio, group)).talkers as Json[]).map((one) => [one.session, one.priority, one.emergency]);
  for (const radio of [a, second, c]) t.equal(await flagsOf(radio, 'before'), START);
  t.equal(await flagsOf(a, 'before', elsewhere), START);

  const { emergency_id } = await raise(a, group);
  for (const radio of [a, second])
    t.equal(await flagsOf(radio, 'during'), EMERGENCY, 'on every radio of his');
  t.equal(await flagsOf(c, 'during'), 0, 'and on nobody else’s');
  t.equal(await flagsOf(a, 'during', elsewhere), 0, 'nor in another talkgroup');
  t.same(await talkersFor(b), [
    [a.session, 7, true],
    [second.session, 7, true],
    [c.session, 1, false],
  ]);
  t.equal(count(b, 'TALK_STARTED'), 4, 'TALK_STARTED is not repeated');

  await clear(second, emergency_id);
  for (const radio of [a, second]) t.equal(await flagsOf(radio, 'after'), 0);
  t.same(await talkersFor(c), [
    [a.session, 1, false],
    [second.session, 1, false],
    [c.session, 1, false],
  ]);
});

t.test('a burst begun in an emergency is announced as such, whatever bits the client sets', async (t) => {
  const group = await s.crew(t, 2, { name: 'begun', floor_mode: 'single' });
  const [a, b] = group.radios;
  b.speaks(group.number, 'liar', { start: true, end: true, flags: EMERGENCY });
  t.equal((await a.hearsText('liar')).flags & EMERGENCY, 0);
  t.match(await a.hears('TALK_STARTED'), { priority: 1, emergency: false });
  await raise(a, group);
  a.speaks(group.number, 'help', { start: true });
  t.match(await a.hears('FLOOR_GRANTED'), { priority: 7, max_talk_ms: 120_000 });
  t.match(await b.hears('TALK_STARTED', ({ session }) => session === a.session), {
    priority: 7,
    emergency: true,
  });
  t.equal((await b.hearsText('help')).flags, START | EMERGENCY);
});

t.test('a call for help takes the floor, and only an admin’s 7 takes it back', async (t) => {
  const group = await s.crew(t, 4, { name: 'above', floor_mode: 'single', admins: 1 });
  const [chief, a, b, c] = group.radios;
  t.match(await request(chief, group, { priority: 6 }), { type: 'FLOOR_GRANTED' });
  chief.speaks(group.number, 'of the chief', { start: true });
  await c.hearsText('of the chief');
  await raise(a, group);
  a.speaks(group.number, 'help', { start: true });
  t.match(await chief.hears('FLOOR_REVOKED'), { code: 'preempted' });
  await c.hearsText('help');

  t.match(await request(chief, group, { priority: 6 }), { type: 'FLOOR_DENIED', code: 'busy' });
  await raise(b, group);
  t.match(await request(b, group, { priority: 7 }), { code: 'busy' }, 'one emergency is like the other');
  t.match(await request(chief, group, { priority: 7 }), { type: 'FLOOR_GRANTED', priority: 7 });
  t.match(await a.hears('FLOOR_REVOKED'), { code: 'preempted' });
  t.match(await request(a, group), { type: 'FLOOR_DENIED', code: 'busy' });
});

t.test('a queued user who calls for help gets the floor, and after CLEAR it can be taken', async (t) => {
  const group = await s.crew(t, 4, { name: 'waits', floor_mode: 'single', admins: 1 });
  const [chief, a, b, c] = group.radios;
  a.speaks(group.number, 'of a', { start: true });
  await c.hearsText('of a');
  await request(c, group, { queue: true, priority: 3 });
  await request(b, group, { queue: true });
  const { emergency_id } = await raise(b, group);
  t.match(await b.hears('FLOOR_GRANTED'), { priority: 7, max_talk_ms: 120_000 });
  t.match(await a.hears('FLOOR_REVOKED'), { code: 'preempted' });
  b.speaks(group.number, 'help', { start: true });
  await c.hearsText('help');
  t.match(await request(chief, group, { priority: 4 }), { code: 'busy' });
  await clear(chief, emergency_id);
  t.match(await request(chief, group, { priority: 4 }), { type: 'FLOOR_GRANTED', priority: 4 });
  t.match(await b.hears('FLOOR_REVOKED'), { code: 'preempted' });
});

t.test('a queued user who calls for help below an admin’s 7 is told the new place', async (t) => {
  const group = await s.crew(t, 3, { name: 'new place', floor_mode: 'single', admins: 1 });
  const [chief, a, b] = group.radios;
  await request(chief, group, { priority: 7 });
  chief.speaks(group.number, 'of the chief', { start: true });
  for (const radio of [a, b]) await request(radio, group, { queue: true });
  const { emergency_id } = await raise(b, group);
  t.match(await b.hears('FLOOR_QUEUED'), { position: 1, size: 2 });
  t.match(await a.hears('FLOOR_QUEUED'), { position: 2, size: 2 });
  await clear(b, emergency_id);
  t.match(await a.hears('FLOOR_QUEUED'), { position: 1, size: 2 });
  t.match(await b.hears('FLOOR_QUEUED'), { position: 2, size: 2 });
});

t.test('a talker who calls for help is not cut off by the limit of the burst', async (t) => {
  const settings = { floor_mode: 'single', max_talk_ms: 1000 } as const;
  const [help, limited] = [
    await s.crew(t, 2, { name: 'longer', ...settings }),
    await s.crew(t, 2, { name: 'as long', ...settings }),
  ];
  help.radios[0].speaks(help.number, 'one', { start: true });
  await raise(help.radios[0], help);
  limited.radios[0].speaks(limited.number, 'begun later', { start: true });
  t.match(await limited.radios[1].hears('TALK_ENDED'), { code: 'too_long' });
  help.radios[0].speaks(help.number, 'two', { end: true });
  t.match(await help.radios[1].hears('TALK_ENDED'), { code: 'released', frames: 2 });
});

t.test('in `broadcast` an emergency is a right to talk, and it ends with it', async (t) => {
  const group = await s.crew(t, 2, { name: 'right', floor_mode: 'broadcast' });
  const [a, b] = group.radios;
  const { emergency_id } = await raise(a, group);
  a.speaks(group.number, 'help', { start: true });
  await b.hearsText('help');
  await clear(a, emergency_id);
  t.match(await a.hears('FLOOR_REVOKED'), { code: 'mode' });
  t.match(await b.hears('TALK_ENDED'), { session: a.session, code: 'mode' });
  a.speaks(group.number, 'more', { start: true });
  t.match(await a.hears('FLOOR_DENIED'), { code: 'forbidden' });
});

t.test('an admin acknowledges, member or not, and no other user can', async (t) => {
  const group = await s.crew(t, 2, { name: 'ack' });
  const [a, b] = group.radios;
  const chief = await s.admin.radio();
  const { emergency_id } = await raise(a, group, { lat: 1 });
  for (const radio of [a, b])
    t.match(await acknowledge(radio, emergency_id), { type: 'ERROR', code: 'forbidden' });
  t.match(await acknowledge(chief, emergency_id), { type: 'OK' });
  for (const radio of [a, b]) {
    t.match(await radio.hears('EMERGENCY'), { state: 'raised', event: 1 });
    t.match(await radio.hears('EMERGENCY'), { emergency_id, state: 'acknowledged', event: 2, lat: 1 });
  }
  t.match(await acknowledge(chief, emergency_id), { type: 'OK' }, 'again changes nothing');
  await b.settled();
  t.equal(count(b, 'EMERGENCY'), 0);
  t.match(await sync(b, group), { emergencies: [{ emergency_id, state: 'acknowledged' }] });
  for (const id of [NOBODY, 'no id', ''])
    t.match(await acknowledge(chief, id), { type: 'ERROR', code: 'unknown_emergency' });
  t.match(await acknowledge(chief, undefined), { type: 'ERROR', code: 'bad_message' });
});

t.test('the raiser or an admin clears, and the second one is told that there is none', async (t) => {
  const group = await s.crew(t, 3, { name: 'clear', admins: 1 });
  const [chief, a, b] = group.radios;
  let last: unknown;
  for (const clearer of [a, chief]) {
    const { emergency_id } = await raise(a, group);
    last = emergency_id;
    t.match(await clear(b, emergency_id), { type: 'ERROR', code: 'forbidden' });
    t.match(await clear(clearer, emergency_id), { type: 'OK' });
    t.match(await b.hears('EMERGENCY', ({ state }) => state === 'cleared'), {
      emergency_id,
      user_id: group.people[1].id,
    });
    for (const radio of [a, chief])
      t.match(await clear(radio, emergency_id), { type: 'ERROR', code: 'unknown_emergency' });
    t.match(await acknowledge(chief, emergency_id), { type: 'ERROR', code: 'unknown_emergency' });
  }
  await b.settled();
  const states = b.arrivals.flatMap((one) =>
    (one as Json).type === 'EMERGENCY' ? [(one as Json).state] : [],
  );
  t.same(states, ['raised', 'cleared', 'raised', 'cleared']);
  // An emergency that is cleared before it is stored is written behind the answer.
  const acts = await eventually(async () => {
    const rows = await s.sql`
      select by_name, way, act, user_id, details ->> 'emergency_id' as emergency from acts
      where talkgroup_id = ${group.id} and way = 'relay'`;
    if (rows.length === 0) throw new Error('no act');
    return rows;
  });
  const { name } = group.people[0];
  const upon = { user_id: group.people[1].id, emergency: last };
  t.strictSame(
    [...acts],
    [{ by_name: name, way: 'relay', act: 'emergency_cleared', ...upon }],
    'the end of an own emergency is no act upon anybody',
  );
});

t.test(
  'of two who clear at once one is told that there is none, while the database stands still',
  async (t) => {
    const group = await s.crew(t, 3, { name: 'both clear', admins: 1 });
    const [chief, , a] = group.radios; // of one node: two that clear before they hear of each other both answer OK
    const { emergency_id } = await raise(a, group);
    await stored(emergency_id);
    await s.sql.begin(async (sql) => {
      await sql`lock table emergencies in access exclusive mode`;
      const answers = await Promise.all([clear(chief, emergency_id), clear(a, emergency_id)]);
      t.match(answers, [{ type: 'OK' }, { type: 'ERROR', code: 'unknown_emergency' }]);
    });
    t.match(await stored(emergency_id, 'cleared'), { cleared_by: group.people[0].id });
  },
);

t.test('what the database does not know yet is not undone by what it says meanwhile', async (t) => {
  const group = await s.crew(t, 3, { name: 'ahead', admins: 1 });
  const [chief, a, b] = group.radios;
  const { emergency_id: old } = await raise(b, group);
  await stored(old);
  await s.sql.begin(async (sql) => {
    await sql`lock table emergencies in share mode`; // reads go on, writes wait
    const { emergency_id } = await raise(a, group);
    await clear(b, old);
    await s.admin.post('/keys/rotate', { talkgroup_id: group.id });
    await b.hears('KEY_ROTATED'); // the relay has read the talkgroup
    await acknowledge(chief, emergency_id);
    await s.admin.post('/keys/rotate', { talkgroup_id: group.id });
    await b.hears('KEY_ROTATED');
    t.match(await sync(b, group), { event: 6, emergencies: [{ emergency_id, state: 'acknowledged' }] });
  });
  await stored(old, 'cleared');
  const states = b.messages.flatMap(({ type, state }) => (type === 'EMERGENCY' ? [state] : []));
  t.same(states, ['raised', 'raised', 'cleared', 'acknowledged']);
});

t.test('a snapshot lists open emergencies, the newest first, until they are cleared', async (t) => {
  const group = await s.crew(t, 2, { name: 'shown' });
  const [a, b] = group.radios;
  const cid = await s.person('shown-cid');
  const { emergency_id: first } = await raise(a, group);
  const { emergency_id: second } = await raise(b, group);
  const shown = (snapshot: Json | undefined) =>
    ((snapshot?.emergencies ?? []) as Json[]).map(({ emergency_id }) => emergency_id);
  const c = await cid.radio();
  await cid.post(`/talkgroups/${group.id}/join`);
  t.same(shown(await c.hears('TALKGROUP_JOINED')), [second, first]);
  t.same(shown(await sync(c, group)), [second, first]);
  const late = await cid.radio();
  t.same(shown(late.welcome?.talkgroups[0]), [second, first]);
  await clear(a, first);
  await late.hears('EMERGENCY');
  const subscribed = await late.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id] });
  t.same(shown((subscribed.talkgroups as Json[])[0]), [second]);
  for (const radio of [c, late]) radio.socket.terminate();
});

t.test('REST lists what was raised, and what it changes is heard', async (t) => {
  const group = await s.crew(t, 2, { name: 'by REST' });
  const [a, b] = group.radios;
  const [, bob] = group.people;
  const { emergency_id } = await raise(a, group, { lat: 1, lng: 2, alt: 3 });
  const { type, event, ...body } = await b.hears('EMERGENCY');
  await stored(emergency_id);
  t.same(await listed(bob, group), [body], 'the same body without its event number');
  await s.admin.post(`/emergencies/${emergency_id}/ack`);
  for (const radio of [a, b])
    t.match(await radio.hears('EMERGENCY', ({ state }) => state !== 'raised'), {
      ...body,
      state: 'acknowledged',
      event: 2,
    });
  a.speaks(group.number, 'help', { start: true });
  t.equal((await b.hearsText('help')).flags, START | EMERGENCY);
  await group.people[0].post(`/emergencies/${emergency_id}/clear`);
  t.match(await b.hears('EMERGENCY'), { ...body, state: 'cleared', event: 4 });
  await a.hears('EMERGENCY', ({ state }) => state === 'cleared');
  a.speaks(group.number, 'all is well');
  t.equal((await b.hearsText('all is well')).flags, 0);
  t.same(await listed(bob, group), []);
  t.match(await clear(a, emergency_id), { code: 'unknown_emergency' });
  const again = await a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  t.match(again, { type: 'OK' });
});

t.test('one acknowledged and cleared over the socket is so for REST', async (t) => {
  const group = await s.crew(t, 1, { name: 'for REST' });
  const [a] = group.radios;
  const chief = await s.admin.radio();
  const { emergency_id } = await raise(a, group);
  if (isDealt) await stored(emergency_id); // a node without a member of the talkgroup knows those that are stored
  await acknowledge(chief, emergency_id);
  t.match(await stored(emergency_id, 'acknowledged'), { acknowledged_by: s.admin.id });
  t.match(await listed(s.admin, group), [{ state: 'acknowledged' }]);
  await clear(a, emergency_id);
  await stored(emergency_id, 'cleared');
  t.same(await listed(s.admin, group), []);
  for (const act of ['ack', 'clear'])
    t.match(await s.admin.call('POST', `/emergencies/${emergency_id}/${act}`), { status: 404 });
});

t.test('a user who leaves is still in distress, and may still clear that', async (t) => {
  const group = await s.crew(t, 2, { name: 'leaves' });
  const [a, b] = group.radios;
  const [ann] = group.people;
  const { emergency_id } = await raise(a, group);
  await ann.delete(`/talkgroups/${group.id}/leave`);
  await a.hears('TALKGROUP_LEFT');
  t.match(await sync(b, group), { emergencies: [{ emergency_id }] });
  await ann.post(`/talkgroups/${group.id}/join`);
  t.match(await a.hears('TALKGROUP_JOINED'), { emergencies: [{ emergency_id }] });
  await a.settled();
  a.speaks(group.number, 'back', { start: true, end: true });
  t.ok((await b.hearsText('back')).flags & EMERGENCY);
  await ann.delete(`/talkgroups/${group.id}/leave`);
  t.match(await clear(a, emergency_id), { type: 'OK' });
  t.match(await b.hears('EMERGENCY', ({ state }) => state === 'cleared'), { emergency_id });
});

t.test('on another node it is heard, shown, acknowledged and cleared just so', async (t) => {
  const there = await service(t, { DATABASE_URL: s.url });
  const group = await s.crew(t, 2, { name: 'nodes', admins: 1 });
  const [, a] = group.radios;
  const [chief, ann] = group.people;
  const [far, own] = [await there.radioOf(chief), await there.radioOf(ann)];
  const { emergency_id } = await raise(a, group);
  t.match(await far.hears('EMERGENCY'), { emergency_id, state: 'raised', event: 1 });
  await own.hears('EMERGENCY'); // its node may be a third one
  own.speaks(group.number, 'help', { start: true });
  t.ok((await far.hearsText('help')).flags & EMERGENCY, 'the raiser’s other radio, there');
  t.match(await acknowledge(far, emergency_id), { type: 'OK' });
  t.match(await a.hears('EMERGENCY', ({ state }) => state === 'acknowledged'), { emergency_id });
  t.match(await clear(own, emergency_id), { type: 'OK' });
  for (const radio of [a, far])
    t.match(await radio.hears('EMERGENCY', ({ state }) => state === 'cleared'), { emergency_id });
  await stored(emergency_id, 'cleared');
});

t.test('while the database is away it is announced all the same, and stored when it is back', async (t) => {
  const link = await throughProxy(t, s.url);
  const behind = await service(t, { DATABASE_URL: link.url }, s.url);
  const group = await behind.crew(t, 3, { name: 'away', admins: 1 });
  const [chief, a, b] = group.radios;
  const [admin] = group.people;
  link.proxy.slam();
  link.proxy.reset();

  const startedAt = performance.now();
  const { emergency_id: kept } = await raise(a, group, { lat: 1 });
  const { emergency_id: over } = await raise(b, group);
  t.match(await acknowledge(chief, kept), { type: 'OK' });
  t.match(await clear(b, over), { type: 'OK' });
  within(t, performance.now() - startedAt, 1000, 'at once');
  t.match(await clear(b, over), { type: 'ERROR', code: 'unknown_emergency' });
  t.match(await clear(chief, NOBODY), { type: 'ERROR', code: 'unavailable' }, 'nobody knows');
  t.match(await chief.hears('EMERGENCY', ({ event }) => event === 4), {
    emergency_id: over,
    state: 'cleared',
  });
  a.speaks(group.number, 'help', { start: true, end: true });
  t.ok((await b.hearsText('help')).flags & EMERGENCY);

  await link.proxy.listen();
  t.match(await stored(kept, 'acknowledged'), { lat: 1, acknowledged_by: admin.id });
  await stored(over, 'cleared');
  t.match(await eventually(() => listed(admin, group)), [
    { emergency_id: kept, state: 'acknowledged', lat: 1 },
  ]);
  t.match(
    await sync(b, group),
    { event: 6, emergencies: [{ emergency_id: kept }] },
    'nothing was announced twice',
  );
});
