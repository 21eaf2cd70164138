// What the map of the console computes without a browser: graticule, scale, the card and its place.
import { signal } from '@preact/signals';
import t from 'tap';
import {
  graticuleIn,
  latitudeText,
  linesIn,
  longitudeText,
  stepOf,
} from '../../src/console/map/base/graticule.js';
import { degreePx, scaleBar } from '../../src/console/map/base/scale.js';
import { ageWords, batteryText, courseText, speedText } from '../../src/console/map/card/fields.js';
import { keepCard, placeCard } from '../../src/console/map/card/placement.js';
import { subjectOf } from '../../src/console/map/card/subject.js';
import { createChoices } from '../../src/console/map/choices.js';
import { trailFeatures } from '../../src/console/map/features.js';
import { createFleet } from '../../src/console/map/fleet/fleet.js';
import { createMemberships } from '../../src/console/map/fleet/memberships.js';
import { talkersOn } from '../../src/console/map/fleet/talkers.js';
import { extend } from '../../src/console/map/fleet/trail.js';
import { createMarkers } from '../../src/console/map/markers.js';

const AT = '2026-01-01T08:30:00.000Z';
const AT_MS = Date.parse(AT);

t.test('the graticule goes from 90 degrees to 1 minute, with lines at least 90 px apart', async (t) => {
  let last = Number.POSITIVE_INFINITY;
  for (let zoom = 0; zoom <= 22; zoom += 0.5) {
    const step = stepOf(zoom);
    t.ok(step <= last, 'a closer map has no wider lines');
    t.ok((step / 60) * degreePx(zoom) >= 90, `${step} minutes at zoom ${zoom}`);
    last = step;
  }
  t.equal(stepOf(0), 5400, 'lines of 10 degrees would have one coordinate above the other');
  t.equal(stepOf(22), 1);
  t.equal(stepOf(8.3), 15, 'as in a view of one degree');
});

t.test(
  'the lines of a view are those in it, also across the date line and up to the edge of the map',
  async (t) => {
    t.strictSame(graticuleIn({ west: 10.9, south: 53.99, east: 11.51, north: 54.3 }, 15), {
      meridians: [11, 11.25, 11.5],
      parallels: [54, 54.25],
    });
    t.strictSame(
      graticuleIn({ west: 175, south: -90, east: 195, north: -81 }, 300).meridians,
      [175, 180, 185, 190, 195],
    );
    t.strictSame(graticuleIn({ west: 0, south: -90, east: 1, north: 90 }, 600).parallels.at(-1), 80);
    const { coordinates } = linesIn({ west: 0, south: 0, east: 1, north: 1 }, 30).geometry;
    t.equal(coordinates.length, 6);
    t.strictSame(coordinates[0], [
      [0, 0],
      [0, 1],
    ]);
  },
);

t.test('coordinates of the graticule have as many digits as the step needs', async (t) => {
  t.equal(latitudeText(54.25, 15), '54.25° N');
  t.equal(latitudeText(-5, 300), '5° S');
  t.equal(latitudeText(0, 600), '0°');
  t.equal(latitudeText(54 + 5 / 60, 5), '54° 05′ N');
  t.equal(longitudeText(11.5, 30), '11.50° E');
  t.equal(longitudeText(-0.25, 15), '0.25° W');
  t.equal(longitudeText(190, 600), '170° W', 'the next copy of the world');
  t.equal(longitudeText(180, 600), '180°');
});

t.test('the scale bar is 1, 2 or 5 times a power of ten, and as long as its number says', async (t) => {
  for (let zoom = 0; zoom <= 22; zoom += 0.25) {
    const { metres, pixels } = scaleBar({ zoom, lat: 54, maxPx: 140 });
    t.ok(pixels <= 140 && pixels > 140 / 2.6, `${pixels} px at zoom ${zoom}`);
    t.match(metres.toExponential(0), /^[125]e/);
  }
  // At the equator and zoom 0 a tile of 512 px is the whole of it.
  const { metres, pixels } = scaleBar({ zoom: 0, lat: 0, maxPx: 512 });
  t.equal(metres, 20_000_000);
  t.ok(Math.abs(pixels - (512 * 20_000_000) / 40_075_016.686) < 1e-6);
});

const room = { x: 248, y: 0, width: 678, height: 640 };
const card = { width: 308, height: 236 };

t.test('a card is on the side with more room, inside of the view, and never over its marker', async (t) => {
  t.match(placeCard({ room, card, marker: { x: 300, y: 300 } }), { x: 384, y: 284 });
  t.match(placeCard({ room, card, marker: { x: 900, y: 10 } }), { x: 900 - 84 - 308, y: 8 });
  const phone = { x: 0, y: 0, width: 336, height: 640 };
  t.match(placeCard({ room: phone, card, marker: { x: 30, y: 100 } }), { x: 8, y: 144 }, 'below');
  t.match(placeCard({ room: phone, card, marker: { x: 30, y: 500 } }), { y: 500 - 44 - 236 }, 'above');
  for (let x = room.x; x <= room.x + room.width; x += 7)
    for (let y = 0; y <= room.height; y += 7) {
      const at = placeCard({ room, card, marker: { x, y } });
      const isOver = x > at.x && x < at.x + card.width && y > at.y && y < at.y + card.height;
      if (isOver) t.fail(`over the marker at ${x}, ${y}`);
    }
});

t.test('a card keeps its place while its marker moves, until the marker comes under it', async (t) => {
  const first = keepCard(null, { room, card, marker: { x: 300, y: 300 } });
  t.equal(keepCard(first, { room, card, marker: { x: 340, y: 320 } }), first);
  const next = keepCard(first, { room, card, marker: { x: 400, y: 300 } });
  t.not(next.x, first.x);
  const lower = { ...room, height: 250 };
  t.ok(keepCard(first, { room: lower, card, marker: { x: 300, y: 100 } }).y + card.height <= 250);
});

t.test('what a device does not report is a dash', async (t) => {
  t.equal(speedText(null), '–');
  t.equal(speedText(3.9), '14 km/h');
  t.equal(courseText(null), '–');
  t.equal(courseText(97.2), '97° E');
  t.equal(courseText(359.7), '0° N');
  const report = { speed: null, course: null, accuracy: null, fixedAtMs: AT_MS };
  t.equal(batteryText({ ...report, battery: null, batteryAtMs: 0 }, AT_MS), '–');
  t.equal(batteryText({ ...report, battery: 38.4, batteryAtMs: AT_MS }, AT_MS + 5000), '38 %');
  t.equal(
    batteryText({ ...report, battery: 38, batteryAtMs: AT_MS - 60_000 }, AT_MS + 60_000),
    '38 %, 2 min',
    'older than the place',
  );
  t.equal(ageWords(AT_MS, AT_MS + 1000), '1 s, live');
  t.equal(ageWords(Number.NEGATIVE_INFINITY, AT_MS), '–');
});

function fleetOf(fields: object = {}) {
  const fleet = createFleet();
  const device = { n: 1, device_id: 'd', name: 'SN-1', user_id: 'u', username: 'ann', lat: 54, lng: 11 };
  fleet.watching({
    ...{ type: 'WATCHING', total: 1, part: 1, parts: 1 },
    devices: [{ ...device, updated_at: AT, battery: 40, ...fields }],
  });
  return fleet;
}

const mark = {
  ...{ id: 'e', userId: 'u', username: 'ann', talkgroupId: 't', isAcknowledged: false },
  ...{ lat: 55, lng: 12, atMs: AT_MS + 1000 },
};

t.test('POSITIONS keeps the battery of before, and EMERGENCY_POSITION has a newer one', async (t) => {
  const fleet = fleetOf({ accuracy: 4 });
  const device = fleet.devices.get('d');
  fleet.positions({ type: 'POSITIONS', server_time: AT_MS + 5000, fixes: [[1, 54, 11, 0, 3, 90]] }, true);
  t.match(device, { battery: 40, batteryAtMs: AT_MS, fixedAtMs: AT_MS + 5000, accuracy: null });
  fleet.emergency({
    ...{ type: 'EMERGENCY_POSITION', emergency_id: 'e', talkgroup_id: 't', user_id: 'u', device_id: 'd' },
    ...{ lat: 54, lng: 11, updated_at: new Date(AT_MS + 6000).toISOString(), battery: 39, speed: 2 },
  });
  t.match(device, { battery: 39, batteryAtMs: AT_MS + 6000, speed: 2, course: null });
});

t.test('a card is about a device or an emergency, at the newer place of both', async (t) => {
  const fleet = fleetOf();
  t.match(subjectOf({ device: 'd' }, fleet, []), { username: 'ann', lat: 54, battery: 40, mark: null });
  t.match(subjectOf({ device: 'd' }, fleet, [mark]), {
    lat: 55,
    battery: 40,
    mark: { id: 'e' },
    speed: null,
  });
  t.match(subjectOf({ emergency: 'e' }, fleet, [mark]), { device: 'd' });
  t.match(subjectOf({ emergency: 'e' }, fleet, [{ ...mark, userId: 'other' }]), { device: null, lat: 55 });
  t.equal(subjectOf({ emergency: 'e' }, fleet, []), null, 'it is over');
  t.equal(subjectOf({ device: 'unknown' }, fleet, []), null);
});

t.test('talkers are where their newest device is, or their emergency, and devices do not talk', async (t) => {
  const fleet = fleetOf();
  t.strictSame(talkersOn(new Set(['bob']), fleet.devices.values(), []), []);
  t.match(talkersOn(new Set(['ann']), fleet.devices.values(), []), [{ lat: 54, isAlarm: false }]);
  t.match(talkersOn(new Set(['ann']), fleet.devices.values(), [mark]), [{ lat: 55, isAlarm: true }]);
  const unused = createFleet();
  unused.watching({
    ...{ type: 'WATCHING', total: 1, part: 1, parts: 1 },
    devices: [{ n: 1, device_id: 'd', name: 'ann', lat: 1, lng: 1, updated_at: AT }],
  });
  t.strictSame(
    talkersOn(new Set(['ann']), unused.devices.values(), []),
    [],
    'a device with the name of a user',
  );
});

t.test('a course is shown above 2 km/h, in steps of 15 degrees', async (t) => {
  const courseAt = (fields: object) =>
    createMarkers().diff(fleetOf(fields).devices, {
      ...{ nowMs: AT_MS, stepDegrees: 1, bounds: [-180, -90, 180, 90] },
    }).add[0]?.properties.course;
  t.equal(courseAt({ speed: 2, course: 97 }), 90);
  t.equal(courseAt({ speed: 2, course: 355 }), 0);
  t.equal(courseAt({ speed: 0.5, course: 97 }), -1, 'it rests');
  t.equal(courseAt({ speed: 2 }), -1);
  t.equal(courseAt({ course: 97 }), -1, 'nobody knows whether it moves');
});

t.test('the trail of an emergency has its points of the last 10 minutes', async (t) => {
  const device = fleetOf().devices.get('d');
  t.ok(device);
  if (device === undefined) return;
  for (const minutes of [1, 2, 14, 15]) extend(device.trail, 11 + minutes, 54, AT_MS + minutes * 60_000);
  const nowMs = AT_MS + 16 * 60_000;
  const [line, points] = trailFeatures({ device, isAlarm: true }, nowMs);
  t.strictSame(points?.geometry.coordinates, [
    [25, 54],
    [26, 54],
  ]);
  t.match(line?.properties.colour, '#c2131f');
  t.equal(trailFeatures({ device, isAlarm: false }, nowMs).length, 1);
});

t.test(
  'members of several talkgroups are read one after the other, and one talkgroup needs no reading',
  async (t) => {
    const chosen = signal<ReadonlySet<string>>(new Set(['a']));
    const asked: string[] = [];
    const memberships = createMemberships(chosen, async (id) => {
      asked.push(id);
      if (id === 'b') throw new Error('no answer');
      return ['u'];
    });
    memberships.read();
    t.strictSame(memberships.of('anyone'), ['a']);
    t.strictSame(asked, []);
    chosen.value = new Set(['a', 'b', 'c']);
    memberships.read();
    await new Promise((resolve) => setImmediate(resolve));
    t.strictSame(asked, ['a', 'b', 'c']);
    t.strictSame(memberships.of('u'), ['a', 'c']);
    t.strictSame(memberships.of('v'), []);
    const devices = [{ n: 1, device_id: 'd', name: 'd', user_id: 'v' }];
    memberships.watching({ type: 'WATCHING', talkgroup_id: 'c', devices, total: 1, part: 1, parts: 1 });
    t.strictSame(memberships.of('v'), ['c'], 'came to one later');
    memberships.read();
    t.strictSame(asked, ['a', 'b', 'c', 'b'], 'what failed is read again');
  },
);

t.test('the browser remembers whether the drawer is open', async (t) => {
  const stored = new Map<string, string>();
  const shelf = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, text: string) => void stored.set(key, text),
  };
  const { isDrawerOpen } = createChoices(shelf);
  t.equal(isDrawerOpen.value, null, 'as the window suggests');
  t.equal(stored.size, 0);
  isDrawerOpen.value = false;
  t.equal(createChoices(shelf).isDrawerOpen.value, false);
});
