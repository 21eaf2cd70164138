// What the user watches: asked for on every connection, listed in parts, moved, and gone.
import t from 'tap';
import type { Positions } from '../../src/client/watching/watching.js';
import type { ServerMessageOf, WatchedDevice } from '../../src/protocol/types.js';
import { ALPHA, BRAVO, emergency, fakeWorld, idOf, nameOf, turn } from '../helpers/client/fakes.js';

const [alpha, bravo] = [ALPHA.talkgroup_id, BRAVO.talkgroup_id];
const AT = '2026-01-01T00:00:00.000Z';

const device = (n: number, more: Partial<WatchedDevice> = {}): WatchedDevice => ({
  ...{ n, device_id: idOf(`d-${n}`), name: `device ${n}` },
  ...more,
});
const somewhere = { lat: 1, lng: 2, alt: 3, updated_at: AT };

function setUp() {
  const world = fakeWorld();
  const { clock, radio, socket } = world;
  socket().welcomes({ talkgroups: [ALPHA, BRAVO] });
  const told: string[] = [];
  const namesOf = ({ moved, gone }: Positions) => [
    ...moved.map(({ deviceId, lat }) => `${nameOf(deviceId)} ${lat}`),
    ...gone.map((id) => `${nameOf(id)} gone`),
  ];
  radio.on('positions', (positions) => told.push(namesOf(positions).join(', ')));
  const asked = () => socket().texts.filter(({ type }) => type === 'WATCH');
  const ref = () => socket().texts.at(-1)?.ref as number;
  const lists = (over: Partial<ServerMessageOf<'WATCHING'>> = {}) =>
    socket().says({
      ...{ type: 'WATCHING', devices: [], total: over.devices?.length ?? 0, part: 1, parts: 1 },
      ...over,
    });
  const moves = (over: Partial<ServerMessageOf<'POSITIONS'>>) =>
    socket().says({ type: 'POSITIONS', server_time: Date.parse(AT) + 5000, fixes: [], ...over });
  const refuses = (code: 'not_member' | 'unavailable') =>
    socket().says({ type: 'ERROR', ref: ref(), code, message: '' });
  const returns = (resumed: boolean) => {
    socket().closes(1006);
    clock.pass(0);
    socket().welcomes({ resumed, talkgroups: [ALPHA, BRAVO] });
  };
  const watches = async (...devices: WatchedDevice[]) => {
    const done = radio.watch({ talkgroupIds: [alpha, bravo], intervalMs: 5000 });
    lists({ ref: ref(), devices });
    await done;
  };
  return { ...world, told, asked, ref, lists, moves, refuses, returns, watches };
}

t.test('a watch is asked for as it was chosen, and resolves with the first part of the list', async (t) => {
  const { radio, asked, ref, lists, told } = setUp();
  const done = radio.watch({ deviceIds: [idOf('d-1'), idOf('d-2')] });
  t.match(asked(), [{ type: 'WATCH', device_ids: [idOf('d-1'), idOf('d-2')] }]);
  t.notOk('interval_ms' in (asked()[0] ?? {}));
  const one = device(1, { ...somewhere, user_id: idOf('u'), username: 'ann', speed: 4 });
  lists({ ref: ref(), devices: [one], total: 2, parts: 2 });
  await done;
  lists({ ref: ref(), devices: [device(2)], total: 2, part: 2, parts: 2 });
  t.strictSame(told, ['d-1 1', 'd-2 null']);
  t.strictSame(radio.devices.get(idOf('d-1')), {
    ...{ deviceId: idOf('d-1'), name: 'device 1', userId: idOf('u'), username: 'ann' },
    ...{ lat: 1, lng: 2, speed: 4, course: null, atMs: Date.parse(AT) },
  });
});

t.test('positions move what was listed, and say when it was there by the clock of the server', async (t) => {
  const { radio, watches, moves, told } = setUp();
  await watches(device(1, somewhere), device(2));
  moves({
    talkgroup_id: alpha,
    fixes: [
      [2, 5, 6, 1000, null, 90],
      [77, 1, 1, 0, null, null],
    ],
  });
  t.match(radio.devices.get(idOf('d-2')), {
    lat: 5,
    lng: 6,
    speed: null,
    course: 90,
    atMs: Date.parse(AT) + 4000,
  });
  t.equal(told.at(-1), 'd-2 5', 'a number that was not listed is ignored');
});

t.test('devices come and go, and one that left a talkgroup may be seen in another', async (t) => {
  const { radio, watches, lists, moves, told } = setUp();
  await watches(device(1, somewhere));
  lists({ talkgroup_id: alpha, devices: [device(2)], total: 2 });
  t.equal(radio.devices.size, 2, 'news do not replace the list');
  moves({ talkgroup_id: alpha, gone: [1, 1] });
  t.equal(told.at(-1), 'd-1 gone');
  t.strictSame([...radio.devices.keys()].map(nameOf), ['d-2']);
  moves({ talkgroup_id: bravo, fixes: [[1, 9, 9, 0, null, null]] });
  t.match(radio.devices.get(idOf('d-1')), { name: 'device 1', lat: 9 });
  lists({ devices: [device(3)], parts: 2 });
  t.equal(radio.devices.size, 3, 'half a list ends nothing');
  lists({ devices: [device(1, somewhere)], part: 2, parts: 2 });
  t.equal(told.at(-1), 'd-1 1, d-2 gone');
});

t.test('every connection begins with the choice, also one that resumes', async (t) => {
  const { radio, watches, asked, returns, lists, ref, moves } = setUp();
  await watches(device(1, somewhere));
  for (const resumed of [true, false]) {
    returns(resumed);
    t.match(asked(), [{ talkgroup_ids: [alpha, bravo], interval_ms: 5000 }]);
    t.equal(radio.devices.size, 1, 'the last known ones stay');
    moves({ fixes: [[1, 8, 8, 0, null, null]] });
    t.match(radio.devices.get(idOf('d-1')), { lat: 1 }, 'numbers are those of one connection');
    lists({ ref: ref(), devices: [device(7, { ...somewhere, device_id: idOf('d-1') })] });
  }
});

t.test('a refusal for now is asked again, and a final one ends the watch', async (t) => {
  const { radio, clock, watches, asked, returns, refuses, told } = setUp();
  await watches(device(1, somewhere));
  returns(true);
  refuses('unavailable');
  await turn();
  clock.pass(1000);
  t.equal(asked().length, 2);
  refuses('not_member');
  await turn();
  t.equal(told.at(-1), 'd-1 gone');
  t.equal(radio.devices.size, 0);
  returns(true);
  t.equal(asked().length, 0);
});

t.test('a watch that is refused leaves the one before as it was', async (t) => {
  const { radio, watches, refuses, returns, asked } = setUp();
  await watches(device(1, somewhere));
  const other = radio.watch({ deviceIds: [idOf('d-9')] });
  refuses('unavailable');
  await t.rejects(other, { code: 'unavailable' });
  t.equal(radio.devices.size, 1);
  returns(true);
  t.match(asked(), [{ talkgroup_ids: [alpha, bravo] }]);
});

t.test('unwatch forgets all, and so does leaving the last talkgroup', async (t) => {
  const { radio, socket, watches, asked, ref, returns, moves, told } = setUp();
  await watches(device(1, somewhere));
  const done = radio.unwatch();
  t.match(socket().texts.at(-1), { type: 'UNWATCH' });
  socket().says({ type: 'OK', ref: ref() });
  await done;
  t.equal(told.at(-1), 'd-1 gone');
  const count = told.length;
  moves({ fixes: [[1, 8, 8, 0, null, null]] });
  t.equal(told.length, count, 'what was on its way is ignored');
  await watches(device(1, somewhere));
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: alpha, reason: 'left' });
  t.equal(radio.devices.size, 1);
  returns(true);
  t.match(asked(), [{ talkgroup_ids: [bravo] }]);
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: bravo, reason: 'deleted' });
  t.equal(radio.devices.size, 0);
});

t.test('without a connection a watch waits for the next one', async (t) => {
  const { radio, clock, socket, asked } = setUp();
  socket().closes(1006);
  await t.rejects(radio.watch({ talkgroupIds: [alpha] }), { code: 'disconnected' });
  clock.pass(0);
  socket().welcomes({});
  t.match(asked(), [{ talkgroup_ids: [alpha] }]);
});

t.test('an open emergency moves, by its own message and by a snapshot, until it is cleared', async (t) => {
  const { radio, socket } = setUp();
  const moved: unknown[] = [];
  radio.on('emergency_position', ({ emergency, position }) =>
    moved.push([nameOf(emergency.emergency_id), position.lat]),
  );
  const one = emergency();
  const position = { device_id: idOf('d-1'), ...somewhere };
  const tell = (lat: number, updated_at = AT) =>
    socket().says({
      ...{ type: 'EMERGENCY_POSITION', emergency_id: one.emergency_id, talkgroup_id: alpha },
      ...{ user_id: one.user_id, ...position, lat, updated_at },
    });
  tell(1);
  t.strictSame(moved, [], 'an emergency that is not known');
  socket().says({ type: 'EMERGENCY', event: 1, ...one });
  tell(4);
  t.match(radio.emergencies.get(one.emergency_id), { state: 'raised', position: { lat: 4 } });
  socket().says({ type: 'EMERGENCY', event: 2, ...one, state: 'acknowledged' });
  t.match(radio.emergencies.get(one.emergency_id), { state: 'acknowledged', position: { lat: 4 } });
  const later = '2026-01-01T00:00:02.000Z';
  const shown = {
    ...one,
    state: 'acknowledged' as const,
    position: { ...position, lat: 5, updated_at: later },
  };
  for (let twice = 0; twice < 2; twice++)
    socket().says({ type: 'SYNCED', ...ALPHA, event: 2, emergencies: [shown], emergencies_total: 1 });
  t.strictSame(moved, [
    ['em-1', 4],
    ['em-1', 5],
  ]);
  socket().says({ type: 'EMERGENCY', event: 3, ...one, state: 'cleared' });
  tell(6);
  t.equal(moved.length, 2);
});
