// Talkgroups by REST: the seed's transitions, exact shapes, and what the relay is told about each change.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { Notice } from '../../src/db/notice.js';
import { service, until } from '../helpers/http/rest.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ok = { status: 200, body: { ok: true } };
const notFound = { status: 404, body: { error: 'talkgroup not found' } };

t.test('a new talkgroup has a counter of 0, a secret of 32 random bytes and no members', async (t) => {
  const s = await service(t);
  const answer = await s.admin.post('/talkgroups', { name: 'fire brigade' });
  t.equal(answer.status, 200);
  t.strictSame(Object.keys(answer.body as object), ['talkgroup']);
  const { talkgroup } = answer.body as { talkgroup: Record<string, unknown> };
  t.strictSame(Object.keys(talkgroup).sort(), ['created_at', 'id', 'name', 'rotation_counter']);
  t.match(talkgroup, { name: 'fire brigade', rotation_counter: 0, created_at: ISO });

  await s.admin.post('/talkgroups', { name: 'fire brigade' });
  const secrets = await s.sql<{ master_secret: Buffer }>((sql) => sql`select master_secret from talkgroups`);
  t.strictSame(
    secrets.map(({ master_secret }) => master_secret.length),
    [32, 32],
  );
  t.notOk(secrets[0]?.master_secret.equals(secrets[1]?.master_secret ?? Buffer.alloc(0)));
  t.strictSame((await s.admin.get(`/talkgroups/${talkgroup.id}/members`)).body, { members: [] });
  t.strictSame((await s.admin.get('/talkgroups')).body, { talkgroups: [] }, 'the creator is no member');
});

t.test('a new talkgroup is open, or has the floor mode it was given', async (t) => {
  const s = await service(t);
  for (const floor_mode of [undefined, 'open', 'single', 'broadcast']) {
    const { status, body } = await s.admin.post('/talkgroups', { name: 'fire brigade', floor_mode });
    t.equal(status, 200);
    const { talkgroup } = body as { talkgroup: { id: string } };
    t.strictSame(Object.keys(talkgroup).sort(), ['created_at', 'id', 'name', 'rotation_counter']);
    const stored = await s.sql(
      (sql) => sql`select floor_mode, max_talk_ms from talkgroups where id = ${talkgroup.id}`,
    );
    t.strictSame(stored, [{ floor_mode: floor_mode ?? 'open', max_talk_ms: 60_000 }]);
  }
});

t.test('a change of a talkgroup changes what it names, and answers as its creation did', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.admin.post('/keys/rotate', { talkgroup_id: id });
  await s.radio.post(`/talkgroups/${id}/join`);
  const { talkgroups } = (await s.radio.get('/talkgroups')).body as { talkgroups: { talkgroup: object }[] };
  const before = talkgroups[0]?.talkgroup;
  let settings: object = { name: 'fire brigade', floor_mode: 'open', max_talk_ms: 60_000 };
  for (const change of [
    {},
    { name: 'rail' },
    { floor_mode: 'single' },
    { max_talk_ms: 0 },
    { id: randomUUID(), rotation_counter: 9, master_secret: 'x', number: 9, created_at: 0 },
    { name: 'road', floor_mode: 'broadcast', max_talk_ms: 1000 },
    {},
  ]) {
    const answer = await s.admin.patch(`/talkgroups/${id}`, change);
    if (!('id' in change)) settings = { ...settings, ...change };
    const { name } = settings as { name: string };
    t.strictSame(
      { ...answer, headers: null },
      {
        status: 200,
        body: { talkgroup: { ...before, name } },
        headers: null,
      },
    );
    const stored = await s.sql(
      (sql) => sql`select name, floor_mode, max_talk_ms from talkgroups where id = ${id}`,
    );
    t.strictSame(stored, [settings]);
  }
  t.match((await s.radio.get('/talkgroups')).body, { talkgroups: [{ talkgroup: { name: 'road' } }] });
});

t.test('an admin removes a member, and it is no error when there is none', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const other = await s.account();
  await s.radio.post(`/talkgroups/${id}/join`);
  await other.post(`/talkgroups/${id}/join`);
  const member = `/talkgroups/${id}/members/${s.radio.userId}`;
  t.equal((await s.radio.delete(member)).status, 403, 'not even the member itself: it leaves');
  t.strictSame((await s.admin.delete(member)).body, { ok: true });
  t.match((await s.radio.get(`/talkgroups/${id}/members`)).body, { members: [{ user_id: other.userId }] });
  t.strictSame((await s.radio.get('/talkgroups')).body, { talkgroups: [] });
  t.match(await s.admin.delete(member), ok);
  t.match(await s.admin.delete(`/talkgroups/${id}/members/${randomUUID()}`), ok);
  t.match(await s.admin.delete(`/talkgroups/${id}/members/${other.userId.toUpperCase()}`), ok);
  t.strictSame((await s.radio.get(`/talkgroups/${id}/members`)).body, { members: [] });
  for (const user of ['x', '%00', `${s.radio.userId}0`, "'%20or%20true--"]) {
    const answer = await s.admin.delete(`/talkgroups/${id}/members/${user}`);
    t.match(answer, { status: 404, body: { error: 'user not found' } }, user);
  }
  t.match(await s.radio.post(`/talkgroups/${id}/join`), ok, 'who was removed may come back');
});

t.test('an admin adds a member, which is a join by that user', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const walker = await s.account();
  const member = (user: string) => `/talkgroups/${id}/members/${user}`;
  t.equal((await s.radio.put(member(s.radio.userId))).status, 403);
  t.strictSame((await s.admin.put(member(s.radio.userId))).body, { ok: true });
  await s.sql((sql) => sql`update devices set site = 'south'`);
  t.match(await s.admin.put(member(s.radio.userId.toUpperCase())), ok, 'again');
  t.match(await s.admin.put(member(walker.userId)), ok);
  const { members } = (await s.radio.get(`/talkgroups/${id}/members`)).body as { members: object[] };
  t.match(members, [
    { user_id: s.radio.userId, site: 'north' },
    { user_id: walker.userId, site: 'unknown' },
  ]);
  t.match((await walker.get('/talkgroups')).body, { talkgroups: [{ talkgroup_id: id }] });
  const joined = (user: string) => ({ kind: 'joined', user, talkgroup: id });
  t.match(s.notices, [joined(s.radio.userId), joined(s.radio.userId), joined(walker.userId)]);
  for (const user of [randomUUID(), 'x', '%00', `${s.radio.userId}0`]) {
    const answer = await s.admin.put(member(user));
    t.match(answer, { status: 404, body: { error: 'user not found' } }, user);
  }
  for (const other of [randomUUID(), 'x'])
    t.match(
      await s.admin.put(`/talkgroups/${other}/members/${randomUUID()}`),
      notFound,
      'the talkgroup first',
    );
  t.equal(s.notices.length, 3, 'and the relay gets no notification of those');
});

t.test('an admin lists all talkgroups with their settings and their number of members', async (t) => {
  const s = await service(t);
  const [fire, rail] = [await s.talkgroup('fire'), await s.talkgroup('rail')];
  await s.admin.patch(`/talkgroups/${rail}`, { floor_mode: 'single', max_talk_ms: 0 });
  await s.admin.post('/keys/rotate', { talkgroup_id: rail });
  for (const caller of [s.radio, s.admin]) await caller.post(`/talkgroups/${fire}/join`);
  const stored = await s.sql<{ id: string }>(
    (sql) => sql`select id, number, name, created_at from talkgroups order by id`,
  );
  const settings: Record<string, object> = {
    [fire]: { rotation_counter: 0, floor_mode: 'open', max_talk_ms: 60_000, members: 2 },
    [rail]: { rotation_counter: 1, floor_mode: 'single', max_talk_ms: 0, members: 0 },
  };
  const presets = { encryption: 'allowed', clear_emergency: true, recording_days: 0 };
  const whole = stored.map((row) => ({ ...row, ...settings[row.id], ...presets }));
  const answer = await s.admin.get('/admin/talkgroups');
  t.equal(answer.status, 200);
  t.same(answer.body, { talkgroups: whole, next: null });
  t.strictSame(Object.keys((answer.body as { talkgroups: object[] }).talkgroups[0] ?? {}).sort(), [
    ...['clear_emergency', 'created_at', 'encryption', 'floor_mode', 'id', 'max_talk_ms', 'members', 'name'],
    ...['number', 'recording_days', 'rotation_counter'],
  ]);
  const [first, second] = whole;
  t.same((await s.admin.get('/admin/talkgroups?limit=1')).body, { talkgroups: [first], next: first?.id });
  t.same((await s.admin.get(`/admin/talkgroups?after=${first?.id}`)).body, {
    talkgroups: [second],
    next: null,
  });
  t.equal((await s.radio.get('/admin/talkgroups')).status, 403);
});

t.test('no answer of any route holds the master secret in any spelling', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const [row] = await s.sql<{ master_secret: Buffer }>((sql) => sql`select master_secret from talkgroups`);
  const answers = [
    await s.radio.post(`/talkgroups/${id}/join`),
    await s.radio.get('/talkgroups'),
    await s.radio.get(`/talkgroups/${id}/members`),
    await s.admin.get('/admin/talkgroups'),
    await s.admin.put(`/talkgroups/${id}/members/${s.admin.userId}`),
    await s.radio.get(`/keys/rotation?talkgroup_id=${id}`),
    await s.admin.post('/keys/rotate', { talkgroup_id: id }),
    await s.admin.patch(`/talkgroups/${id}`, { name: 'fire 2' }),
    await s.radio.delete(`/talkgroups/${id}/leave`),
    await s.admin.delete(`/talkgroups/${id}`),
  ];
  const said = answers.map(({ status, body }) => {
    t.equal(status, 200);
    return JSON.stringify(body);
  });
  for (const encoding of ['hex', 'base64', 'base64url', 'latin1'] as const) {
    t.notMatch(said.join(), row?.master_secret.toString(encoding));
  }
  t.notMatch(said.join(), /secret|password|hash/);
});

t.test('a member is listed with its site, and sees the talkgroup in its own list', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.talkgroup('another one');
  const walker = await s.account();
  t.strictSame((await s.radio.post(`/talkgroups/${id}/join`)).body, { ok: true });
  t.strictSame((await walker.post(`/talkgroups/${id}/join`)).body, { ok: true });

  const { members } = (await s.radio.get(`/talkgroups/${id}/members`)).body as { members: object[] };
  t.strictSame(members, [
    {
      user_id: s.radio.userId,
      site: 'north',
      user: { id: s.radio.userId, username: s.radio.username, role: 'user' },
    },
    {
      user_id: walker.userId,
      site: 'unknown',
      user: { id: walker.userId, username: walker.username, role: 'user' },
    },
  ]);

  const list = await s.radio.get('/talkgroups');
  t.strictSame(Object.keys(list.body as object), ['talkgroups']);
  const { talkgroups } = list.body as { talkgroups: { talkgroup: { created_at: string } }[] };
  t.equal(talkgroups.length, 1);
  t.match(talkgroups[0]?.talkgroup.created_at, ISO);
  const created_at = talkgroups[0]?.talkgroup.created_at;
  t.strictSame(talkgroups, [
    { talkgroup_id: id, talkgroup: { id, name: 'fire brigade', rotation_counter: 0, created_at } },
  ]);
});

t.test('joining again changes nothing, not even the site', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  await s.sql((sql) => sql`update devices set site = 'south'`);
  t.match(await s.radio.post(`/talkgroups/${id}/join`), ok);
  const { members } = (await s.radio.get(`/talkgroups/${id}/members`)).body as {
    members: { site: string }[];
  };
  t.strictSame(
    members.map(({ site }) => site),
    ['north'],
  );
  await s.radio.delete(`/talkgroups/${id}/leave`);
  await s.radio.post(`/talkgroups/${id}/join`);
  t.match((await s.radio.get(`/talkgroups/${id}/members`)).body, { members: [{ site: 'south' }] });
});

t.test('leaving works for members and is no error for others', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const other = await s.account();
  await s.radio.post(`/talkgroups/${id}/join`);
  await other.post(`/talkgroups/${id}/join`);
  t.strictSame((await s.radio.delete(`/talkgroups/${id}/leave`)).body, { ok: true });
  t.strictSame((await s.radio.get('/talkgroups')).body, { talkgroups: [] });
  t.match((await s.radio.get(`/talkgroups/${id}/members`)).body, { members: [{ user_id: other.userId }] });
  t.match(await s.radio.delete(`/talkgroups/${id}/leave`), ok);
});

t.test('a deleted talkgroup takes its memberships along and is unknown afterwards', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  t.strictSame((await s.admin.delete(`/talkgroups/${id}`)).body, { ok: true });
  t.strictSame(await s.sql((sql) => sql`select * from memberships`), []);
  t.strictSame((await s.radio.get('/talkgroups')).body, { talkgroups: [] });
  for (const gone of [id, randomUUID()]) {
    t.match(await s.radio.get(`/talkgroups/${gone}/members`), notFound);
    t.match(await s.radio.post(`/talkgroups/${gone}/join`), notFound);
    t.match(await s.radio.delete(`/talkgroups/${gone}/leave`), notFound);
    t.match(await s.admin.delete(`/talkgroups/${gone}`), notFound);
    t.match(await s.admin.patch(`/talkgroups/${gone}`, { name: 'x' }), notFound);
    t.match(await s.admin.patch(`/talkgroups/${gone}`, {}), notFound);
    t.match(await s.admin.put(`/talkgroups/${gone}/members/${s.radio.userId}`), notFound);
    t.match(await s.admin.delete(`/talkgroups/${gone}/members/${s.radio.userId}`), notFound);
    t.match(await s.radio.get(`/keys/rotation?talkgroup_id=${gone}`), notFound);
    t.match(await s.admin.post('/keys/rotate', { talkgroup_id: gone }), notFound);
  }
});

t.test('an id in capital letters names the same talkgroup', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  t.match(await s.radio.post(`/talkgroups/${id.toUpperCase()}/join`), ok);
  t.match(s.notices, [{ kind: 'joined', talkgroup: id }]);
});

t.test('the rotation counter grows by one and is told by every route that shows it', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  t.strictSame((await s.radio.get(`/keys/rotation?talkgroup_id=${id}`)).body, {
    talkgroup_id: id,
    rotation_counter: 0,
  });
  const rotated = { talkgroup_id: id, rotation_counter: 1 };
  t.strictSame((await s.admin.post('/keys/rotate', { talkgroup_id: id })).body, rotated);
  t.strictSame((await s.radio.get(`/keys/rotation?talkgroup_id=${id}`)).body, rotated);
  await s.radio.post(`/talkgroups/${id}/join`);
  t.match((await s.radio.get('/talkgroups')).body, { talkgroups: [{ talkgroup: { rotation_counter: 1 } }] });

  await Promise.all(Array.from({ length: 20 }, () => s.admin.post('/keys/rotate', { talkgroup_id: id })));
  t.match((await s.radio.get(`/keys/rotation?talkgroup_id=${id}`)).body, { rotation_counter: 21 });
});

t.test('the relay is told of every change that matters to live sockets, and of no refused one', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const user = s.radio.userId;
  await s.radio.post(`/talkgroups/${id}/join`);
  await s.radio.post(`/talkgroups/${id}/join`);
  await s.radio.delete(`/talkgroups/${id}/leave`);
  await s.admin.delete(`/talkgroups/${id}/members/${user}`);
  await s.admin.patch(`/talkgroups/${id}`, { floor_mode: 'single' });
  await s.admin.patch(`/talkgroups/${id}`, {});
  await s.admin.post('/keys/rotate', { talkgroup_id: id });
  await s.admin.delete(`/talkgroups/${id}`);
  await s.admin.patch(`/devices/${s.radio.deviceId}/status`, { active: false });
  await s.admin.delete(`/talkgroups/${id}`);
  await s.admin.patch(`/talkgroups/${id}`, { floor_mode: 'single' });
  await s.admin.delete(`/talkgroups/${id}/members/${user}`);
  await s.admin.patch(`/devices/${randomUUID()}/status`, { active: false });
  const changes = s.notices.map(({ id: _own, ...change }) => change);
  t.strictSame(changes, [
    { kind: 'joined', user, talkgroup: id },
    { kind: 'joined', user, talkgroup: id },
    { kind: 'left', user, talkgroup: id },
    { kind: 'left', user, talkgroup: id },
    { kind: 'talkgroup_changed', talkgroup: id },
    { kind: 'talkgroup_changed', talkgroup: id },
    { kind: 'key_rotated', talkgroup: id },
    { kind: 'talkgroup_deleted', talkgroup: id },
    { kind: 'device_changed', device: s.radio.deviceId },
  ]);
  t.equal(new Set(s.notices.map(({ id }) => id)).size, 9, 'each notice has an id of its own');
});

t.test('a change the relay does not confirm is stored and answered 503', async (t) => {
  const relays = {
    'answers with an error': () => Promise.reject(new Error('relay gone')),
    'throws at once': () => {
      throw new Error('relay gone');
    },
    'never answers': () => new Promise<never>(() => {}),
  };
  for (const [name, tell] of Object.entries(relays)) {
    await t.test(`when the relay ${name}`, async (t) => {
      const s = await service(t, { tell });
      const id = await s.talkgroup();
      const startedAt = performance.now();
      const answer = await s.radio.post(`/talkgroups/${id}/join`);
      t.match(answer, { status: 503, body: { error: /^the change is stored, / } });
      t.equal(answer.headers.get('retry-after'), '1');
      within(t, performance.now() - startedAt, 2000);
      t.match((await s.radio.get('/talkgroups')).body, { talkgroups: [{ talkgroup_id: id }] });
      t.match(await s.admin.patch(`/talkgroups/${id}`, { name: 'rail' }), { status: 503 });
      t.match((await s.radio.get('/talkgroups')).body, { talkgroups: [{ talkgroup: { name: 'rail' } }] });
      t.match(await s.admin.delete(`/talkgroups/${id}/members/${s.radio.userId}`), { status: 503 });
      t.strictSame((await s.radio.get('/talkgroups')).body, { talkgroups: [] });
    });
  }
});

t.test('the same notice reaches the other nodes through the database', async (t) => {
  const s = await service(t);
  const heard: Notice[] = [];
  const listener = await s.listen((notice) => heard.push(notice));
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  await s.radio.delete(`/talkgroups/${id}/leave`);
  await s.admin.patch(`/talkgroups/${id}`, { floor_mode: 'single' });
  await s.admin.delete(`/talkgroups/${id}/members/${s.radio.userId}`);
  await s.admin.post('/keys/rotate', { talkgroup_id: id });
  await s.admin.delete(`/talkgroups/${id}`);
  await s.admin.patch(`/devices/${s.radio.deviceId}/status`, { active: false });
  await until(() => heard.length >= s.notices.length);
  await listener.close();
  t.equal(heard.length, 7);
  t.strictSame(heard, s.notices);
});

t.test('speech is recorded by every node or by none', async (t) => {
  const lasting = { recording_days: 30 };
  const mixed = await service(t, { isRecorded: async () => false });
  const id = await mixed.talkgroup();
  t.match(await mixed.admin.patch(`/talkgroups/${id}`, lasting), {
    status: 409,
    body: { error: 'not every node of the service records' },
  });
  t.equal((await mixed.admin.patch(`/talkgroups/${id}`, { recording_days: 0 })).status, 200);
  const off = await service(t, { settings: { RECORDING_GB: '0' } });
  t.match(await off.admin.patch(`/talkgroups/${await off.talkgroup()}`, lasting), {
    status: 409,
    body: { error: 'this node records nothing: RECORDING_GB is 0' },
  });
});
