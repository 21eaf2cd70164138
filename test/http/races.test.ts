// Many at once: every race ends in some serial order, with 4xx for who came late and no row left over.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { deadlineIn } from '../../src/db/deadline.js';
import { noticeOf } from '../../src/db/notice.js';
import { raiseEmergency } from '../../src/emergencies/store.js';
import type { TalkgroupId } from '../../src/ids.js';
import { HANGS_MS } from '../helpers/eventually.js';
import { type AccountCaller, PASSWORD_HASH, type Service, service } from '../helpers/http/rest.js';

/** Of histories made up. `make prove` asks for ten times as many. */
const RUNS = Number(process.env.PROVE_RUNS ?? 3000) / 100;
/** Of a race that is always the same. */
const ROUNDS = RUNS / 6;

t.setTimeout(120_000 + RUNS * 1000);

const instantPasswords = { hash: async () => PASSWORD_HASH, verify: async () => false };

/** How often each outcome occurred, such as `{ 200: 1, 409: 49 }`. */
function tally(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Those that say neither that it was done nor that there is nothing. */
const unexpected = (answers: readonly { status: number }[]) =>
  answers.filter(({ status }) => status !== 200 && status !== 404);

const times = <T>(count: number, act: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));

/** What the relay does with EMERGENCY_RAISE. */
async function raise(
  s: Service,
  { userId }: AccountCaller,
  talkgroup: TalkgroupId,
  id: string = randomUUID(),
) {
  const outcome = await raiseEmergency(s.database, deadlineIn(HANGS_MS), {
    id,
    user: userId,
    talkgroup,
    lat: null,
    lng: null,
    alt: null,
    raisedAt: new Date().toISOString(),
    notice: noticeOf({ kind: 'emergency_changed', talkgroup }),
  });
  return { id, outcome };
}

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
  for (let round = 0; round < ROUNDS; round++) {
    const id = await s.talkgroup();
    const deletion = round % 2 === 0 ? s.admin.delete(`/talkgroups/${id}`) : null;
    const joins = radios.map((radio) => radio.post(`/talkgroups/${id}/join`));
    t.equal((await (deletion ?? s.admin.delete(`/talkgroups/${id}`))).status, 200);
    t.strictSame(unexpected(await Promise.all(joins)), []);
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

t.test('changes against one delete: each is before it or finds nothing', async (t) => {
  const s = await service(t);
  for (let round = 0; round < ROUNDS; round++) {
    const id = await s.talkgroup();
    const changes = times(10, (n) =>
      s.admin.patch(`/talkgroups/${id}`, { name: `fire ${n}`, max_talk_ms: 0 }),
    );
    const removals = times(10, () => s.admin.delete(`/talkgroups/${id}/members/${s.radio.userId}`));
    t.equal((await s.admin.delete(`/talkgroups/${id}`)).status, 200);
    t.strictSame(unexpected([...(await changes), ...(await removals)]), []);
  }
});

t.test('20 changes at once leave one of those sent, and not a mixture', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const answers = await times(20, (n) =>
    s.admin.patch(`/talkgroups/${id}`, { name: `${1000 + n}`, max_talk_ms: 1000 + n }),
  );
  t.strictSame(tally(answers), { 200: 20 });
  const [row] = await s.sql<{ name: string; max_talk_ms: number }>(
    (sql) => sql`select name, max_talk_ms from talkgroups`,
  );
  t.equal(Number(row?.name), row?.max_talk_ms);
});

t.test('20 clears of one emergency at once, by its raiser and by admins: one finds it', async (t) => {
  const s = await service(t);
  const talkgroup = await s.talkgroup();
  const clerk = await s.account({ role: 'admin' });
  const callers = [s.radio, s.admin, clerk];
  for (let round = 0; round < ROUNDS; round++) {
    const { id } = await raise(s, s.radio, talkgroup);
    const acknowledged = s.admin.post(`/emergencies/${id}/ack`);
    const cleared = await times(20, (n) => (callers[n % 3] ?? s.radio).post(`/emergencies/${id}/clear`));
    t.strictSame(tally(cleared), { 200: 1, 404: 19 });
    t.ok([200, 404].includes((await acknowledged).status));
    t.strictSame(await s.sql((sql) => sql`select id from emergencies where state <> 'cleared'`), []);
  }
});

t.test('of 20 raises by one user at once one is stored and the others name it', async (t) => {
  const s = await service(t);
  const talkgroup = await s.talkgroup();
  const raised = await times(20, () => raise(s, s.radio, talkgroup));
  const stored = raised.filter(({ outcome }) => outcome.kind === 'stored');
  t.equal(stored.length, 1);
  const others = raised.filter((one) => !stored.includes(one)).map(({ outcome }) => outcome);
  t.strictSame(others, Array(19).fill({ kind: 'open_already', id: stored[0]?.id }));

  const again = await times(20, () => raise(s, s.admin, talkgroup, '00000000-0000-4000-8000-000000000000'));
  for (const { outcome } of again) t.strictSame(outcome, { kind: 'stored' }, 'one that is repeated');
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
        act: fc.constantFrom('join', 'leave', 'rotate', 'delete', 'members', 'change', 'remove'),
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
            if (act === 'change') return s.admin.patch(`/talkgroups/${id}`, { name: `of radio ${radio}` });
            if (act === 'remove') return s.admin.delete(`/talkgroups/${id}/members/${radios[radio]?.userId}`);
            if (act === 'rotate') return s.admin.post('/keys/rotate', { talkgroup_id: id });
            return s.admin.delete(`/talkgroups/${id}`);
          }),
        );
        const orphans = await s.sql(
          (sql) =>
            sql`select 1 from memberships m where not exists (select from talkgroups where id = talkgroup_id)`,
        );
        const left = await s.sql<Left>(
          (sql) => sql`
            select id, rotation_counter,
              (select coalesce(json_agg(user_id), '[]') from memberships where talkgroup_id = id) as members
            from talkgroups where id in (${groups[0] ?? null}, ${groups[1] ?? null})`,
        );
        const done = actions.map((action, index) => ({ ...action, status: answers[index]?.status ?? 0 }));
        const isSerial = groups.every((id, group) =>
          hasSerialOrder({
            done: done.filter((action) => action.group === group),
            left: left.find((row) => row.id === id) ?? null,
            radios,
          }),
        );
        return orphans.length === 0 && isSerial;
      }),
      { numRuns: RUNS },
    );
  },
);

/** A talkgroup after all was done. */
interface Left {
  readonly id: string;
  readonly rotation_counter: number;
  readonly members: readonly string[];
}

/** Whether one after the other, in some order, could have had these answers and left this. */
function hasSerialOrder({
  done,
  left,
  radios,
}: {
  done: readonly { readonly act: string; readonly radio: number; readonly status: number }[];
  /** null: gone. */
  left: Left | null;
  radios: readonly AccountCaller[];
}): boolean {
  const count = (act: string) => done.filter((one) => one.act === act && one.status === 200).length;
  if (left === null) return count('delete') === 1 && unexpected(done).length === 0;
  if (done.some(({ status }) => status !== 200) || count('delete') > 0) return false;
  if (left.rotation_counter !== count('rotate')) return false;
  return radios.every(({ userId }, radio) => {
    const own = done.filter((one) => one.radio === radio).map(({ act }) => act);
    const joined = own.includes('join');
    const went = own.includes('leave') || own.includes('remove');
    return left.members.includes(userId) ? joined : !joined || went;
  });
}

t.test(
  'whatever is raised, acknowledged, cleared and deleted at once, each user has one open emergency at most',
  async (t) => {
    const s = await service(t);
    const radios = await times(2, () => s.account());
    const ids = await times(3, async () => randomUUID());
    const actions = fc.array(
      fc.record({
        act: fc.constantFrom('raise', 'ack', 'clear', 'clear as admin', 'list', 'delete'),
        radio: fc.nat(1),
        emergency: fc.nat(2),
      }),
      { minLength: 2, maxLength: 16 },
    );
    await fc.assert(
      fc.asyncProperty(actions, async (actions) => {
        const talkgroup = await s.talkgroup();
        const outcomes = await Promise.all(
          actions.map(async ({ act, radio, emergency }) => {
            const caller = radios[radio] ?? s.radio;
            const id = ids[emergency];
            if (act === 'raise') return (await raise(s, caller, talkgroup, id)).outcome.kind;
            if (act === 'ack') return (await s.admin.post(`/emergencies/${id}/ack`)).status;
            if (act === 'clear') return (await caller.post(`/emergencies/${id}/clear`)).status;
            if (act === 'list') return (await caller.get('/emergencies')).status;
            if (act === 'delete') return (await s.admin.delete(`/talkgroups/${talkgroup}`)).status;
            return (await s.admin.post(`/emergencies/${id}/clear`)).status;
          }),
        );
        const twice = await s.sql(
          (sql) => sql`
            select user_id from emergencies where state <> 'cleared'
            group by user_id, talkgroup_id having count(*) > 1`,
        );
        await s.admin.delete(`/talkgroups/${talkgroup}`);
        const left = await s.sql((sql) => sql`select id from emergencies`);
        const expected = new Set<unknown>([200, 403, 404, 'stored', 'open_already', 'gone']);
        return twice.length === 0 && left.length === 0 && outcomes.every((outcome) => expected.has(outcome));
      }),
      { numRuns: RUNS },
    );
  },
);
