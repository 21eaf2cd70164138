// Live positions over the wire: WATCH, what it lists, what is published of it, its end, and EMERGENCY_POSITION.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { eventually } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { type Json, type Person, type Radio, service } from '../helpers/service/service.js';
import { heardEverywhere, isDealt } from '../helpers/service/two-nodes.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);
t.jobs = 4;

const INTERVAL_MS = 1000;
const HOUR_MS = 3_600_000;
type Row = readonly [n: number, lat: number, lng: number, ageMs: number, speed: unknown, course: unknown];

const s = await service(t);

/** People with a device each, in a talkgroup. */
async function fleet(t: Test, name: string, count: number) {
  const people = await Promise.all(
    Array.from({ length: count }, (_, index) => s.person(`${name}-${index}`, { serial: `${name}-${index}` })),
  );
  const group = await s.talkgroup(name, ...people);
  const radio = async (person: Person | undefined) => {
    const one = await (person ?? s.admin).radio();
    t.teardown(() => one.socket.terminate());
    return one;
  };
  return { group, people: people as [Person, Person, ...Person[]], radio };
}

const watch = (radio: Radio, more: Json) => radio.asks({ type: 'WATCH', interval_ms: INTERVAL_MS, ...more });
const watchGroup = (radio: Radio, { id }: { id: string }) => watch(radio, { talkgroup_ids: [id] });
const reports = (radio: Radio, fix: Json) => radio.asks({ type: 'GPS_UPDATE', alt: 0, ...fix });
const devicesIn = (answer: Json) => answer.devices as (Json & { n: number; device_id: string })[];
const numberOf = (answer: Json, { device }: Pick<Person, 'device'>) =>
  devicesIn(answer).find(({ device_id }) => device_id === device)?.n;
const rowsIn = ({ fixes }: Json) => fixes as Row[];
/** The next position of the device with this number. */
async function hearsRow(radio: Radio, n: number | undefined, matches = (_row: Row) => true): Promise<Row> {
  const fits = (row: Row) => row[0] === n && matches(row);
  const message = await radio.hears('POSITIONS', (one) => rowsIn(one).some(fits));
  const row = rowsIn(message).find(fits);
  if (row === undefined) throw new Error('found above');
  return row;
}

t.test('WATCH lists the devices of the members, and a position comes within the interval', async (t) => {
  const { group, people, radio } = await fleet(t, 'list', 2);
  const [ann, bob] = people;
  await s.sql`insert into memberships (user_id, talkgroup_id, site)
    select ${(await s.person('list-none')).id}, ${group.id}, 'depot'`;
  const [a, b] = [await radio(ann), await radio(bob)];
  await reports(b, { lat: 52.5, lng: 13.25, alt: 34, speed: 13.5, course: 271, accuracy: 5, battery: 80 });
  const answer = await watchGroup(a, group);
  t.match(answer, { type: 'WATCHING', total: 2, part: 1, parts: 1 });
  const sorted = [...devicesIn(answer)].sort((one, other) =>
    String(one.name).localeCompare(String(other.name)),
  );
  t.match(sorted, [
    { device_id: ann.device, name: 'list-0', user_id: ann.id, username: 'list-0' },
    {
      ...{ device_id: bob.device, name: 'list-1', user_id: bob.id, username: 'list-1' },
      ...{ lat: 52.5, lng: 13.25, alt: 34, speed: 13.5, course: 271, accuracy: 5, battery: 80 },
      updated_at: /^20/,
    },
  ]);
  t.notOk('lat' in (sorted[0] as Json), 'a device without a position has no coordinates');

  await heardEverywhere();
  const sentAtMs = performance.now();
  await reports(b, { lat: 1, lng: 2, speed: 3.04, course: 4 });
  const row = await hearsRow(a, numberOf(answer, bob), ([, lat]) => lat === 1);
  within(t, performance.now() - sentAtMs, INTERVAL_MS + 500);
  t.strictSame([row[1], row[2], row[4], row[5]], [1, 2, 3, 4]);
  t.ok(row[3] >= 0, `${row[3]} ms old`);
  within(t, row[3], INTERVAL_MS + 500, 'age');
});

t.test('a position by REST comes, too, and of two in an interval the last one', async (t) => {
  const { group, people, radio } = await fleet(t, 'rest', 2);
  const [ann, bob] = people;
  const [a, b] = [await radio(ann), await radio(bob)];
  const answer = await watchGroup(a, group);
  const n = numberOf(answer, bob);
  const m = numberOf(await watchGroup(b, group), ann);
  await eventually(async () => {
    const lat = Math.random();
    await bob.post(`/devices/${bob.device}/gps`, { lat, lng: 2, alt: 3 });
    await hearsRow(a, n, (row) => row[1] === Math.round(lat * 1e6) / 1e6);
  });
  await ann.post(`/devices/${ann.device}/gps`, { lat: 10, lng: 0, alt: 0 });
  await ann.post(`/devices/${ann.device}/gps`, { lat: 11, lng: 0, alt: 0 });
  await hearsRow(b, m, ([, lat]) => lat === 11);
  await hearsRow(a, numberOf(answer, ann), ([, lat]) => lat === 11); // numbers are those of a relay
});

t.test('any user watches devices by their ids, and what no device has is left out', async (t) => {
  const { people, radio } = await fleet(t, 'ids', 2);
  const [ann, bob] = people;
  const stranger = await radio(await s.person('ids-stranger'));
  const answer = await watch(stranger, { device_ids: [bob.device, randomUUID(), 'none'] });
  t.match(answer, { type: 'WATCHING', total: 1, devices: [{ device_id: bob.device }] });
  const a = await radio(ann);
  await heardEverywhere();
  await reports(a, { device_id: bob.device, lat: 3, lng: 4 });
  t.match(await hearsRow(stranger, numberOf(answer, bob), ([, lat]) => lat === 3), [/\d/, 3, 4]);
});

t.test('WATCH is refused for a foreign talkgroup, without one, with two lists, and too often', async (t) => {
  const { group, people, radio } = await fleet(t, 'refused', 1);
  const [ann] = people;
  const stranger = await radio(await s.person('refused-stranger'));
  const foreign = await watch(stranger, { talkgroup_ids: [group.id] });
  t.match(foreign, { type: 'ERROR', code: 'not_member', talkgroup_id: group.id });
  t.match(await watch(stranger, { talkgroup_ids: ['none'] }), { code: 'not_member' });
  const bad: Json[] = [
    {},
    { talkgroup_ids: [] },
    { device_ids: [] },
    { talkgroup_ids: [group.id], device_ids: [ann.device] },
    { device_ids: [ann.device], interval_ms: 1500 },
    { device_ids: Array.from({ length: 201 }, () => randomUUID()) },
    { talkgroup_ids: Array.from({ length: 33 }, () => randomUUID()) },
    { area: [0, 0, 1, 1] },
    { device_ids: [ann.device], area: [0, 0, 1, 1] },
  ];
  const a = await radio(ann);
  for (const more of bad) t.match(await watch(a, more), { code: 'bad_message' }, JSON.stringify(more));
  const answers = await Promise.all([1, 2, 3].map(() => watchGroup(a, group)));
  t.match(answers.at(-1), { type: 'ERROR', code: 'rate_limited' });
});

t.test('UNWATCH ends it, and so does the end of the membership', async (t) => {
  const { group, people, radio } = await fleet(t, 'ends', 3);
  const [ann, bob, cid] = people as [Person, Person, Person];
  const [a, b, c] = [await radio(ann), await radio(bob), await radio(cid)];
  const numbers = [numberOf(await watchGroup(a, group), cid), numberOf(await watchGroup(b, group), cid)];
  await heardEverywhere();
  await reports(c, { lat: 1, lng: 1 });
  await hearsRow(a, numbers[0], ([, lat]) => lat === 1);
  await hearsRow(b, numbers[1], ([, lat]) => lat === 1);
  t.match(await a.asks({ type: 'UNWATCH' }), { type: 'OK' });
  t.match(await a.asks({ type: 'UNWATCH' }), { type: 'OK' }, 'also when nothing is watched');
  await bob.delete(`/talkgroups/${group.id}/leave`);
  await b.hears('TALKGROUP_LEFT');
  // By their numbers, or with an empty list when the own device was gone from it before.
  await eventually(() => {
    const gone = b.messages.flatMap((told) =>
      told.type === 'POSITIONS' ? ((told.gone ?? []) as number[]) : [],
    );
    const isEmpty = b.messages.some((told) => told.type === 'WATCHING' && devicesIn(told).length === 0);
    if (!isEmpty && new Set(gone).size < 3) throw new Error(JSON.stringify(b.messages));
  });
  const d = await radio(cid);
  const last = numberOf(await watchGroup(d, group), cid);
  a.messages.length = 0;
  b.messages.length = 0;
  await heardEverywhere();
  await reports(c, { lat: 2, lng: 2 });
  await hearsRow(d, last, ([, lat]) => lat === 2);
  for (const one of [a, b]) {
    await one.settled();
    t.notOk(one.messages.some(({ type }) => type === 'POSITIONS'));
  }
  t.match(await watchGroup(b, group), { code: 'not_member' });
});

t.test('a device that comes to the talkgroup is listed, and one that leaves is gone', async (t) => {
  const { group, people, radio } = await fleet(t, 'comes', 1);
  const a = await radio(people[0]);
  await watchGroup(a, group);
  const late = await s.person('comes-late', { serial: 'comes-late' });
  await late.post(`/talkgroups/${group.id}/join`);
  const news = await a.hears('WATCHING', (message) => numberOf(message, late) !== undefined);
  t.notOk('ref' in news);
  const n = numberOf(news, late);
  const l = await radio(late);
  await eventually(async () => {
    await reports(l, { lat: 5, lng: 5 });
    await hearsRow(a, n, ([, lat]) => lat === 5);
  });
  await late.delete(`/talkgroups/${group.id}/leave`);
  await a.hears('POSITIONS', ({ gone }) => Array.isArray(gone) && gone.includes(n));
});

t.test('a device that is linked to a member is listed, and gone with its user', async (t) => {
  const { group, people, radio } = await fleet(t, 'linked', 1);
  const a = await radio(people[0]);
  await watchGroup(a, group);
  const late = await s.person('linked-late');
  await late.post(`/talkgroups/${group.id}/join`);
  const linked = await s.admin.call('PUT', `/users/${late.id}/device`, { serial: 'linked-late' });
  const { id: device } = (linked.body as { device: { id: string } }).device;
  const listed = (message: Json) => devicesIn(message).find(({ device_id }) => device_id === device);
  const news = await a.hears('WATCHING', (message) => listed(message) !== undefined);
  const n = listed(news)?.n;
  await s.admin.delete(`/users/${late.id}`);
  await a.hears('POSITIONS', ({ gone }) => Array.isArray(gone) && gone.includes(n));
});

t.test('a hundred sessions that watch a talkgroup cost one JSON', { skip: isDealt }, async (t) => {
  const alone = await service(t, { SOCKETS_PER_USER: '200' }, undefined, { isOneNode: true });
  const ann = await alone.person('ann', { serial: 'hundred' });
  const group = await alone.talkgroup('hundred', ann);
  const made = (to: string) => metric(alone.metrics, `talkgroup_position_messages_total{to="${to}"}`);
  const radios = await Promise.all(Array.from({ length: 100 }, () => ann.radio()));
  const answers = await Promise.all(radios.map((radio) => watchGroup(radio, group)));
  t.equal(await metric(alone.metrics, 'talkgroup_position_watchers'), 100);
  const [first] = radios as [Radio];
  // From the first one that reaches all of them together on.
  await eventually(async () => {
    const before = await made('shared');
    await reports(first, { lat: 1, lng: 1 });
    await Promise.all(radios.map((radio, index) => hearsRow(radio, numberOf(answers[index] ?? {}, ann))));
    if (((await made('shared')) ?? 0) <= (before ?? 0)) throw new Error('not published for all');
  });
  const [shared, single] = [await made('shared'), await made('single')];
  await reports(first, { lat: 2, lng: 2 });
  await Promise.all(
    radios.map((radio, index) =>
      hearsRow(radio, numberOf(answers[index] ?? {}, ann), ([, lat]) => lat === 2),
    ),
  );
  t.equal(await made('shared'), (shared ?? 0) + 1);
  t.equal(await made('single'), single);
  for (const radio of radios) radio.socket.terminate();
  await eventually(async () => {
    const left = await metric(alone.metrics, 'talkgroup_position_watchers');
    if (left !== 0) throw new Error(`${left} still watch`);
  });
});

t.test('an older `at` replaces no newer position, and one without `at` replaces every other', async (t) => {
  const { people, radio } = await fleet(t, 'at', 1);
  const [ann] = people;
  const a = await radio(ann);
  const latest = async () => (await ann.get(`/devices/${ann.device}/gps`)).gps as Json;
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const ahead = at(30_000);
  t.match(await reports(a, { lat: 1, lng: 0, at: ahead }), { type: 'OK' });
  t.match(await latest(), { lat: 1, updated_at: ahead });
  t.match(await reports(a, { lat: 2, lng: 0, at: at(-HOUR_MS) }), { type: 'OK' }, 'it is no error');
  t.match(await latest(), { lat: 1, updated_at: ahead });
  t.match(await reports(a, { lat: 3, lng: 0 }), { type: 'OK' });
  t.match(await latest(), { lat: 3, updated_at: ahead }, 'the time does not go back');
  t.strictSame(Object.keys(await latest()).sort(), ['alt', 'device_id', 'id', 'lat', 'lng', 'updated_at']);
  await delay(1000); // GPS_UPDATE has a rate
  for (const bad of [at(-7 * 24 * HOUR_MS - 1000), 'now', '2026-01-01', 1])
    t.match(await reports(a, { lat: 4, lng: 0, at: bad }), { code: 'bad_message' }, `${bad}`);
});

t.test('members hear where the user with an open emergency is, at most every 2 s', async (t) => {
  const { group, people, radio } = await fleet(t, 'alarm', 2);
  const [ann, bob] = people;
  const [a, b] = [await radio(ann), await radio(bob)];
  const raised = await a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  for (const one of [a, b]) await one.hears('EMERGENCY');
  await heardEverywhere();
  const firstAtMs = performance.now();
  await reports(a, { lat: 1, lng: 2, alt: 3, speed: 4, battery: 50 });
  for (const one of [a, b]) {
    const { updated_at, ...told } = await one.hears('EMERGENCY_POSITION');
    t.match(updated_at, /^20/);
    t.strictSame(told, {
      ...{ type: 'EMERGENCY_POSITION', emergency_id: raised.emergency_id, talkgroup_id: group.id },
      ...{ user_id: ann.id, device_id: ann.device, lat: 1, lng: 2, alt: 3, speed: 4, battery: 50 },
    });
  }
  await reports(a, { lat: 5, lng: 2, alt: 3 });
  await ann.post(`/devices/${ann.device}/gps`, { lat: 6, lng: 2, alt: 3 });
  t.match(await b.hears('EMERGENCY_POSITION'), { lat: isDealt ? /5|6/ : 6 }, 'the latest counts');
  t.ok(performance.now() - firstAtMs >= 2000, `${performance.now() - firstAtMs} ms`);
  const synced = await b.asks({ type: 'SYNC', talkgroup_id: group.id });
  t.match(synced.emergencies, [
    { position: { device_id: ann.device, lat: /5|6/, lng: 2, updated_at: /^20/ } },
  ]);
  const late = await radio(bob);
  t.match(late.welcome?.talkgroups, [{ emergencies: [{ position: { device_id: ann.device } }] }]);

  await a.asks({ type: 'EMERGENCY_CLEAR', emergency_id: raised.emergency_id });
  await b.hears('EMERGENCY', ({ state }) => state === 'cleared');
  await heardEverywhere();
  b.messages.length = 0;
  await reports(a, { lat: 7, lng: 7 });
  await delay(2200);
  await b.settled();
  t.notOk(b.messages.some(({ type }) => type === 'EMERGENCY_POSITION'));
});

t.test('an open emergency is where the device is that its user has now', async (t) => {
  const { group, people, radio } = await fleet(t, 'alarm-moves', 1);
  const b = await radio(people[0]);
  const ann = await s.person('alarm-moves-ann');
  await ann.post(`/talkgroups/${group.id}/join`);
  const a = await radio(ann);
  const { emergency_id } = await a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  await b.hears('EMERGENCY');
  const link = async (serial: string) => {
    const { body } = await s.admin.call('PUT', `/users/${ann.id}/device`, { serial });
    return (body as { device: { id: string } }).device.id;
  };
  const first = await link('alarm-moves-1');
  const reportOf = (id: string, lat: number) => s.admin.post(`/devices/${id}/gps`, { lat, lng: 2, alt: 3 });
  const hears = (device: string, lat: number) =>
    eventually(async () => {
      // The node of the radio may hear of the report before it knows whose the device is. Then another one is needed.
      await reportOf(device, lat);
      await b.settled();
      const isTold = b.messages.some(
        (told) => told.type === 'EMERGENCY_POSITION' && told.device_id === device && told.lat === lat,
      );
      if (!isTold) throw new Error(`not told of ${lat}`);
    });
  await hears(first, 1);
  const second = await link('alarm-moves-2');
  await hears(second, 5);
  b.messages.length = 0;
  await reportOf(first, 9);
  await reportOf(second, 6);
  await b.hears('EMERGENCY_POSITION', ({ lat }) => lat === 6);
  t.notOk(
    b.messages.some(({ type, lat }) => type === 'EMERGENCY_POSITION' && lat === 9),
    'not where it was',
  );
  t.ok(emergency_id);
});
