// What an administrator does to an account by REST: its device, and its deletion. And the device that a login links.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import {
  type AccountCaller,
  type Answer,
  type Caller,
  PASSWORD,
  type Service,
  service,
} from '../helpers/http/rest.js';

t.setTimeout(300_000);

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const OK = { status: 200, body: { ok: true } };
const NO_USER = { status: 404, body: { error: 'user not found' } };
const ADMIN = {
  status: 403,
  body: { error: 'the account of an administrator is changed on the command line' },
};

interface Device {
  readonly id: string;
  readonly name: string;
  readonly site: string;
}

function deviceIn({ status, body }: Answer): Device {
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(Object.keys(body as object), ['device']);
  return (body as { device: Device }).device;
}

const ownDevice = async (who: AccountCaller) =>
  ((await who.get('/me')).body as { device: Device | null }).device;

const isValid = async (who: AccountCaller) => (await who.get('/me')).status === 200;

const count = async (
  s: Service,
  table: 'devices' | 'users' | 'key_holders' | 'memberships' | 'gps_fixes',
) => {
  const [row] = await s.sql<{ n: number }>((sql) => sql`select count(*)::integer as n from ${sql(table)}`);
  return row?.n;
};

/** A key holder of the user, registered without a device. */
const addHolder = (s: Service, { userId }: AccountCaller) =>
  s.sql(
    (sql) => sql`
      insert into key_holders (user_id, public_key, name, accepted_at)
      values (${userId}, decode('04' || repeat('00', 64), 'hex'), 'phone', now())`,
  );

t.test('a first device revokes nothing, another one and none at all do', async (t) => {
  const s = await service(t);
  const ann = await s.account();
  const link = (body: object) => s.admin.put(`/users/${ann.userId}/device`, body);
  await addHolder(s, ann);

  const first = deviceIn(await link({ serial: 'SN-1', site: 'Depot', name: 'Engine 4' }));
  t.match(first, { name: 'Engine 4', site: 'Depot', serial: 'SN-1', active: true });
  t.strictSame(Object.keys(first).sort(), ['active', 'created_at', 'id', 'name', 'serial', 'site']);
  t.strictSame(await ownDevice(ann), first, 'with the token of before');
  t.strictSame(
    await s.sql((sql) => sql`select device_id from key_holders`),
    [{ device_id: first.id }],
    'the key holder ends with the device',
  );
  t.match(s.notices, [{ kind: 'user_promoted', user: ann.userId }]);

  t.strictSame(deviceIn(await link({ serial: 'SN-1', site: 'elsewhere', name: 'x' })), first, 'again');
  t.match(s.notices.slice(1), [{ kind: 'user_promoted' }], 'for whoever repeats what was not confirmed');
  s.notices.length = 0;
  t.ok(await isValid(ann));

  const second = deviceIn(await link({ serial: 'SN-2' }));
  t.match(second, { name: 'SN-2', site: 'unknown' });
  t.notOk(await isValid(ann), 'the tokens of the device before end');
  t.equal(await count(s, 'key_holders'), 0);
  t.match(
    s.notices.map(({ kind }) => kind),
    ['user_revoked', 'user_promoted'],
  );

  const again = await loggedIn(s, ann);
  t.match(await s.admin.delete(`/users/${ann.userId}/device`), OK);
  t.notOk(await isValid(again));
  const last = await loggedIn(s, ann);
  t.match(await s.admin.delete(`/users/${ann.userId}/device`), OK, 'without a device');
  t.ok(await isValid(last), 'nothing is revoked');
  t.equal(await ownDevice(last), null);
  t.equal(await count(s, 'devices'), 3, 'the devices stay');
});

async function loggedIn(s: Service, { username, userId }: AccountCaller, more = {}): Promise<AccountCaller> {
  const { status, body } = await s.nobody.post('/auth/login', { username, password: PASSWORD, ...more });
  assert.equal(status, 200, JSON.stringify(body));
  const token = (body as { jwt: string }).jwt;
  return { ...s.withToken(token), userId, username, token, deviceId: null };
}

t.test('no disabled device is linked, and none to an administrator or an unknown user', async (t) => {
  const s = await service(t);
  const ann = await s.account();
  const link = (id: string, body: unknown) => s.admin.put(`/users/${id}/device`, body);
  await s.admin.patch(`/devices/${s.radio.deviceId}/status`, { active: false });
  const disabled = { status: 409, body: { error: 'the device is disabled' } };
  t.match(await link(ann.userId, { serial: 'radio-1' }), disabled);
  t.match(await link(s.admin.userId, { serial: 'SN-1' }), ADMIN);
  t.match(await s.admin.delete(`/users/${s.admin.userId}/device`), ADMIN);
  for (const id of [randomUUID(), 'x', `${s.radio.deviceId}`]) {
    t.match(await link(id, { serial: 'SN-1' }), NO_USER);
    t.match(await s.admin.delete(`/users/${id}/device`), NO_USER);
    t.match(await s.admin.delete(`/users/${id}`), NO_USER);
  }
  for (const body of [
    {},
    { serial: '' },
    { serial: 'x'.repeat(129) },
    { serial: 5 },
    { serial: 'x', site: '' },
  ])
    t.equal((await link(ann.userId, body)).status, 400, JSON.stringify(body));
  t.equal((await ann.put(`/users/${ann.userId}/device`, { serial: 'SN-1' })).status, 403);
  t.equal((await ann.delete(`/users/${ann.userId}`)).status, 403);
  t.equal(await count(s, 'devices'), 1, 'and no device is created');
  t.ok(await isValid(ann));
  t.equal(await ownDevice(ann), null);
});

t.test(
  'a user is shown with device, talkgroups, key holders, emergencies and the end of tokens',
  async (t) => {
    const s = await service(t);
    const { userId: id, username, deviceId } = s.radio;
    const show = async (user: string, who: Caller = s.admin) => who.get(`/users/${user}`);
    const account = { id, username, role: 'user', device_id: deviceId, created_at: ISO };
    const device = {
      id: deviceId,
      name: 'radio-1',
      serial: 'radio-1',
      active: true,
      site: 'north',
      position_at: null,
    };
    const nothing = { talkgroups: [], talkgroups_total: 0, tokens_valid_from: null, emergencies: [] };
    const empty = { user: account, device, ...nothing, key_holders: { accepted: 0, waiting: 0 } };
    const { body } = await show(id);
    t.match(body, empty);
    t.strictSame(Object.keys(body as object), [
      ...[
        'user',
        'device',
        'talkgroups',
        'talkgroups_total',
        'tokens_valid_from',
        'key_holders',
        'emergencies',
      ],
    ]);
    const group = await s.talkgroup('Fire 1');
    await s.radio.post(`/talkgroups/${group}/join`);
    await s.radio.post(`/devices/${deviceId}/gps`, { lat: 1, lng: 2, alt: 3 });
    const [raised] = await s.sql<{ id: string }>(
      (sql) => sql`
      insert into emergencies (id, talkgroup_id, user_id, raised_at)
      values (gen_random_uuid(), ${group}, ${id}, now()) returning id`,
    );
    await s.admin.post(`/users/${id}/revoke`);
    await addHolder(s, s.radio);
    const shown = (await show(id.toUpperCase())).body;
    const membership = {
      id: group,
      name: 'Fire 1',
      site: 'north',
      floor_mode: 'open',
      encryption: 'allowed',
    };
    t.match(shown, {
      ...{
        device: { position_at: ISO },
        talkgroups: [{ ...membership, may_have_keys: false }],
        talkgroups_total: 1,
      },
      ...{ tokens_valid_from: ISO, key_holders: { accepted: 1, waiting: 0 }, emergencies: [raised?.id] },
    });
    t.notMatch(JSON.stringify(shown), /password|\$2/);
    t.match((await show(s.admin.userId)).body, { user: { role: 'admin' }, device: null });
    for (const unknown of [randomUUID(), 'x']) t.match(await show(unknown), NO_USER);
    t.equal((await show(id, await s.account())).status, 403);
  },
);

t.test('of two serials linked at once one stays, and both answers are 200', async (t) => {
  const s = await service(t);
  for (let round = 0; round < 10; round++) {
    const ann = await s.account();
    const devices = await Promise.all(
      ['a', 'b'].map((letter) => s.admin.put(`/users/${ann.userId}/device`, { serial: `${round}${letter}` })),
    );
    const ids = devices.map((answer) => deviceIn(answer).id);
    const device = await ownDevice(await loggedIn(s, ann));
    t.ok(device !== null && ids.includes(device.id), `round ${round}`);
  }
});

t.test('a login links its serial to an account without a device, and to no other', async (t) => {
  const s = await service(t);
  const ann = await s.account();
  const phone = await loggedIn(s, ann, { deviceSerial: 'e\u0301', site: 'Depot' });
  t.match(await ownDevice(phone), { serial: '\u00e9', name: '\u00e9', site: 'Depot' });
  t.ok(await isValid(ann), 'earlier tokens stay valid');
  const other = await loggedIn(s, ann, { deviceSerial: 'of a thief' });
  t.match(await ownDevice(other), { serial: '\u00e9' });
  t.equal(await count(s, 'devices'), 2, 'and no device is created');

  const boss = await s.account({ role: 'admin' });
  t.match(await ownDevice(await loggedIn(s, boss, { deviceSerial: 'of the boss' })), { site: 'unknown' });

  const bob = await s.account();
  await s.admin.patch(`/devices/${s.radio.deviceId}/status`, { active: false });
  const { username } = bob;
  const login = (more: object) => s.nobody.post('/auth/login', { username, password: PASSWORD, ...more });
  t.match(await login({ deviceSerial: 'radio-1' }), { status: 401, body: { error: 'device disabled' } });
  t.equal(await ownDevice(bob), null);
  t.equal((await login({ deviceSerial: '' })).status, 400);
  t.match(await login({ deviceSerial: 'new', password: 'wrong' }), { status: 401 });
  t.equal(await count(s, 'devices'), 3, 'a wrong password creates none');
});

t.test('a deleted user leaves the device and cleared emergencies, and nothing else', async (t) => {
  const s = await service(t);
  const { userId, username, deviceId } = s.radio;
  const group = await s.talkgroup();
  await s.radio.post(`/talkgroups/${group}/join`);
  await addHolder(s, s.radio);
  await s.radio.post(`/devices/${deviceId}/gps`, { lat: 1, lng: 2, alt: 3 });
  await s.sql(
    (sql) => sql`
      insert into emergencies (id, talkgroup_id, user_id, raised_at)
      values (gen_random_uuid(), ${group}, ${userId}, now())`,
  );
  s.notices.length = 0;
  const remove = () => s.admin.delete(`/users/${userId}`);
  t.match(await remove(), { status: 409, body: { error: 'the user has an open emergency' } });
  t.ok(await isValid(s.radio), 'nothing changed');
  t.equal(await count(s, 'memberships'), 1);
  t.strictSame(s.notices, []);

  const { body } = await s.admin.get('/emergencies');
  const [open] = (body as { emergencies: { emergency_id: string }[] }).emergencies;
  await s.radio.post(`/emergencies/${open?.emergency_id}/clear`);
  s.notices.length = 0;
  t.match(await remove(), OK);
  t.match(
    s.notices.map(({ kind }) => kind),
    ['user_revoked', 'user_promoted'],
  );
  t.match(await s.radio.get('/me'), { status: 401 });
  t.match(await s.nobody.post('/auth/login', { username, password: PASSWORD }), { status: 401 });
  for (const table of ['memberships', 'key_holders', 'gps_fixes'] as const)
    t.equal(await count(s, table), 0, table);
  t.equal(await count(s, 'devices'), 1);
  t.strictSame(await s.sql((sql) => sql`select user_id, cleared_by, state from emergencies`), [
    { user_id: null, cleared_by: null, state: 'cleared' },
  ]);
  t.match(await remove(), NO_USER, 'again');
  t.match(await s.admin.delete(`/users/${s.admin.userId}`), ADMIN);
  t.equal(
    (await s.nobody.post('/auth/register', { username, password: PASSWORD })).status,
    200,
    'the name is free',
  );
});

t.test('the position of a device stays while another user has the device', async (t) => {
  const s = await service(t);
  const ann = await s.account({ serial: 'radio-1' });
  assert.equal(ann.deviceId, s.radio.deviceId);
  await ann.post(`/devices/${ann.deviceId}/gps`, { lat: 1, lng: 2, alt: 3 });
  t.match(await s.admin.delete(`/users/${ann.userId}`), OK);
  t.equal((await s.radio.get(`/devices/${ann.deviceId}/gps`)).status, 200);
});

t.test('keys that a deleted user had rotate where encryption is required', async (t) => {
  const s = await service(t);
  const [required, allowed] = [await s.talkgroup(), await s.talkgroup()];
  for (const group of [required, allowed]) {
    await s.radio.post(`/talkgroups/${group}/join`);
    await s.sql(
      (sql) => sql`
        update talkgroups set encryption = ${group === required ? 'required' : 'allowed'} where id = ${group}`,
    );
  }
  await s.sql((sql) => sql`update memberships set may_have_keys = true`);
  s.notices.length = 0;
  t.match(await s.admin.delete(`/users/${s.radio.userId}`), OK);
  t.match(
    s.notices.filter(({ kind }) => kind === 'key_rotated'),
    [{ talkgroup: required }],
  );
  const counters = await s.sql<{ id: string; rotation_counter: number }>(
    (sql) => sql`select id, rotation_counter from talkgroups order by rotation_counter`,
  );
  t.strictSame(counters, [
    { id: allowed, rotation_counter: 0 },
    { id: required, rotation_counter: 1 },
  ]);
});

t.test('of a raise and a deletion at once no open emergency is left without its user', async (t) => {
  const s = await service(t);
  const group = await s.talkgroup();
  const outcomes = new Set<number>();
  for (let round = 0; round < 200 && (round < 30 || outcomes.size < 2); round++) {
    const ann = await s.account();
    const raise = delay(round % 10).then(() =>
      s.sql(
        (sql) => sql`
          insert into emergencies (id, talkgroup_id, user_id, raised_at)
          select gen_random_uuid(), ${group}, id, now() from users where id = ${ann.userId}`,
      ),
    );
    const [raised, removed] = await Promise.allSettled([raise, s.admin.delete(`/users/${ann.userId}`)]);
    assert(removed.status === 'fulfilled');
    outcomes.add(removed.value.status);
    const [row] = await s.sql<{ open: number; users: number }>(
      (sql) => sql`
        select (select count(*)::integer from emergencies where user_id = ${ann.userId}) as open,
               (select count(*)::integer from users where id = ${ann.userId}) as users`,
    );
    t.strictSame(
      row,
      removed.value.status === 409 ? { open: 1, users: 1 } : { open: 0, users: 0 },
      raised.status,
    );
    t.strictSame(await s.sql((sql) => sql`select from emergencies where user_id is null`), []);
  }
  t.strictSame([...outcomes].sort(), [200, 409], 'each of them came first once');
});
