// Devices and positions by REST.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { deadlineIn } from '../../src/db/deadline.js';
import { storeFixes } from '../../src/gps/store.js';
import type { DeviceId } from '../../src/ids.js';
import { service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f-]{36}$/;

t.test('an admin sees every device with the fields of the seed and no others', async (t) => {
  const s = await service(t);
  await s.account({ serial: 'radio-2' });
  const { body } = await s.admin.get('/devices');
  t.strictSame(Object.keys(body as object), ['devices']);
  const { devices } = body as { devices: Record<string, unknown>[] };
  t.equal(devices.length, 2);
  for (const device of devices) {
    t.strictSame(Object.keys(device).sort(), ['active', 'created_at', 'id', 'name', 'serial', 'site']);
  }
  const first = { id: s.radio.deviceId, name: 'radio-1', site: 'north', serial: 'radio-1' };
  t.match(devices[0], { ...first, active: true, created_at: ISO });
});

t.test('GET /me is the caller as the token says and the linked device, or null', async (t) => {
  const s = await service(t);
  const { userId: id, username } = s.radio;
  const { body } = await s.admin.get('/devices');
  const [device] = (body as { devices: object[] }).devices;
  t.strictSame((await s.radio.get('/me')).body, {
    user: { id, username, role: 'user', dispatcher: false },
    device,
  });
  const alone = await s.account({ role: 'admin' });
  const user = { id: alone.userId, username: alone.username, role: 'admin', dispatcher: false };
  t.strictSame((await alone.get('/me')).body, { user, device: null });
  await s.sql((sql) => sql`update users set role = 'user' where id = ${alone.userId}`);
  t.match((await alone.get('/me')).body, { user: { role: 'admin' } }, 'as every route applies it');
  t.equal((await s.nobody.get('/me')).status, 401);
  t.equal((await s.radio.post('/me')).status, 405);
});

t.test('a device is what its status was set to last, and setting it twice is no error', async (t) => {
  const s = await service(t);
  const status = async (active: unknown) => s.admin.patch(`/devices/${s.radio.deviceId}/status`, { active });
  const isActive = async () => {
    const { body } = await s.admin.get('/devices');
    return (body as { devices: { active: boolean }[] }).devices[0]?.active;
  };
  const told = () => s.notices.filter(({ kind }) => kind === 'device_changed').length;
  for (const [active, notices] of [
    [false, 1],
    [false, 1],
    [true, 2],
    [true, 2],
  ] as const) {
    t.strictSame((await status(active)).body, { ok: true });
    t.equal(await isActive(), active);
    t.equal(told(), notices, 'a change that changes nothing costs nobody audio');
  }
  // Nothing that merely looks false may take a radio off the air.
  for (const odd of [null, 0, '', 'false', [], {}, undefined]) {
    t.equal((await status(odd)).status, 400, JSON.stringify(odd));
    t.equal(await isActive(), true);
  }
  t.match(await s.admin.patch(`/devices/${randomUUID()}/status`, { active: true }), {
    status: 404,
    body: { error: 'device not found' },
  });
});

t.test('an admin changes the name and the site of a device, and nothing else of it', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}`;
  const read = async () => ((await s.admin.get('/devices')).body as { devices: object[] }).devices[0];
  let device = await read();
  for (const change of [
    {},
    { name: 'Engine 4' },
    { site: 'south' },
    { name: 'Engine 5', site: 'west' },
    { serial: 'x', active: false, id: randomUUID(), created_at: 0 },
    { name: null, site: null },
  ]) {
    const kept = Object.entries(change).filter(
      ([field, text]) => /^(name|site)$/.test(field) && text !== null,
    );
    device = { ...device, ...Object.fromEntries(kept) };
    const { status, body } = await s.admin.patch(path, change);
    t.strictSame({ status, body }, { status: 200, body: { device } }, JSON.stringify(change));
    t.strictSame(await read(), device);
  }
  t.equal((await s.radio.patch(path, { name: 'mine' })).status, 403);
  for (const unknown of [randomUUID(), 'x']) {
    const answer = await s.admin.patch(`/devices/${unknown}`, { name: 'x' });
    t.match(answer, { status: 404, body: { error: 'device not found' } });
  }
  t.strictSame(s.notices, [], 'live sockets show neither');
});

t.test('a membership keeps the site of its join when the device moves', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  await s.admin.patch(`/devices/${s.radio.deviceId}`, { site: 'south' });
  t.match((await s.radio.get(`/talkgroups/${id}/members`)).body, { members: [{ site: 'north' }] });
});

t.test('the latest fix replaces the one before, of any reporter', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  t.equal((await s.radio.get(path)).status, 404, 'none recorded yet');

  t.strictSame((await s.radio.post(path, { lat: 52.52, lng: 13.405, alt: 34.5 })).body, { ok: true });
  const first = (await s.admin.get(path)).body as { gps: Record<string, unknown> };
  t.strictSame(Object.keys(first), ['gps']);
  t.strictSame(Object.keys(first.gps).sort(), ['alt', 'device_id', 'id', 'lat', 'lng', 'updated_at']);
  t.match(first.gps, { id: UUID, device_id: s.radio.deviceId, updated_at: ISO });
  t.match(first.gps, { lat: 52.52, lng: 13.405, alt: 34.5 });

  t.equal((await s.admin.post(path, { lat: -90, lng: 180, alt: -12_000 })).status, 200);
  const second = (await s.radio.get(path)).body as { gps: Record<string, unknown> };
  t.match(second.gps, { lat: -90, lng: 180, alt: -12_000 });
  t.not(second.gps.id, first.gps.id);
  t.ok(String(second.gps.updated_at) >= String(first.gps.updated_at));
  t.equal((await s.sql((sql) => sql`select * from gps_fixes`)).length, 1);
});

t.test('a position must be on this planet and made of numbers', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  const report = async (json: string) => {
    const headers = { 'content-type': 'application/json' };
    return (await s.radio.send('POST', path, { headers, body: json })).status;
  };
  const cases: [field: 'lat' | 'lng' | 'alt', json: string, status: number][] = [
    ['lat', '90', 200],
    ['lat', '90.0000001', 400],
    ['lat', '-91', 400],
    ['lat', '-0', 200],
    ['lng', '-180', 200],
    ['lng', '181', 400],
    ['alt', '100000', 200],
    ['alt', '100000.5', 400],
    ['alt', '-12000.5', 400],
    ['alt', '5e-324', 200],
    ...(['lat', 'lng', 'alt'] as const).flatMap((field) =>
      ['1e999', '-1e999', '"12"', 'null', 'true', '[]', '{}', '""'].map(
        (json): [typeof field, string, number] => [field, json, 400],
      ),
    ),
  ];
  for (const [field, json, status] of cases) {
    const fix = { lat: '1', lng: '2', alt: '3' };
    fix[field] = json;
    const { lat, lng, alt } = fix;
    t.equal(await report(`{"lat":${lat},"lng":${lng},"alt":${alt}}`), status, `${field} ${json}`);
  }
  t.match((await s.radio.get(path)).body, { gps: { lat: 1, lng: 2, alt: 5e-324 } });
});

t.test('a fix of an unknown device is refused and stored nowhere', async (t) => {
  const s = await service(t);
  const fix = { lat: 1, lng: 2, alt: 3 };
  const unknown = randomUUID() as DeviceId;
  t.match(await s.radio.post(`/devices/${unknown}/gps`, fix), {
    status: 404,
    body: { error: 'device not found' },
  });
  t.equal((await s.radio.get(`/devices/${unknown}/gps`)).status, 404);
  t.strictSame(
    [
      ...(await storeFixes(s.database, deadlineIn(1000), {
        fixes: [{ deviceId: unknown, ...fix }],
        aheadMsMax: 60_000,
      })),
    ],
    [],
  );
  t.strictSame(await s.sql((sql) => sql`select * from gps_fixes`), []);
});

t.test(
  'of fixes that come together an unknown device refuses its own, and the others are stored',
  async (t) => {
    const s = await service(t, { settings: { REQUESTS_PER_USER: '120' } });
    const fixes = Array.from({ length: 60 }, (_, n) => ({ lat: 1 / (n + 3), lng: -n, alt: n }));
    const answers = await Promise.all(
      fixes.flatMap((fix) => [
        s.radio.post(`/devices/${s.radio.deviceId}/gps`, fix),
        s.radio.post(`/devices/${randomUUID()}/gps`, fix),
      ]),
    );
    t.strictSame(new Set(answers.filter((_, i) => i % 2 === 0).map(({ status }) => status)), new Set([200]));
    t.strictSame(new Set(answers.filter((_, i) => i % 2 === 1).map(({ status }) => status)), new Set([404]));
    const [held, ...others] = await s.sql((sql) => sql`select device_id, lat, lng, alt from gps_fixes`);
    t.strictSame(others, []);
    t.match(held, { device_id: s.radio.deviceId, ...fixes[Number(held?.alt)] }, 'to the last digit');
  },
);
