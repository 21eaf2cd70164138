// POSITIONS as they are made: what fits, what waits, and that every device has its turn.
import fc from 'fast-check';
import t from 'tap';
import type { DeviceRow } from '../../src/directory/records.js';
import type { DeviceId, TalkgroupId } from '../../src/ids.js';
import type { LatestFix } from '../../src/protocol/fix.js';
import type { ServerMessageOf } from '../../src/protocol/types.js';
import { createDevices } from '../../src/relay/positions/devices.js';
import { List } from '../../src/relay/positions/list.js';
import { MESSAGE_BYTES_MAX, partsOf, watchingText } from '../../src/relay/positions/messages.js';
import { Round } from '../../src/relay/positions/round.js';
import { faultIn } from '../helpers/relay/heard-message.js';

const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` as DeviceId;
const rowOf = (index: number, more: Partial<DeviceRow> = {}): DeviceRow => ({
  ...{ id: idOf(index), name: `device ${index}`, user: null, fix: null },
  ...more,
});
const fixOf = (index: number, atMs: number, lat = 1): LatestFix => ({
  ...{ deviceId: idOf(index), lat, lng: -123.456789, alt: 0, atMs },
  ...{ speed: 13.888888, course: 359.99, accuracy: null, battery: null },
});

function setUp(count: number, intervalMs: 1000 | 2000 = 1000) {
  const devices = createDevices(Date.now);
  const list = new List(devices);
  list.show({ devices: Array.from({ length: count }, (_, index) => rowOf(index)), total: count });
  const published: { atMs: number; message: ServerMessageOf<'POSITIONS'>; bytes: number }[] = [];
  const counts = { published: 0 };
  let nowMs = 0;
  let subscribers = 1;
  const round = new Round({
    publisher: {
      publish(_topic, text) {
        const message = JSON.parse(text as string) as ServerMessageOf<'POSITIONS'>;
        const fault = faultIn(message);
        if (fault !== null) throw new Error(fault);
        published.push({ atMs: nowMs, message, bytes: Buffer.byteLength(text as string) });
        return true;
      },
      numSubscribers: () => subscribers,
    },
    counts,
    ...{
      talkgroup: { id: idOf(0) as string as TalkgroupId, number: 9 },
      intervalMs,
      nowMs,
      unixMs: Date.now,
    },
  });
  list.follow(round);
  return {
    ...{ devices, list, round, published, counts },
    leave: () => {
      subscribers = 0;
    },
    pass(ms: number): void {
      for (const endMs = nowMs + ms; nowMs < endMs; ) {
        nowMs += 50;
        if (round.isDue(nowMs)) round.publish(nowMs);
      }
    },
  };
}

t.test('an interval has one message with the latest position of each device that moved', async (t) => {
  const { devices, pass, published } = setUp(3);
  const now = Date.now();
  devices.located(fixOf(0, now - 3000, 1));
  devices.located(fixOf(1, now - 2000, 2));
  devices.located(fixOf(0, now - 1000, 3));
  devices.located(fixOf(0, now - 2500, 4));
  devices.located(fixOf(77, now));
  pass(950);
  t.equal(published.length, 0);
  pass(50);
  t.equal(published.length, 1);
  const [first] = published;
  const rows = first?.message.fixes ?? [];
  t.strictSame(
    rows.map(([n, lat, lng, , speed, course]) => [n, lat, lng, speed, course]),
    [
      [1, 3, -123.456789, 13.9, 0],
      [2, 2, -123.456789, 13.9, 0],
    ],
    'the older one changes nothing',
  );
  t.ok(Math.abs((rows[0]?.[3] ?? 0) - 1000) < 500, 'the age of the latest');
  pass(5000);
  t.equal(published.length, 1, 'nothing moves, nothing is said');
});

t.test('what does not fit into 16 KiB waits 250 ms, and each device comes once per interval', async (t) => {
  const count = 2000;
  const { devices, pass, published } = setUp(count, 2000);
  for (let index = 0; index < count; index++) devices.located(fixOf(index, Date.now()));
  pass(2000);
  t.equal(published.length, 1);
  pass(1950);
  const all = published.flatMap(({ message }) => message.fixes.map(([n]) => n));
  t.equal(new Set(all).size, count);
  t.equal(all.length, count);
  t.ok(published.length > 3);
  for (const { bytes } of published) t.ok(bytes <= MESSAGE_BYTES_MAX, `${bytes}`);
  const gaps = published.slice(1).map(({ atMs }, index) => atMs - (published[index]?.atMs ?? 0));
  t.ok(
    gaps.every((gap) => gap >= 250),
    `${gaps}`,
  );
});

t.test('with more than can be sent, no device waits longer than all take once', async (t) => {
  const count = 4000;
  const { devices, pass, published } = setUp(count);
  let atMs = Date.now();
  for (let second = 0; second < 12; second++) {
    atMs += 1000;
    for (let index = 0; index < count; index++) devices.located(fixOf(index, atMs));
    pass(1000);
  }
  const times = new Map<number, number[]>();
  for (const { atMs, message } of published)
    for (const [n] of message.fixes) times.set(n, [...(times.get(n) ?? [0]), atMs]);
  t.equal(times.size, count);
  const rows = Math.min(...published.slice(0, -1).map(({ message }) => message.fixes.length));
  const roundMs = Math.ceil(count / rows) * 250;
  const waits = [...times.values()].flatMap((all) => all.slice(1).map((ms, index) => ms - (all[index] ?? 0)));
  // A change waits for the end of its interval, and then for those that changed before.
  t.ok(Math.max(...waits) <= roundMs + 2 * 1000, `${Math.max(...waits)} ms, all take ${roundMs} ms`);
});

t.test('nothing is made without a watch, and what was gone is told within 16 KiB', async (t) => {
  const { devices, list, round, pass, published, counts, leave } = setUp(5000);
  const { gone } = list.show({ devices: [rowOf(0)], total: 1 });
  t.equal(gone.length, 4999);
  devices.located(fixOf(2, Date.now()));
  round.left(gone);
  devices.located(fixOf(0, Date.now()));
  devices.located(fixOf(1, Date.now()));
  pass(3000);
  t.strictSame(published.flatMap(({ message }) => message.gone ?? []).sort(), gone.map(({ n }) => n).sort());
  t.strictSame(
    published.flatMap(({ message }) => message.fixes.map(([n]) => n)),
    [1],
  );
  for (const { bytes } of published) t.ok(bytes <= MESSAGE_BYTES_MAX, `${bytes}`);
  const made = counts.published;
  leave();
  devices.located(fixOf(0, Date.now() + 1));
  pass(3000);
  t.equal(counts.published, made);
});

t.test('the parts of a list have all devices, each at most 16 KiB whatever the names are', async (t) => {
  const name = fc.string({ unit: 'grapheme', maxLength: 64 });
  const number = fc.double({ min: -1e-300, max: 1e5, noNaN: true });
  const row = fc.record({ name, username: name, number });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 120 }), (rows) => {
      const devices = createDevices(Date.now);
      const held = rows.map(({ name, username, number }, index) => {
        const user = { id: idOf(index) as string as never, username };
        const device = devices.hold(rowOf(index, { name, user }));
        device.fix = {
          ...fixOf(index, Date.now(), number),
          ...{ lng: number, alt: number, speed: number, course: number, accuracy: number, battery: number },
        };
        return device;
      });
      const parts = partsOf(held);
      const all = parts.flatMap((part, index) => {
        const told = { devices: part, total: held.length, part: index + 1, parts: parts.length };
        const text = watchingText(told);
        if (Buffer.byteLength(text) > MESSAGE_BYTES_MAX) t.fail(`${Buffer.byteLength(text)} bytes`);
        return (JSON.parse(text) as ServerMessageOf<'WATCHING'>).devices;
      });
      t.strictSame(
        all.map(({ device_id }) => device_id),
        held.map(({ id }) => id),
      );
    }),
    { numRuns: 50 },
  );
});
