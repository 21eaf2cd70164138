// Emergencies by REST and in the store that REST and relay share: raised once, seen by who may, cleared once.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { deadlineIn } from '../../src/db/deadline.js';
import { type Notice, noticeOf } from '../../src/db/notice.js';
import { accountsOf, talkgroupsOf } from '../../src/directory/store.js';
import { type Raise, raiseEmergency } from '../../src/emergencies/store.js';
import type { TalkgroupId, UserId } from '../../src/ids.js';
import { HANGS_MS } from '../helpers/eventually.js';
import { type AccountCaller, type Service, service, until } from '../helpers/http/rest.js';

t.setTimeout(300_000);

const ok = { status: 200, body: { ok: true } };
const unknown = { status: 404, body: { error: 'no such open emergency' } };
const notAllowed = { status: 403, body: { error: /raised/ } };

/** What the relay does with EMERGENCY_RAISE. By default without a position. */
function raise(s: Service, raiser: AccountCaller, talkgroup: TalkgroupId, more: Partial<Raise> = {}) {
  return raiseEmergency(s.database, deadlineIn(HANGS_MS), {
    id: randomUUID(),
    user: raiser.userId,
    talkgroup,
    lat: null,
    lng: null,
    alt: null,
    raisedAt: '2031-05-06T07:08:09.010Z',
    notice: noticeOf({ kind: 'emergency_changed', talkgroup }),
    ...more,
  });
}

/** The id of a new emergency of the service's radio in a talkgroup of its own. */
async function raised(s: Service): Promise<{ id: string; talkgroup: TalkgroupId }> {
  const talkgroup = await s.talkgroup();
  await s.radio.post(`/talkgroups/${talkgroup}/join`);
  const id = randomUUID();
  await raise(s, s.radio, talkgroup, { id });
  return { id, talkgroup };
}

type Listed = { readonly emergency_id: string; readonly state: string };
async function listFor(caller: AccountCaller): Promise<Listed[]> {
  const { status, body } = await caller.get('/emergencies');
  t.equal(status, 200);
  t.strictSame(Object.keys(body as object), ['emergencies']);
  return (body as { emergencies: Listed[] }).emergencies;
}
const idsFor = async (caller: AccountCaller) =>
  (await listFor(caller)).map(({ emergency_id }) => emergency_id);

t.test('an open emergency is listed with exactly the keys that are known of it', async (t) => {
  const s = await service(t);
  t.strictSame((await s.radio.get('/emergencies')).body, { emergencies: [] });
  const talkgroup_id = await s.talkgroup();
  const others = await s.account();
  await s.radio.post(`/talkgroups/${talkgroup_id}/join`);
  const [first, second] = [randomUUID(), randomUUID()];
  await raise(s, others, talkgroup_id, {
    id: second,
    lat: -33.9,
    lng: 0,
    raisedAt: '2031-05-06T07:08:10.000Z',
  });
  await raise(s, s.radio, talkgroup_id, { id: first, lat: 52.520008, lng: -0.5, alt: -12 });
  const expected = [
    {
      emergency_id: first,
      talkgroup_id,
      user_id: s.radio.userId,
      username: s.radio.username,
      state: 'raised',
      raised_at: '2031-05-06T07:08:09.010Z',
      lat: 52.520008,
      lng: -0.5,
      alt: -12,
    },
    {
      emergency_id: second,
      talkgroup_id,
      user_id: others.userId,
      username: others.username,
      state: 'raised',
      raised_at: '2031-05-06T07:08:10.000Z',
      lat: -33.9,
      lng: 0,
    },
  ];
  t.strictSame(await listFor(s.radio), expected, 'the oldest first');
  t.strictSame(await listFor(s.admin), expected);
});

t.test('a user sees the emergencies of their talkgroups, an admin all of them', async (t) => {
  const s = await service(t);
  const { id, talkgroup } = await raised(s);
  const member = await s.account();
  const stranger = await s.account();
  await member.post(`/talkgroups/${talkgroup}/join`);
  t.strictSame(await idsFor(s.radio), [id]);
  t.strictSame(await idsFor(member), [id]);
  t.strictSame(await idsFor(s.admin), [id], 'a member of nothing');
  t.strictSame(await idsFor(stranger), []);
  await stranger.post(`/talkgroups/${talkgroup}/join`);
  t.strictSame(await idsFor(stranger), [id]);
  await s.radio.delete(`/talkgroups/${talkgroup}/leave`);
  t.strictSame(await idsFor(s.radio), [], 'not even his own, elsewhere');
  t.strictSame(await idsFor(member), [id], 'who leaves is still in distress');
});

t.test('an admin acknowledges, again if need be, and the first one is remembered', async (t) => {
  const s = await service(t);
  const { id } = await raised(s);
  const secondAdmin = await s.account({ role: 'admin' });
  t.match(await s.radio.post(`/emergencies/${id}/ack`), { status: 403 }, 'not even the raiser');
  t.match(await listFor(s.radio), [{ emergency_id: id, state: 'raised' }]);
  t.match(await s.admin.post(`/emergencies/${id}/ack`), ok);
  t.match(await secondAdmin.post(`/emergencies/${id}/ack`), ok);
  t.match(await listFor(s.radio), [{ emergency_id: id, state: 'acknowledged' }]);
  const records = await s.sql((sql) => sql`select acknowledged_by from emergencies`);
  t.strictSame(records, [{ acknowledged_by: s.admin.userId }]);
});

t.test('the raiser or an admin clears, once, and what is cleared is unknown to all', async (t) => {
  const s = await service(t);
  for (const clearer of [s.radio, s.admin]) {
    const { id } = await raised(s);
    await s.admin.post(`/emergencies/${id}/ack`);
    t.match(await clearer.post(`/emergencies/${id}/clear`), ok);
    t.strictSame(await listFor(s.admin), []);
    t.match(await s.radio.post(`/emergencies/${id}/clear`), unknown);
    t.match(await s.admin.post(`/emergencies/${id}/clear`), unknown);
    t.match(await s.admin.post(`/emergencies/${id}/ack`), unknown);
    const [record] = await s.sql((sql) => sql`select state, cleared_by from emergencies where id = ${id}`);
    t.strictSame(record, { state: 'cleared', cleared_by: clearer.userId });
  }
});

t.test('no other user clears, member or not, and each is told so', async (t) => {
  const s = await service(t);
  const { id, talkgroup } = await raised(s);
  const member = await s.account();
  await member.post(`/talkgroups/${talkgroup}/join`);
  const stranger = await s.account();
  t.match(await member.post(`/emergencies/${id}/clear`), notAllowed);
  t.match(await stranger.post(`/emergencies/${id}/clear`), notAllowed);
  t.match(await listFor(s.radio), [{ emergency_id: id, state: 'raised' }]);
  await s.radio.post(`/emergencies/${id}/clear`);
  t.match(await stranger.post(`/emergencies/${id}/clear`), unknown, 'of an unknown one anybody may ask');
});

t.test('a user who raised one and left the talkgroup, or was removed from it, still clears it', async (t) => {
  const s = await service(t);
  for (const goes of [
    (talkgroup: TalkgroupId) => s.radio.delete(`/talkgroups/${talkgroup}/leave`),
    (talkgroup: TalkgroupId) => s.admin.delete(`/talkgroups/${talkgroup}/members/${s.radio.userId}`),
  ]) {
    const { id, talkgroup } = await raised(s);
    t.match(await goes(talkgroup), ok);
    t.match(await s.radio.post(`/emergencies/${id}/clear`), ok);
  }
});

t.test('an id in capital letters names the same emergency', async (t) => {
  const s = await service(t);
  const { id, talkgroup } = await raised(s);
  t.match(await s.admin.post(`/emergencies/${id.toUpperCase()}/ack`), ok);
  t.match(await s.radio.post(`/emergencies/${id.toUpperCase()}/clear`), ok);
  t.match(s.notices.slice(-2), [{ talkgroup }, { talkgroup }]);
});

t.test('a talkgroup that goes takes the emergencies along, the cleared ones as well', async (t) => {
  const s = await service(t);
  const { id, talkgroup } = await raised(s);
  await s.radio.post(`/emergencies/${id}/clear`);
  await raise(s, s.radio, talkgroup);
  t.match(await s.admin.delete(`/talkgroups/${talkgroup}`), ok);
  t.strictSame(await s.sql((sql) => sql`select id from emergencies`), []);
  t.strictSame(await listFor(s.admin), []);
});

t.test('a raise that is repeated changes nothing and succeeds, even after it was cleared', async (t) => {
  const s = await service(t);
  const { id, talkgroup } = await raised(s);
  t.strictSame(await raise(s, s.radio, talkgroup, { id, lat: 1 }), { kind: 'stored' });
  await s.admin.post(`/emergencies/${id}/ack`);
  t.strictSame(await raise(s, s.radio, talkgroup, { id }), { kind: 'stored' });
  t.match(await listFor(s.radio), [{ emergency_id: id, state: 'acknowledged', lat: undefined }]);
  await s.radio.post(`/emergencies/${id}/clear`);
  t.strictSame(await raise(s, s.radio, talkgroup, { id }), { kind: 'stored' });
  t.strictSame(await listFor(s.admin), [], 'and opens nothing anew');
  const next = randomUUID();
  t.strictSame(await raise(s, s.radio, talkgroup, { id: next }), { kind: 'stored' });
  t.strictSame(await raise(s, s.radio, talkgroup, { id }), { kind: 'open_already', id: next });
});

t.test(
  'a second open one of the same user in the same talkgroup is refused with the first one’s id',
  async (t) => {
    const s = await service(t);
    const { id, talkgroup } = await raised(s);
    t.strictSame(await raise(s, s.radio, talkgroup), { kind: 'open_already', id });
    t.strictSame(await raise(s, s.admin, talkgroup), { kind: 'stored' }, 'another user');
    t.strictSame(await raise(s, s.radio, await s.talkgroup()), { kind: 'stored' }, 'another talkgroup');
    t.equal((await listFor(s.admin)).length, 3);
  },
);

t.test('one in a talkgroup or of a user that does not exist is not stored, and says so', async (t) => {
  const s = await service(t);
  const talkgroup = await s.talkgroup();
  t.strictSame(await raise(s, s.radio, randomUUID() as TalkgroupId), { kind: 'gone' });
  t.strictSame(await raise(s, s.radio, talkgroup, { user: randomUUID() as UserId }), { kind: 'gone' });
  t.strictSame(await listFor(s.admin), []);
});

t.test('every change is told to all nodes by one notice, and no refused one is', async (t) => {
  const s = await service(t);
  const heard: Notice[] = [];
  const listener = await s.listen((notice) => heard.push(notice));
  const talkgroup = await s.talkgroup();
  const stranger = await s.account();
  const id = randomUUID();
  const notice = noticeOf({ kind: 'emergency_changed', talkgroup });
  await raise(s, s.radio, talkgroup, { id, notice });
  await stranger.post(`/emergencies/${id}/clear`);
  await s.radio.post(`/emergencies/${id}/ack`);
  await s.admin.post(`/emergencies/${randomUUID()}/ack`);
  await s.admin.post(`/emergencies/${id}/ack`);
  await s.radio.post(`/emergencies/${id}/clear`);
  await s.radio.post(`/emergencies/${id}/clear`);
  await s.admin.post('/keys/rotate', { talkgroup_id: talkgroup });
  await until(() => heard.at(-1)?.kind === 'key_rotated');
  await listener.close();
  t.strictSame(heard, [notice, ...s.notices], 'this node’s relay is told the very same');
  t.strictSame(
    heard.map(({ id: _own, ...change }) => change),
    [
      { kind: 'emergency_changed', talkgroup },
      { kind: 'emergency_changed', talkgroup },
      { kind: 'emergency_changed', talkgroup },
      { kind: 'key_rotated', talkgroup },
    ],
  );
  t.equal(new Set(heard.map(({ id }) => id)).size, 4, 'each has an id of its own');
});

t.test('a change the relay does not confirm is stored and answered 503', async (t) => {
  const s = await service(t, { tell: () => Promise.reject(new Error('relay gone')) });
  const talkgroup = await s.talkgroup();
  const id = randomUUID();
  await raise(s, s.radio, talkgroup, { id });
  const unconfirmed = { status: 503, body: { error: /^the change is stored, / } };
  t.match(await s.admin.post(`/emergencies/${id}/ack`), unconfirmed);
  t.match(await listFor(s.admin), [{ state: 'acknowledged' }]);
  t.match(await s.radio.post(`/emergencies/${id}/clear`), unconfirmed);
  t.strictSame(await listFor(s.admin), []);
});

t.test('the relay reads any number of open emergencies, a bounded number at a time', async (t) => {
  const s = await service(t);
  const [one, two, three] = [await s.talkgroup(), await s.talkgroup(), await s.talkgroup()];
  // The last of a read are in the middle of a talkgroup, and at its end.
  await s.sql(
    (sql) => sql`
      with raiser as (
        insert into users (id, username, password_hash)
        select gen_random_uuid(), 'raiser ' || n, 'none' from generate_series(1, 1500) n
        returning id, username)
      insert into emergencies (id, user_id, talkgroup_id, raised_at, state)
      select gen_random_uuid(), r.id, t.id, now() - substr(r.username, 8)::int * interval '1 second',
             case when r.username = 'raiser 7' then 'cleared' else 'raised' end
        from raiser r
        cross join unnest(${`{${one},${two}}`}::uuid[]) t (id)`,
  );
  let reads = 0;
  const deadline = () => {
    reads++;
    return deadlineIn(HANGS_MS);
  };
  const rows = await talkgroupsOf(s.database, deadline, [three, two, one]);
  t.equal(reads, 1 + 3);
  const byId = new Map(rows.map((row) => [row.id, row.emergencies]));
  for (const id of [one, two]) {
    const names = byId.get(id)?.map(({ username }) => username);
    const expected = Array.from({ length: 1500 }, (_, index) => `raiser ${1500 - index}`);
    t.same(
      names,
      expected.filter((name) => name !== 'raiser 7'),
      'each once, the oldest first',
    );
  }
  t.same(byId.get(three), []);

  for (const talkgroup of [one, two]) await s.radio.post(`/talkgroups/${talkgroup}/join`);
  const [account] = await accountsOf(s.database, deadline, [s.radio.userId], (id) => id === one);
  const read = new Map(account?.memberships.map(({ id, emergencies }) => [id, emergencies?.length ?? null]));
  t.equal(read.get(one), null, 'held: known already');
  t.equal(read.get(two), 1499);
});

t.test('the relay reads each talkgroup with its open emergencies, and each user with the role', async (t) => {
  const s = await service(t);
  const { id, talkgroup } = await raised(s);
  const quiet = await s.talkgroup();
  await s.radio.post(`/talkgroups/${quiet}/join`);
  const later = randomUUID();
  await raise(s, s.admin, talkgroup, {
    id: later,
    lat: 1.5,
    lng: -2,
    alt: 0,
    raisedAt: '2031-05-06T07:08:09.011Z',
  });
  await s.admin.post(`/emergencies/${later}/ack`);
  const emergencies = [
    {
      id,
      user_id: s.radio.userId,
      username: s.radio.username,
      state: 'raised',
      lat: null,
      lng: null,
      alt: null,
      raised_at: '2031-05-06T07:08:09.010Z',
      ...{ device_id: s.radio.deviceId, fix: null },
    },
    {
      id: later,
      user_id: s.admin.userId,
      username: 'admin',
      state: 'acknowledged',
      lat: 1.5,
      lng: -2,
      alt: 0,
      raised_at: '2031-05-06T07:08:09.011Z',
      ...{ device_id: null, fix: null },
    },
  ];

  const rows = await talkgroupsOf(s.database, () => deadlineIn(HANGS_MS), [talkgroup, quiet]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  t.strictSame(byId.get(talkgroup)?.emergencies, emergencies);
  t.strictSame(byId.get(quiet)?.emergencies, []);
  t.equal((await talkgroupsOf(s.database, () => deadlineIn(HANGS_MS), [])).length, 0);

  await s.sql((sql) => sql`update users set role = 'admin' where id = ${s.radio.userId}`);
  const [account] = await accountsOf(s.database, () => deadlineIn(HANGS_MS), [s.radio.userId]);
  t.equal(account?.role, 'admin', 'as the database says, whatever the token does');
  for (const { site, may_have_keys, ...membership } of account?.memberships ?? []) {
    t.strictSame([site, may_have_keys], ['north', false]);
    t.strictSame(membership, byId.get(membership.id), 'the same row either way');
  }
  t.equal(account?.memberships.length, 2);

  await s.radio.post(`/emergencies/${id}/clear`);
  const [afterwards] = await talkgroupsOf(s.database, () => deadlineIn(HANGS_MS), [talkgroup]);
  t.strictSame(afterwards?.emergencies, emergencies.slice(1));
});
