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

t.test('a field that is out of range is named, and nothing is stored', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const bad: readonly [field: string, value: unknown][] = [
    ['speed', -0.1],
    ['speed', 500.1],
    ['speed', '5'],
    ['course', 360],
    ['course', -1],
    ['accuracy', 100_001],
    ['battery', 101],
    ['at', at(62_000)],
    ['at', at(-7 * 24 * 3_600_000 - 2000)],
    ['at', '2026-13-01T00:00:00Z'],
    ['at', '2026-01-01T00:00:00'],
    ['at', 0],
    ['lat', '52'],
  ];
  for (const [field, value] of bad) {
    const answer = await s.radio.post(path, { lat: 1, lng: 2, alt: 3, [field]: value });
    t.equal(answer.status, 400, `${field} ${value}`);
    t.match((answer.body as { error: string }).error, field);
  }
  t.strictSame(listed(await s.radio.get('/positions')), []);
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
