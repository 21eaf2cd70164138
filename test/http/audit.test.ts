// The audit log: each act of an administrator leaves its row, in the statement that acts, and nothing else leaves one.
import { createECDH, randomBytes, randomUUID } from 'node:crypto';
import t from 'tap';
import { openAudit } from '../../src/audit/keeping.js';
import { deleteOldActs, newestBackup } from '../../src/audit/store.js';
import { deadlineIn } from '../../src/db/deadline.js';
import { noticeOf } from '../../src/db/notice.js';
import { raiseEmergency } from '../../src/emergencies/store.js';
import type { TalkgroupId } from '../../src/ids.js';
import { recordingIdOf } from '../../src/protocol/recording-id.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { type AccountCaller, type Answer, PASSWORD, type Service, service } from '../helpers/http/rest.js';

const soon = () => deadlineIn(HANGS_MS);

interface Row {
  readonly id: number;
  readonly at: string;
  readonly by_id: string | null;
  readonly by_name: string;
  readonly way: string;
  readonly act: string;
  readonly user_id: string | null;
  readonly device_id: string | null;
  readonly talkgroup_id: string | null;
  readonly details: Record<string, unknown>;
}

const rowsOf = (s: Service) =>
  s.sql<Row>(
    (sql) => sql`
    select id::int, by_id, by_name, way, act, user_id, device_id, talkgroup_id, details from acts order by id`,
  );

/** What one request of an administrator leaves. */
interface Case {
  readonly does: () => Promise<Answer>;
  /** null: no act. */
  readonly leaves: (Partial<Row> & { readonly act: string }) | null;
  /** The same request again changes nothing, and so leaves nothing. */
  readonly isOnce?: boolean;
}

/** A recording of what the caller said. */
async function recordedIn(
  s: Service,
  { userId }: AccountCaller,
  talkgroup: TalkgroupId,
  session = 1,
): Promise<string> {
  const id = recordingIdOf({ startedAt: Date.now(), session, burst: 1, piece: 0 });
  await s.sql(
    (sql) => sql`
      insert into recordings (id, talkgroup_id, talkgroup_number, talkgroup_name, user_id, username, started_at, expires_at,
        epoch, was_required, priority, emergency, first_frame)
      values (${id}, ${talkgroup}, 1, 'fire', ${userId}, 'bob', now(), now() + interval '1 day', 0, false, 1, false, 1)`,
  );
  return id;
}

/** A legal hold of a talkgroup that may have been deleted. */
async function heldIn(s: Service, talkgroup: TalkgroupId): Promise<string> {
  const [row] = await s.sql<{ id: string }>(
    (sql) => sql`
      insert into recording_holds (talkgroup_id, talkgroup_name, from_at, to_at, from_id, to_id, reason, created_by, created_by_name)
      values (${talkgroup}, 'doomed', now() - interval '1 day', now(), gen_random_uuid(), gen_random_uuid(), 'x', ${s.admin.userId}, 'x')
      returning id`,
  );
  return row?.id ?? '';
}

async function raised(s: Service, raiser: AccountCaller, talkgroup: TalkgroupId): Promise<string> {
  const id = randomUUID();
  await raiseEmergency(s.database, soon(), {
    ...{ id, user: raiser.userId, talkgroup, lat: null, lng: null, alt: null },
    raisedAt: '2031-05-06T07:08:09.010Z',
    notice: noticeOf({ kind: 'emergency_changed', talkgroup }),
  });
  return id;
}

async function holderOf(s: Service, user: AccountCaller): Promise<string> {
  const [row] = await s.sql<{ id: string }>(
    (sql) => sql`
      insert into key_holders (user_id, public_key, name) values (${user.userId}, ${randomBytes(65)}, 'phone')
      returning id`,
  );
  return row?.id ?? '';
}

/** By route, as the service registers it. */
async function casesOf(s: Service): Promise<Record<string, Case>> {
  const { admin, radio } = s;
  const bob = await s.account({ username: 'bob', serial: 'SN-bob' });
  const eve = await s.account({ username: 'eve' });
  const leaver = await s.account({ username: 'leaver', serial: 'SN-leaver' });
  const { body } = await admin.post('/auth/login', {
    ...{ username: 'admin', password: PASSWORD, deviceSerial: 'SN-admin' },
  });
  t.ok((body as { jwt?: string }).jwt);
  const me = (await admin.get('/me')).body as { device: { id: string } };
  const ofAdmin = me.device.id;
  const [group, doomed] = [await s.talkgroup('fire'), await s.talkgroup('doomed')];
  for (const one of [radio, bob]) await one.post(`/talkgroups/${group}/join`);
  const [acknowledged, own] = [await raised(s, bob, group), await raised(s, radio, group)];
  const recording = await recordedIn(s, bob, group);
  await recordedIn(s, bob, group, 2);
  const hold = await heldIn(s, doomed);
  const carol = await s.account({ username: 'carol' });
  const [waiting, lost] = [await holderOf(s, carol), await holderOf(s, carol)];
  const device = { device_id: radio.deviceId, details: { serial: 'radio-1' } };
  const ofBob = { user_id: bob.userId };
  const inGroup = { talkgroup_id: group };
  return {
    'PUT /users/:id/password': {
      does: () => admin.put(`/users/${eve.userId}/password`, { password: 'forgotten', keep_tokens: true }),
      leaves: {
        act: 'password_set',
        user_id: eve.userId,
        details: { username: 'eve', tokens_kept: true },
      },
    },
    'PATCH /users/:id': {
      does: () => admin.patch(`/users/${eve.userId}`, { dispatcher: true }),
      leaves: { act: 'dispatcher_added', user_id: eve.userId, details: { username: 'eve' } },
      isOnce: true,
    },
    'POST /users/:id/setup-code': {
      does: () => admin.post(`/users/${eve.userId}/setup-code`, {}),
      leaves: { act: 'setup_code_made', user_id: eve.userId },
    },
    'POST /users/:id/revoke': {
      does: () => admin.post(`/users/${eve.userId}/revoke`),
      leaves: { act: 'tokens_revoked', user_id: eve.userId, details: { username: 'eve' } },
    },
    'DELETE /users/:id': {
      does: () => admin.delete(`/users/${leaver.userId}`),
      leaves: {
        ...{ act: 'user_deleted', user_id: leaver.userId, device_id: leaver.deviceId },
        details: { username: 'leaver', serial: 'SN-leaver' },
      },
    },
    'PUT /users/:id/device': {
      does: () => admin.put(`/users/${eve.userId}/device`, { serial: 'SN-eve', site: 'Depot' }),
      leaves: { act: 'device_linked', user_id: eve.userId, details: { username: 'eve', serial: 'SN-eve' } },
      isOnce: true,
    },
    'DELETE /users/:id/device': {
      does: () => admin.delete(`/users/${bob.userId}/device`),
      leaves: {
        ...{ act: 'device_unlinked', ...ofBob, device_id: bob.deviceId },
        details: { username: 'bob', serial: 'SN-bob' },
      },
      isOnce: true,
    },
    'POST /talkgroups': {
      does: () => admin.post('/talkgroups', { name: 'harbour', floor_mode: 'single' }),
      leaves: { act: 'talkgroup_created', details: { talkgroup: 'harbour', floor_mode: 'single' } },
    },
    'PATCH /talkgroups/:id': {
      does: () =>
        admin.patch(`/talkgroups/${group}`, { name: 'fire 1', max_talk_ms: 50_000, floor_mode: 'open' }),
      leaves: {
        ...{ act: 'talkgroup_changed', ...inGroup },
        details: { talkgroup: 'fire', name: 'fire 1', max_talk_ms: 50_000 },
      },
      isOnce: true,
    },
    'PUT /talkgroups/:id/members/:user_id': {
      does: () => admin.put(`/talkgroups/${group}/members/${eve.userId}`),
      leaves: {
        ...{ act: 'member_added', user_id: eve.userId, ...inGroup },
        details: { username: 'eve', talkgroup: 'fire 1' },
      },
      isOnce: true,
    },
    'PUT /talkgroups/:id/members/:user_id/keys': {
      does: () => admin.put(`/talkgroups/${group}/members/${bob.userId}/keys`, { allowed: true }),
      leaves: { act: 'keys_permitted', ...ofBob, ...inGroup },
      isOnce: true,
    },
    'DELETE /talkgroups/:id/members/:user_id': {
      does: () => admin.delete(`/talkgroups/${group}/members/${bob.userId}`),
      leaves: {
        act: 'member_removed',
        ...ofBob,
        ...inGroup,
        details: { username: 'bob', talkgroup: 'fire 1' },
      },
      isOnce: true,
    },
    'DELETE /talkgroups/:id': {
      does: () => admin.delete(`/talkgroups/${doomed}`),
      leaves: { act: 'talkgroup_deleted', talkgroup_id: doomed, details: { talkgroup: 'doomed' } },
    },
    'PATCH /devices/:id': {
      does: () => admin.patch(`/devices/${radio.deviceId}`, { site: 'south' }),
      leaves: { act: 'device_changed', ...device, details: { serial: 'radio-1', site: 'south' } },
      isOnce: true,
    },
    'PATCH /devices/:id/status': {
      does: () => admin.patch(`/devices/${radio.deviceId}/status`, { active: false }),
      leaves: { act: 'device_disabled', ...device },
      isOnce: true,
    },
    'POST /keys/rotate': {
      does: () => admin.post('/keys/rotate', { talkgroup_id: group }),
      leaves: { act: 'keys_rotated', ...inGroup, details: { talkgroup: 'fire 1', rotation_counter: 1 } },
    },
    'POST /keys/holders/:id/accept': {
      does: () => admin.post(`/keys/holders/${waiting}/accept`, {}),
      leaves: {
        ...{ act: 'holder_accepted', user_id: carol.userId },
        details: { username: 'carol', holder_id: waiting },
      },
      isOnce: true,
    },
    'DELETE /keys/holders/:id': {
      does: () => admin.delete(`/keys/holders/${lost}`),
      leaves: {
        ...{ act: 'holder_deleted', user_id: carol.userId },
        details: { username: 'carol', holder_id: lost },
      },
    },
    'POST /emergencies/:id/ack': {
      does: () => admin.post(`/emergencies/${acknowledged}/ack`),
      leaves: {
        ...{ act: 'emergency_acknowledged', ...ofBob, ...inGroup },
        details: { username: 'bob', talkgroup: 'fire 1', emergency_id: acknowledged },
      },
      isOnce: true,
    },
    'POST /emergencies/:id/clear': {
      does: () => admin.post(`/emergencies/${own}/clear`),
      leaves: { act: 'emergency_cleared', user_id: radio.userId, ...inGroup },
    },
    // What a caller does to the own account is no act upon a user.
    'POST /auth/changepassword': {
      does: () => admin.post('/auth/changepassword', { oldPassword: PASSWORD, newPassword: 'another one' }),
      leaves: null,
    },
    'POST /talkgroups/:id/join': { does: () => admin.post(`/talkgroups/${group}/join`), leaves: null },
    'DELETE /talkgroups/:id/leave': { does: () => admin.delete(`/talkgroups/${group}/leave`), leaves: null },
    'POST /devices/:id/gps': {
      does: () => admin.post(`/devices/${ofAdmin}/gps`, { lat: 1, lng: 2, alt: 3 }),
      leaves: null,
    },
    'POST /keys/holders': {
      does: () =>
        admin.post('/keys/holders', {
          ...{ password: 'another one', name: 'x' },
          public_key: createECDH('prime256v1').generateKeys().toString('base64url'),
        }),
      leaves: null,
    },
    'DELETE /recordings/:id': {
      does: () => admin.delete(`/recordings/${recording}`),
      leaves: {
        ...{ act: 'recording_erased', ...inGroup, user_id: null },
        details: { talkgroup: 'fire', recording_id: recording },
      },
      isOnce: true,
    },
    'DELETE /recordings': {
      does: () => admin.delete(`/recordings?talkgroup_id=${group}`),
      leaves: {
        ...{ act: 'recordings_erased', ...inGroup, user_id: null },
        details: { talkgroup: 'fire', recordings: 1 },
      },
      isOnce: true,
    },
    'POST /recordings/holds': {
      does: () =>
        admin.post('/recordings/holds', {
          ...{ talkgroup_id: group, from: '2026-01-01T08:00Z', to: '2026-01-01T09:00Z', reason: 'Case 1' },
        }),
      leaves: { act: 'hold_created', ...inGroup },
    },
    'DELETE /recordings/holds/:id': {
      does: () => admin.delete(`/recordings/holds/${hold}`),
      leaves: { act: 'hold_released', talkgroup_id: doomed },
      isOnce: true,
    },
    'POST /auth/revoke': { does: () => admin.post('/auth/revoke'), leaves: null },
  };
}

t.test(
  'each act by REST has one row and one log line, with names, and no other request has any',
  async (t) => {
    const s = await service(t);
    const cases = await casesOf(s);
    const changing = s.server.routes
      .filter(({ method, access }) => !['GET', 'HEAD'].includes(method) && access !== 'public')
      .map(({ method, url }) => `${method} ${url}`);
    t.strictSame(Object.keys(cases).sort(), changing.sort(), 'every route is tried');

    for (const [name, { does, leaves, isOnce = false }] of Object.entries(cases)) {
      const before = (await rowsOf(s)).length;
      const logged = s.logged().length;
      const { status } = await does();
      t.equal(status, 200, name);
      const rows = (await rowsOf(s)).slice(before);
      const lines = s
        .logged()
        .slice(logged)
        .split('\n')
        .filter((line) => line.includes('"msg":"act"'));
      t.equal(lines.length, leaves === null ? 0 : 1, `${name}: lines`);
      t.equal(rows.length, leaves === null ? 0 : 1, `${name}: rows`);
      if (leaves === null) continue;
      t.match(rows[0], { by_id: s.admin.userId, by_name: 'admin', way: 'rest', ...leaves }, name);
      if (leaves.details !== undefined) t.strictSame(rows[0]?.details, leaves.details, `${name}: details`);
      const { talkgroup: talkgroup_name, ...details } = rows[0]?.details ?? {};
      const { id, user_id: user, device_id: device, talkgroup_id: talkgroup } = rows[0] ?? {};
      t.match(
        JSON.parse(lines[0] ?? ''),
        { id, act: leaves.act, by: 'admin', way: 'rest', user, device, talkgroup, ...details },
        name,
      );
      if (talkgroup_name !== undefined) t.match(JSON.parse(lines[0] ?? ''), { talkgroup_name });
      if (!isOnce) continue;
      const { status: again } = await does();
      t.ok([200, 404].includes(again), `${name} again: ${again}`);
      t.equal((await rowsOf(s)).length, before + 1, `${name} again`);
    }
    const acts = s.logged().split('\n');
    const everything = [
      JSON.stringify(await rowsOf(s)),
      ...acts.filter((line) => line.includes('"msg":"act"')),
    ].join();
    for (const secret of [PASSWORD, 'forgotten', 'another one', '$2', s.admin.token.split('.')[2] ?? ''])
      t.notOk(everything.includes(secret), 'no secret is in the audit log');
  },
);

t.test('what cannot be written to the audit log is not done', async (t) => {
  const s = await service(t);
  const victim = await s.account({ username: 'victim', serial: 'SN-1' });
  const group = await s.talkgroup('fire');
  const recording = await recordedIn(s, victim, group);
  const hold = { talkgroup_id: group, from: '2026-01-01T08:00Z', to: '2026-01-01T09:00Z', reason: 'x' };
  await s.sql((sql) => sql`alter table acts add constraint nothing check (false) not valid`);
  const requests: readonly (readonly [string, string, unknown?])[] = [
    ['DELETE', `/users/${victim.userId}`],
    ['POST', `/users/${victim.userId}/revoke`],
    ['PATCH', `/devices/${victim.deviceId}/status`, { active: false }],
    ['PATCH', `/talkgroups/${group}`, { name: 'other' }],
    ['DELETE', `/talkgroups/${group}`],
    ['PUT', `/talkgroups/${group}/members/${victim.userId}`],
    ['POST', '/keys/rotate', { talkgroup_id: group }],
    ['POST', '/recordings/holds', hold],
    ['DELETE', `/recordings/${recording}`],
    ['DELETE', `/recordings?user_id=${victim.userId}`],
  ];
  for (const [method, path, body] of requests) {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status } = await s.admin.send(method, path, {
      headers: { 'content-type': 'application/json' },
      ...init,
    });
    t.equal(status, 500, `${method} ${path}`);
  }
  t.equal((await victim.get('/me')).status, 200);
  t.match((await s.admin.get(`/keys/rotation?talkgroup_id=${group}`)).body, { rotation_counter: 0 });
  t.match((await s.admin.get(`/talkgroups/${group}/members`)).body, { members: [] });
  t.match((await s.admin.get(`/recordings/${recording}`)).body, { recording: { erased_at: null } });
  t.match((await s.admin.get('/recordings/holds')).body, { holds: [] });
  const { body } = await s.admin.get('/talkgroups/directory');
  t.match(body, { talkgroups: [{ id: group, name: 'fire' }] });
});

t.test('the log is read in pages, by user and by act, and who reads it is noted once an hour', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.account({ username: 'ann' }), await s.account({ username: 'bob' })];
  const second = await s.account({ role: 'admin', username: 'second' });
  for (const one of [ann, bob, ann]) await s.admin.post(`/users/${one.userId}/revoke`);
  await second.delete(`/users/${bob.userId}`);
  const read = async (caller: AccountCaller, query = '') => {
    const { status, body } = await caller.get(`/audit${query}`);
    t.equal(status, 200, query);
    return body as { acts: Row[]; next: string | null };
  };
  const all = await read(s.admin);
  t.strictSame(Object.keys(all), ['acts', 'next']);
  t.strictSame(
    all.acts.map(({ act, details: { username } }) => [act, username]),
    [
      ['user_deleted', 'bob'],
      ['tokens_revoked', 'ann'],
      ['tokens_revoked', 'bob'],
      ['tokens_revoked', 'ann'],
    ],
    'newest first, also of a user who is gone',
  );
  t.match(all.acts[0]?.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.equal(all.next, null);
  t.strictSame(
    (await read(s.admin)).acts.map(({ act, by_name }) => [act, by_name]).slice(0, 1),
    [['audit_read', 'admin']],
    'the read before this one',
  );
  t.equal((await read(second, '?act=audit_read')).acts.length, 1);
  t.equal((await read(second, '?act=audit_read')).acts.length, 2, 'of the other reader');
  t.equal((await read(s.admin, '?act=audit_read')).acts.length, 2, 'and none of the same hour');
  await s.sql((sql) => sql`update acts set at = at - interval '61 minutes' where act = 'audit_read'`);
  await read(s.admin);
  t.equal((await read(s.admin, '?act=audit_read')).acts.length, 3, 'an hour later');

  t.strictSame(
    (await read(s.admin, `?user_id=${bob.userId}`)).acts.map(({ act }) => act),
    ['user_deleted', 'tokens_revoked'],
  );
  const [one, other] = [await s.account({ serial: 'SN-audit-1' }), await s.account({ serial: 'SN-audit-2' })];
  const deviceOf = async (who: typeof one) =>
    (await s.sql<{ id: string }>((sql) => sql`select device_id as id from users where id = ${who.userId}`))[0]
      ?.id;
  for (const who of [one, other]) {
    const path = `/devices/${await deviceOf(who)}/status`;
    t.equal((await s.admin.patch(path, { active: false })).status, 200);
  }
  t.strictSame(
    (await read(s.admin, `?user_id=${one.userId}`)).acts.map(({ act }) => act),
    ['device_disabled'],
    'and what was done to the device of a user',
  );
  t.strictSame(
    (await read(s.admin, `?user_id=${second.userId}`)).acts.map(({ act }) => act),
    ['audit_read', 'user_deleted'],
    'and what a user did',
  );
  const first = await read(s.admin, '?act=tokens_revoked&limit=2');
  t.equal(first.acts.length, 2);
  const rest = await read(s.admin, `?act=tokens_revoked&limit=2&before=${first.next}`);
  t.strictSame([rest.acts.length, rest.next], [1, null]);
  const ids = [...first.acts, ...rest.acts].map(({ id }) => id);
  t.strictSame(
    ids,
    [...ids].sort((a, b) => b - a),
  );

  for (const query of ['limit=0', 'limit=201', 'before=0', 'before=x', 'before=1e3', 'act=nothing'])
    t.equal((await s.admin.get(`/audit?${query}`)).status, 400, query);
  t.equal((await s.admin.get('/audit?user_id=x')).status, 404);
  t.equal((await s.radio.get('/audit')).status, 403);
});

t.test('old acts are deleted, and by two nodes at once none is left', async (t) => {
  const s = await service(t);
  await s.sql(
    (sql) => sql`
      insert into acts (at, by_name, way, act)
      select now() - interval '31 days', 'command root', 'command', 'tokens_revoked' from generate_series(1, 2500)`,
  );
  await s.sql(
    (sql) => sql`
      insert into acts (at, by_name, way, act)
      values (now() - interval '50 days', 'command root', 'command', 'backup_taken'),
             (now() - interval '40 days', 'command root', 'command', 'backup_taken')`,
  );
  // What another node deletes right now is passed over, and not waited for.
  const end = await s.begin(`
    select id from acts where at < now() - interval '30 days' order by at, id limit 1000 for update`);
  t.equal(await deleteOldActs(s.database, soon(), 30), 1000);
  await end();
  const lines: object[] = [];
  const log = { info: () => {}, warn: (line: object) => void lines.push(line) };
  const audit = openAudit({ config: { AUDIT_DAYS: 30 }, database: s.database, log });
  t.teardown(() => audit.close());
  t.equal(audit.figures().backupAgeS, null);
  audit.start();
  await eventually(async () => {
    const rows = await rowsOf(s);
    if (rows.length !== 1 || audit.figures().backupAgeS === null) throw new Error(`${rows.length} are left`);
  });
  const age = audit.figures().backupAgeS ?? 0;
  t.ok(Math.abs(age - 40 * 86_400) < 3700, `${age} s: the newest one stays`);
  t.ok(((await newestBackup(s.database, soon())) ?? 0) > 0);
  t.strictSame(lines, []);
});
