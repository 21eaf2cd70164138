// Many at once: every race ends in some serial order, with 4xx for who came late and no row left over.
import fc from 'fast-check';
import t from 'tap';
import { PASSWORD_HASH, service } from '../helpers/rest.js';

t.setTimeout(120_000);

const instantPasswords = { hash: async () => PASSWORD_HASH, verify: async () => false };

/** How often each outcome occurred, such as `{ 200: 1, 409: 49 }`. */
function tally(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const times = <T>(count: number, act: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));

t.test('of 50 registrations of one name one succeeds and 49 are told that it is taken', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const plain = await times(50, () => s.nobody.post('/auth/register', { username: 'anna', password: 'x' }));
  t.strictSame(tally(plain), { 200: 1, 409: 49 });
  const linked = await times(50, (n) =>
    s.nobody.post('/auth/register', { username: 'bert', password: 'x', deviceSerial: `serial ${n}` }),
  );
  t.strictSame(tally(linked), { 200: 1, 409: 49 });
  const devices = await s.sql((sql) => sql`select id from devices where serial like 'serial %'`);
  t.equal(devices.length, 1, 'only the one who got the name brought a device');
});

t.test('50 registrations with one serial share one device', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const answers = await times(50, (n) =>
    s.nobody.post('/auth/register', { username: `user ${n}`, password: 'x', deviceSerial: 'shared' }),
  );
  t.strictSame(tally(answers), { 200: 50 });
  const linked = await s.sql<{ users: number }>(
    (sql) => sql`
      select count(*)::int as users from users join devices d on d.id = device_id
      where serial = 'shared' group by d.id`,
  );
  t.strictSame(linked, [{ users: 50 }]);
});

t.test('joins against one delete: each is before it or finds nothing, and no membership stays', async (t) => {
  const s = await service(t);
  const radios = await times(20, () => s.account());
  for (let round = 0; round < 10; round++) {
    const id = await s.talkgroup();
    const deletion = round % 2 === 0 ? s.admin.delete(`/talkgroups/${id}`) : null;
    const joins = radios.map((radio) => radio.post(`/talkgroups/${id}/join`));
    t.equal((await (deletion ?? s.admin.delete(`/talkgroups/${id}`))).status, 200);
    for (const { status } of await Promise.all(joins)) t.ok(status === 200 || status === 404, String(status));
    t.strictSame(await s.sql((sql) => sql`select * from memberships`), []);
  }
});

t.test('one user who joins 20 times at once is a member once', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  t.strictSame(tally(await times(20, () => s.radio.post(`/talkgroups/${id}/join`))), { 200: 20 });
  t.equal((await s.sql((sql) => sql`select * from memberships`)).length, 1);
});

t.test('20 deletes of one talkgroup: one finds it', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  t.strictSame(tally(await times(20, () => s.admin.delete(`/talkgroups/${id}`))), { 200: 1, 404: 19 });
});

t.test('50 fixes at once leave one row, one of those sent', async (t) => {
  const s = await service(t);
  const path = `/devices/${s.radio.deviceId}/gps`;
  const answers = await times(50, (n) => s.radio.post(path, { lat: n, lng: n, alt: n }));
  t.strictSame(tally(answers), { 200: 50 });
  const { gps } = (await s.radio.get(path)).body as { gps: { lat: number; lng: number; alt: number } };
  t.ok(gps.lat === gps.lng && gps.lng === gps.alt, 'and not a mixture of two');
});

t.test(
  'whatever joins, leaves, rotates and deletes at once, nothing fails and nothing is left over',
  async (t) => {
    const s = await service(t);
    const radios = await times(3, () => s.account());
    const actions = fc.array(
      fc.record({
        act: fc.constantFrom('join', 'leave', 'rotate', 'delete', 'members'),
        radio: fc.nat(2),
        group: fc.nat(1),
      }),
      { minLength: 2, maxLength: 16 },
    );
    await fc.assert(
      fc.asyncProperty(actions, async (actions) => {
        const groups = await times(2, () => s.talkgroup());
        const answers = await Promise.all(
          actions.map(({ act, radio, group }) => {
            const id = groups[group];
            const caller = radios[radio] ?? s.radio;
            if (act === 'join') return caller.post(`/talkgroups/${id}/join`);
            if (act === 'leave') return caller.delete(`/talkgroups/${id}/leave`);
            if (act === 'members') return caller.get(`/talkgroups/${id}/members`);
            if (act === 'rotate') return s.admin.post('/keys/rotate', { talkgroup_id: id });
            return s.admin.delete(`/talkgroups/${id}`);
          }),
        );
        const orphans = await s.sql(
          (sql) =>
            sql`select 1 from memberships m where not exists (select from talkgroups where id = talkgroup_id)`,
        );
        return orphans.length === 0 && answers.every(({ status }) => status === 200 || status === 404);
      }),
      { numRuns: 40 },
    );
  },
);
