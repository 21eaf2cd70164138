// The map of the console without a browser: what it watches, knows and draws.
import { readFileSync } from 'node:fs';
import { signal } from '@preact/signals';
import t from 'tap';
import { decodeRing, encodeRing, readLand } from '../../src/console/map/base/land.js';
import { createTableRows, type SortedBy, TABLE_ROWS } from '../../src/console/map/drawer/table-rows.js';
import { marksOf } from '../../src/console/map/fleet/emergencies.js';
import { createFleet, type Fleet } from '../../src/console/map/fleet/fleet.js';
import { freshnesses, freshnessOf } from '../../src/console/map/fleet/freshness.js';
import { extend, interrupt, linesOf, newTrail, TRAIL_POINTS } from '../../src/console/map/fleet/trail.js';
import { createWatch, WATCHED_TALKGROUPS, type WatchMessage } from '../../src/console/map/fleet/watch.js';
import type {
  EmergencyPosition,
  MapMessage,
  OpenEmergency,
  Watched,
} from '../../src/console/map/fleet/wire.js';
import { createMarkers } from '../../src/console/map/markers.js';
import { foreignOrigin } from '../../src/console/map/origins.js';
import { type Connection, createMapState, type WatchedTalkgroup } from '../../src/console/map/state.js';
import { spanOf } from '../../src/console/map/world.js';

const AT = '2026-01-01T08:30:00.000Z';
const AT_MS = Date.parse(AT);
const world = [-180, -90, 180, 90] as const;

const watched = (n: number, fields: Partial<Watched> = {}): Watched => ({
  ...{ n, device_id: `device ${n}`, name: `SN-${n}`, user_id: `user ${n}`, username: `ann ${n}` },
  ...{ lat: 52.5, lng: 13.4 + n / 1000, updated_at: AT },
  ...fields,
});

const snapshot = (devices: readonly Watched[], fields: object = {}) => {
  const message = { type: 'WATCHING', devices, total: devices.length, part: 1, parts: 1 } as const;
  return { ...message, ...fields };
};

function fleetOf(count: number): Fleet {
  const fleet = createFleet();
  fleet.watching(snapshot(Array.from({ length: count }, (_, n) => watched(n))));
  return fleet;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Answers with what the test sets. Timers run when the test says so. */
function scene() {
  const sent: WatchMessage[] = [];
  const timers = new Map<number, () => void>();
  let reject: { code: string } | null = null;
  let lastTimer = 0;
  return {
    sent,
    rejectWith(code: string | null) {
      reject = code === null ? null : { code };
    },
    port: {
      async request(message: WatchMessage) {
        sent.push(message);
        if (reject !== null) throw Object.assign(new Error(reject.code), reject);
      },
    },
    after(_ms: number, run: () => void) {
      lastTimer += 1;
      const own = lastTimer;
      timers.set(own, run);
      return () => timers.delete(own);
    },
    ring() {
      const due = [...timers.values()];
      timers.clear();
      for (const run of due) run();
    },
  };
}

t.test(
  'WATCH is sent when the radio is connected, again after a reconnect, and UNWATCH at the end',
  async (t) => {
    const { port, after, sent } = scene();
    const watch = createWatch(port, after);
    watch.watch(['a', 'b']);
    t.strictSame(sent, [], 'not connected');
    t.equal(watch.state.value.phase, 'asking');
    watch.connected();
    await settled();
    t.equal(watch.state.value.phase, 'watching');
    watch.disconnected();
    watch.connected();
    await settled();
    watch.watch(['b']);
    watch.stop();
    watch.stop();
    t.strictSame(
      sent.map((message) => ('talkgroup_ids' in message ? message.talkgroup_ids.join() : message.type)),
      ['a,b', 'a,b', 'b', 'UNWATCH'],
    );
    t.equal(watch.state.value.phase, 'off');
  },
);

t.test('a passing rejection of WATCH is repeated later, and another one is told', async (t) => {
  const { port, after, sent, ring, rejectWith } = scene();
  const watch = createWatch(port, after);
  watch.connected();
  rejectWith('rate_limited');
  watch.watch(['a']);
  await settled();
  t.strictSame(watch.state.value, { phase: 'rejected', code: 'rate_limited', isPassing: true });
  rejectWith('not_member');
  ring();
  await settled();
  t.strictSame(watch.state.value, { phase: 'rejected', code: 'not_member', isPassing: false });
  ring();
  await settled();
  t.equal(sent.length, 2);
});

t.test('an answer to an earlier WATCH does not change the state of the later one', async (t) => {
  const answers: (() => void)[] = [];
  const port = { request: () => new Promise<void>((resolve) => answers.push(resolve)) };
  const watch = createWatch(port, () => () => {});
  watch.connected();
  watch.watch(['a']);
  watch.watch(['b']);
  answers[0]?.();
  await settled();
  t.equal(watch.state.value.phase, 'asking');
  answers[1]?.();
  await settled();
  t.equal(watch.state.value.phase, 'watching');
});

t.test('a snapshot in parts replaces the devices when its last part is there', async (t) => {
  const fleet = fleetOf(3);
  const kept = fleet.devices.get('device 1');
  fleet.watching(snapshot([watched(7, { device_id: 'device 1' })], { parts: 2, total: 12 }));
  t.equal(fleet.devices.size, 3, 'the first part removes nothing');
  fleet.watching(snapshot([watched(8)], { part: 2, parts: 2, total: 12 }));
  t.strictSame([...fleet.devices.keys()], ['device 1', 'device 8']);
  t.equal(fleet.devices.get('device 1'), kept, 'a device that stays keeps its trail');
  t.equal(fleet.unsent, 10);
  fleet.positions(
    { type: 'POSITIONS', server_time: AT_MS + 5000, fixes: [[7, 1, 2, 1000, null, null]] },
    true,
  );
  t.match(
    fleet.devices.get('device 1'),
    { lat: 1, lng: 2, fixedAtMs: AT_MS + 4000 },
    'the new number counts',
  );
  fleet.watching(snapshot([watched(9)], { talkgroup_id: 't' }));
  t.equal(fleet.devices.size, 3, 'a message about a talkgroup adds');
  fleet.positions({ type: 'POSITIONS', talkgroup_id: 't', server_time: AT_MS, fixes: [], gone: [9] }, false);
  t.equal(fleet.devices.size, 3, 'it may be in another talkgroup');
  fleet.positions(
    { type: 'POSITIONS', server_time: AT_MS, fixes: [[99, 1, 1, 0, null, null]], gone: [9, 55] },
    true,
  );
  t.strictSame([...fleet.devices.keys()], ['device 1', 'device 8']);
});

t.test('an older position never replaces a newer one', async (t) => {
  const fleet = fleetOf(1);
  const device = fleet.devices.get('device 0');
  fleet.positions({ type: 'POSITIONS', server_time: AT_MS + 10_000, fixes: [[0, 50, 10, 0, 3, 90]] }, true);
  fleet.positions(
    { type: 'POSITIONS', server_time: AT_MS + 11_000, fixes: [[0, 51, 11, 2000, null, null]] },
    true,
  );
  t.match(device, { lat: 50, lng: 10, speed: 3, course: 90 });
  const emergency: EmergencyPosition = {
    type: 'EMERGENCY_POSITION',
    ...{ emergency_id: 'e', talkgroup_id: 't', user_id: 'user 0', device_id: 'device 0' },
    ...{ lat: 53, lng: 12, updated_at: '2026-01-01T08:30:20.000Z' },
  };
  t.equal(fleet.emergency(emergency), true);
  t.match(device, { lat: 53, lng: 12 });
  t.equal(fleet.emergency({ ...emergency, device_id: 'of nobody' }), false);
});

t.test('a trail has a bound, counts what it drops, and is not joined over a pause', async (t) => {
  const trail = newTrail();
  for (let at = 0; at < TRAIL_POINTS + 3; at++) extend(trail, at, 50, at);
  extend(trail, TRAIL_POINTS + 2 + 1e-5, 50, TRAIL_POINTS + 3);
  t.equal(trail.points.length, 3 * TRAIL_POINTS, 'a step of a metre is left out');
  t.equal(trail.dropped, 3);
  t.equal(linesOf(trail).length, 1);
  interrupt(trail);
  interrupt(trail);
  extend(trail, 0, 0, 1000);
  extend(trail, 1, 1, 1001);
  const lines = linesOf(trail);
  t.equal(lines.length, 2);
  t.strictSame(lines[1], [
    [0, 0],
    [1, 1],
  ]);
  t.strictSame(linesOf(trail, 1000), [lines[1]], 'from a time on');
  t.strictSame(linesOf(trail, 1001), [], 'one point is no line');
});

t.test('ages have four classes', async (t) => {
  const words = [0, 60_000, 60_001, 300_001, 1_200_001, -5].map((ms) => freshnesses[freshnessOf(ms)]);
  t.strictSame(words, ['live', 'live', 'recent', 'old', 'very old', 'live']);
});

t.test('only markers that moved visibly, changed their age or came are drawn again', async (t) => {
  const fleet = fleetOf(100);
  const markers = createMarkers();
  const seen = { nowMs: AT_MS, stepDegrees: 0.01, bounds: world };
  t.equal(markers.diff(fleet.devices, seen).add.length, 100);
  t.strictSame(markers.diff(fleet.devices, seen), { add: [], update: [], remove: [] });
  const move = (n: number, lng: number, lat: number) =>
    fleet.positions(
      { type: 'POSITIONS', server_time: AT_MS + 1000, fixes: [[n, lat, lng, 0, null, null]] },
      true,
    );
  move(5, 13.405 + 0.009, 52.5);
  t.strictSame(markers.diff(fleet.devices, seen).update, [], 'less than a pixel');
  move(5, 13.5, 52.5);
  t.match(markers.diff(fleet.devices, seen).update, [{ newGeometry: { coordinates: [13.5, 52.5] } }]);
  const elsewhere = { ...seen, bounds: [0, 0, 1, 1] as const };
  move(5, 13.6, 52.5);
  t.strictSame(markers.diff(fleet.devices, elsewhere).update, [], 'outside of the screen');
  t.equal(markers.diff(fleet.devices, seen).update.length, 1, 'and drawn when the screen shows it');
  const later = markers.diff(fleet.devices, { ...seen, nowMs: AT_MS + 61_000 });
  t.equal(later.update.length, 99, 'all but the one that moved have become a class older');
  t.match(later.update[0]?.addOrUpdateProperties, [{ key: 'age', value: 1 }, {}]);
  fleet.positions({ type: 'POSITIONS', server_time: AT_MS, fixes: [], gone: [5] }, true);
  t.equal(markers.diff(fleet.devices, { ...seen, nowMs: AT_MS + 61_000 }).remove.length, 1);
  markers.forget();
  t.equal(markers.diff(fleet.devices, seen).add.length, 99);
});

t.test('a device without a position is in the table and not on the map', async (t) => {
  const fleet = createFleet();
  fleet.watching(snapshot([{ n: 1, device_id: 'device 1', name: 'SN-1' }, watched(2)]));
  const { add } = createMarkers().diff(fleet.devices, { nowMs: AT_MS, stepDegrees: 1, bounds: world });
  t.equal(add.length, 1);
  const page = createTableRows(fleet).page(wanted());
  t.equal(page.devices.length, 2);
  t.ok(
    page.devices.some(({ username }) => username === 'SN-1'),
    'by its own name, because no user has it',
  );
});

const wanted = (fields: Partial<Parameters<ReturnType<typeof createTableRows>['page']>[0]> = {}) => ({
  ...{ find: '', page: 0, sortedBy: 'name' as SortedBy, isHeld: false, nowMs: AT_MS },
  ...fields,
});

t.test('the table has pages, and finds anywhere in the name of a user or a device', async (t) => {
  const fleet = createFleet();
  const names = Array.from({ length: TABLE_ROWS + 5 }, (_, n) => `bob ${100 + n}`);
  fleet.watching(snapshot([...names, 'Zoë'].map((username, n) => watched(n, { username }))));
  const rows = createTableRows(fleet);
  const first = rows.page(wanted());
  t.match(first, { found: TABLE_ROWS + 6, page: 0, pages: 2 });
  t.equal(first.devices[0]?.username, 'bob 100');
  const last = rows.page(wanted({ page: 9 }));
  t.match(last, { page: 1 });
  t.equal(last.devices.length, 6);
  t.equal(rows.page(wanted({ find: 'OË ' })).found, 1);
  t.equal(
    rows.page(wanted({ find: `n-${TABLE_ROWS + 5}` })).devices[0]?.username,
    'Zoë',
    'SN-30 is its device',
  );
  t.equal(rows.page(wanted({ find: 'nobody' })).found, 0);
});

t.test('the table is sorted by name with numbers in it, by age and by speed', async (t) => {
  const fleet = createFleet();
  const at = (s: number) => new Date(AT_MS + 1000 * s).toISOString();
  fleet.watching(
    snapshot([
      watched(1, { username: 'ann 10', speed: 3, updated_at: at(5) }),
      watched(2, { username: 'ann 9', updated_at: at(9) }),
      { n: 3, device_id: 'device 3', name: 'SN-3' },
      watched(4, { username: 'ann 1', speed: 20, updated_at: at(1) }),
    ]),
  );
  const rows = createTableRows(fleet);
  const namesBy = (sortedBy: SortedBy, fields = {}) =>
    rows.page(wanted({ sortedBy, ...fields })).devices.map(({ username }) => username);
  t.strictSame(namesBy('name'), ['ann 1', 'ann 9', 'ann 10', 'SN-3']);
  t.strictSame(namesBy('age'), ['ann 9', 'ann 10', 'ann 1', 'SN-3'], 'the newest first');
  t.strictSame(namesBy('speed'), ['ann 1', 'ann 10', 'ann 9', 'SN-3'], 'the fastest first');
});

t.test('rows move at most every 5 s, and not while the pointer or the focus is on them', async (t) => {
  const fleet = fleetOf(3);
  const rows = createTableRows(fleet);
  const namesAt = (afterMs: number, isHeld = false) =>
    rows
      .page(wanted({ sortedBy: 'speed', nowMs: AT_MS + afterMs, isHeld }))
      .devices.map(({ username }) => username);
  t.strictSame(namesAt(0), ['ann 0', 'ann 1', 'ann 2']);
  fleet.positions({ type: 'POSITIONS', server_time: AT_MS + 1000, fixes: [[2, 50, 10, 0, 9, 0]] }, true);
  t.strictSame(namesAt(4999), ['ann 0', 'ann 1', 'ann 2']);
  t.strictSame(namesAt(5000, true), ['ann 0', 'ann 1', 'ann 2'], 'held');
  fleet.watching(snapshot([watched(7, { username: 'a new one', speed: 50 })], { talkgroup_id: 't' }));
  t.strictSame(namesAt(6000, true), ['ann 0', 'ann 1', 'ann 2', 'a new one'], 'a new one comes last');
  fleet.positions({ type: 'POSITIONS', server_time: AT_MS, fixes: [], gone: [0] }, true);
  t.strictSame(namesAt(7000, true), ['ann 1', 'ann 2', 'a new one']);
  t.strictSame(namesAt(8000), ['a new one', 'ann 2', 'ann 1'], 'released');
});

t.test('an emergency is where it was followed to last', async (t) => {
  const fleet = fleetOf(1);
  const emergency: OpenEmergency = {
    ...{ emergency_id: 'e1', talkgroup_id: 't', user_id: 'user 0', username: 'ann 0' },
    ...{ state: 'acknowledged', lat: 10, lng: 10, raised_at: '2026-01-01T08:00:00.000Z' },
  };
  t.match(
    marksOf([emergency], new Map(), fleet),
    [{ lat: 52.5, atMs: AT_MS, isAcknowledged: true }],
    'the device reported later',
  );
  const places = new Map([['e1', { lat: 60, lng: 20, atMs: AT_MS + 1 }]]);
  t.match(marksOf([emergency], places, fleet), [{ id: 'e1', lat: 60, lng: 20 }]);
  const position = { lat: 1, lng: 2, updated_at: '2026-01-01T08:00:01.000Z' };
  t.match(marksOf([{ ...emergency, user_id: 'of nobody', position }], new Map(), fleet), [{ lat: 1 }]);
  const { lat: _lat, lng: _lng, ...unplaced } = { ...emergency, user_id: 'of nobody' };
  t.strictSame(marksOf([unplaced], new Map(), fleet), []);
});

t.test('the state watches at most 32 talkgroups, those that the user chose before others', async (t) => {
  const { port, after, sent, ring } = scene();
  const many = Array.from({ length: 40 }, (_, at) => ({ id: `t${at}`, name: `Fire ${at}` }));
  const talkgroups = signal<readonly WatchedTalkgroup[]>(many);
  const connection = signal<Connection>({ opened: 1, clockOffsetMs: 0 });
  let listener: ((message: MapMessage) => void) | null = null;
  const emergencies = signal<readonly OpenEmergency[]>([]);
  const map = createMapState({
    ...{ port, after, talkgroups, connection, emergencies, ...alone() },
    onMessage(take) {
      listener = take;
      return () => {
        listener = null;
      };
    },
  });
  const close = map.open();
  const idsSent = () => sent.flatMap((message) => (message.type === 'WATCH' ? [message.talkgroup_ids] : []));
  t.equal(idsSent().length, 1, 'one WATCH for the first connection');
  t.equal(idsSent()[0]?.length, WATCHED_TALKGROUPS);
  map.choose('t39', true);
  t.ok(idsSent()[1]?.includes('t39'));
  t.equal(idsSent()[1]?.length, WATCHED_TALKGROUPS);
  map.choose('t0', false);
  t.notOk(idsSent()[2]?.includes('t0'));
  connection.value = { opened: 2, clockOffsetMs: 5 };
  t.equal(idsSent().length, 4, 'a new connection is asked again, even when its loss was not shown');
  const edition = map.edition.value;
  const tell = (message: MapMessage) => listener?.(message);
  tell(snapshot([watched(1)]));
  tell({ type: 'POSITIONS', server_time: AT_MS, fixes: [] });
  t.equal(map.edition.value, edition, 'messages of one batch are drawn once');
  ring();
  t.equal(map.edition.value, edition + 1);
  const before = sent.length;
  for (const gone of [[1], [2]])
    tell({ type: 'POSITIONS', talkgroup_id: 't5', server_time: AT_MS, fixes: [], gone });
  ring();
  t.equal(sent.length, before + 1, 'devices that left one of several talkgroups are listed anew, once');
  map.hide();
  t.equal(sent.at(-1)?.type, 'UNWATCH');
  map.show();
  t.equal(sent.at(-1)?.type, 'WATCH');
  close();
  t.equal(sent.at(-1)?.type, 'UNWATCH');
  t.equal(listener, null);
});

/** Of a map without a talker, which keeps nothing. */
const alone = () => ({
  talking: signal<ReadonlySet<string>>(new Set()),
  readMembers: async () => [],
  shelf: { getItem: () => null, setItem() {} },
});

t.test('trails are drawn of emergencies, and of devices that the user has chosen', async (t) => {
  const parts = scene();
  const emergencies = signal<OpenEmergency[]>([]);
  const map = createMapState({
    ...{ port: parts.port, after: parts.after, talkgroups: signal([]), onMessage: () => () => {} },
    ...{ connection: signal({ opened: null, clockOffsetMs: 0 }), emergencies, ...alone() },
  });
  map.fleet.watching(snapshot([watched(1), watched(2), watched(3)]));
  t.strictSame(map.trails(), []);
  map.choices.trailed.value = new Set(['device 1']);
  emergencies.value = [
    {
      ...{ emergency_id: 'e', talkgroup_id: 't', user_id: 'user 2', username: 'ann 2', state: 'raised' },
      raised_at: AT,
    },
  ];
  t.strictSame(
    map.trails().map(({ device, isAlarm }) => [device.id, isAlarm]),
    [
      ['device 1', false],
      ['device 2', true],
    ],
  );
});

t.test('the outline of the land survives its encoding', async (t) => {
  const ring: [number, number][] = [
    [-180, -90],
    [179.99, -89.5],
    [0.01, 83.62],
    [-180, -90],
  ];
  t.strictSame(decodeRing(encodeRing(ring, 100), 100), ring);
  const land = readLand({ source: 'made up', scale: 100, polygons: [[encodeRing(ring, 100)]] });
  t.strictSame(land.geometry.coordinates, [[ring]]);
});

t.test('a foreign origin is named without its path, and the own one is not', async (t) => {
  const own = 'https://radio.example/console/';
  t.equal(foreignOrigin('https://tiles.example:8443/a/b?key=secret', own), 'https://tiles.example:8443');
  for (const address of ['https://radio.example/x', '/x', 'inline', 'data:', 'blob', 'data:image/png,x']) {
    t.equal(foreignOrigin(address, own), null, address);
  }
});

t.test('places on both sides of the date line are near each other', async (t) => {
  t.same(spanOf([179.98, -179.98]), { west: 179.98, east: 180.02 });
  t.same(spanOf([-10, 20, 5]), { west: -10, east: 20 });
  t.same(spanOf([170, -170, 100]), { west: 100, east: 190 });
  t.same(spanOf([7]), { west: 7, east: 7 });
  t.equal(spanOf([]), null);
  const trail = newTrail();
  for (const lng of [179.9, 179.99, -179.99, -179.9]) extend(trail, lng, 0, AT_MS);
  const [line = []] = linesOf(trail);
  t.ok(
    line.every(([lng], at) => at === 0 || Math.abs(lng - (line[at - 1]?.[0] ?? lng)) < 1),
    'a trail goes straight on',
  );
});

t.test('the Caspian Sea is a hole in its land, and no outline is a world away', async (t) => {
  const land = readLand(JSON.parse(readFileSync('src/console/map/base/land.json', 'utf8')));
  const spans = land.geometry.coordinates.map((rings) =>
    rings.map(
      (ring) => [Math.min(...ring.map(([lng]) => lng)), Math.max(...ring.map(([lng]) => lng))] as const,
    ),
  );
  const eurasia = spans.find((rings) => rings.some(([west, east], at) => at > 0 && west > 46 && east < 55));
  t.ok(
    eurasia !== undefined && (eurasia[0]?.[0] ?? 360) < 46 && (eurasia[0]?.[1] ?? 0) > 55,
    'around the hole',
  );
  for (const [[west, east] = [0, 0]] of spans) t.ok(west >= -190 && east <= 200, `${west} to ${east}`);
});
