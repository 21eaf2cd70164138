// Positions by REST: the optional fields of a report, and the list of the latest ones.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { service } from '../helpers/http/rest.js';

type Json = Record<string, unknown>;
const listed = ({ body }: { body: unknown }) => (body as { positions: Json[] }).positions;

t.test(
  'a report may have more fields, which GET /positions shows and the seed’s route does not',
  async (t) => {
    const s = await service(t);
    const path = `/devices/${s.radio.deviceId}/gps`;
    const at = new Date(Date.now() - 1000).toISOString();
    const fix = { lat: 1, lng: 2, alt: 3 };
    const more = { speed: 500, course: 359.9, accuracy: 0, battery: 100 };
    t.match(await s.radio.post(path, { ...fix, ...more, at }), { status: 200, body: { ok: true } });
    t.strictSame(listed(await s.radio.get('/positions')), [
      { device_id: s.radio.deviceId, ...fix, ...more, updated_at: at },
    ]);
    const { gps } = (await s.radio.get(path)).body as { gps: Json };
    t.strictSame(Object.keys(gps).sort(), ['alt', 'device_id', 'id', 'lat', 'lng', 'updated_at']);
    await s.radio.post(path, { ...fix, speed: null });
    const [plain] = listed(await s.radio.get('/positions')) as [Json];
    t.strictSame(Object.keys(plain), ['device_id', 'lat', 'lng', 'alt', 'updated_at'], 'none is kept');
  },
);

t.test('a field that is malformed is named, and nothing is stored', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const bad: readonly [field: string, value: unknown][] = [
    ['speed', '5'],
    ['at', at(-7 * 24 * 3_600_000 - 2000)],
    ['at', '2026-13-01T00:00:00Z'],
    ['at', '2026-01-01T00:00:00'],
    ['at', `${at(0).slice(0, 16)},5Z`],
    ['at', 0],
    ['lat', '52'],
    ['lat', 91],
    ['alt', null],
  ];
  for (const [field, value] of bad) {
    const answer = await s.radio.post(path, { lat: 1, lng: 2, alt: 3, [field]: value });
    t.equal(answer.status, 400, `${field} ${value}`);
    t.match((answer.body as { error: string }).error, field);
  }
  t.strictSame(listed(await s.radio.get('/positions')), []);
});

t.test('what a device does not know costs no position: it is left out', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  const fix = { lat: 1, lng: 2, alt: 3 };
  const cases: readonly [said: Json, kept: Json][] = [
    [{ speed: -1, course: -1, accuracy: -1, battery: -1 }, {}],
    [{ speed: 500.1, course: 360.1, accuracy: 100_001, battery: 101 }, {}],
    [
      { speed: 4, course: 360, accuracy: 1e9 },
      { speed: 4, course: 0 },
    ],
  ];
  for (const [said, kept] of cases) {
    t.match(await s.radio.post(path, { ...fix, ...said }), { status: 200, body: { ok: true } });
    const [{ device_id, updated_at, ...rest }] = listed(await s.radio.get('/positions')) as [Json];
    t.strictSame(rest, { ...fix, ...kept }, JSON.stringify(said));
  }
});

t.test('times in the spellings of common libraries, and of a clock that is ahead', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  const minute = new Date(Date.now() - 60_000).toISOString().slice(0, 16);
  const inZone = new Date(Date.now() - 60_000 + 90 * 60_000).toISOString().slice(0, 16);
  const storedAt = async (at: string) => {
    await s.sql((sql) => sql`delete from gps_fixes`);
    t.match(await s.radio.post(path, { lat: 1, lng: 2, alt: 3, at }), { status: 200 }, at);
    return listed(await s.radio.get('/positions'))[0]?.updated_at as string;
  };
  for (const at of [
    `${minute}Z`,
    `${minute.toLowerCase()}z`,
    `${minute}:00,000Z`,
    `${inZone}+0130`,
    `${inZone}:00+01:30`,
  ])
    t.equal(await storedAt(at), `${minute}:00.000Z`, at);
  const hour = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19);
  t.ok(Math.abs(Date.parse(await storedAt(`${hour}+01`)) - Date.now()) < 60_000, 'a zone of two digits');
  const storedMs = Date.parse(await storedAt(`${hour}Z`));
  t.ok(storedMs <= Date.now() + 1000, 'ahead by an hour it counts as now');
});

t.test('a stored time that no report may have holds up no position', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  await s.radio.post(path, { lat: 1, lng: 2, alt: 3 });
  // As a node stored it whose clock was ahead until it was set right.
  await s.sql((sql) => sql`update gps_fixes set updated_at = now() + interval '2 hours'`);
  const at = new Date(Date.now() - 1000).toISOString();
  t.match(await s.radio.post(path, { lat: 4, lng: 5, alt: 6, at }), { status: 200 });
  t.match(listed(await s.radio.get('/positions')), [{ lat: 4, updated_at: at }]);
});

t.test('GET /positions is read in pages, of all devices or those of a talkgroup', async (t) => {
  const s = await service(t);
  const talkgroup = await s.talkgroup();
  await s.sql(
    (sql) => sql`
      with d as (
        insert into devices (name, site, serial) select 'd', 'depot', 'p' || i from generate_series(1, 30) i
        returning id, serial
      ), u as (
        insert into users (username, password_hash, device_id) select serial, 'none', id from d returning id, username
      ), m as (
        insert into memberships (user_id, talkgroup_id, site)
        select id, ${talkgroup}::uuid, 'depot' from u where substr(username, 2)::int <= 10
      )
      insert into gps_fixes (device_id, lat, lng, alt) select id, 1, 2, 3 from d`,
  );
  const idsOf = (rows: readonly Json[]) => rows.map(({ device_id }) => String(device_id));
  const pages = async (query: string, limit: number) => {
    const ids: string[] = [];
    for (let after = ''; ; ) {
      const { status, body } = await s.radio.get(`/positions?limit=${limit}${query}${after}`);
      t.equal(status, 200);
      ids.push(...idsOf(listed({ body })));
      const { next } = body as { next: string | null };
      if (next === null) return ids;
      after = `&after=${next}`;
    }
  };
  const all = await pages('', 7);
  t.equal(new Set(all).size, 30);
  t.strictSame(all, [...all].sort());
  const some = await pages(`&talkgroup_id=${talkgroup}`, 3);
  t.equal(new Set(some).size, 10);
  t.ok(some.every((id) => all.includes(id)));
  t.strictSame(idsOf(listed(await s.radio.get('/positions?limit=1000'))), all);

  const empty = await s.talkgroup();
  t.match((await s.radio.get(`/positions?talkgroup_id=${empty}`)).body, { positions: [], next: null });
  for (const id of [randomUUID(), 'x'])
    t.match(await s.radio.get(`/positions?talkgroup_id=${id}`), { status: 404 }, id);
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'after=x'])
    t.equal((await s.radio.get(`/positions?${query}`)).status, 400, query);
  t.match(await s.radio.get('/positions?after=ffffffff-ffff-4fff-bfff-ffffffffffff'), {
    body: { positions: [], next: null },
  });
});
