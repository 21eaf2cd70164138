// Accounts by REST: registration, login, change of password, disabled devices and revoked users.
import { randomUUID } from 'node:crypto';
import { verify } from '@node-rs/bcrypt';
import t from 'tap';
import { addAdmin, promote } from '../../src/auth/store.js';
import { operator } from '../../src/commands/running.js';
import { deadlineIn } from '../../src/db/deadline.js';
import { takeBack } from '../../src/db/revocation.js';
import { HANGS_MS } from '../helpers/eventually.js';
import { type Answer, PASSWORD, PASSWORD_HASH, type Service, service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

const soon = () => deadlineIn(HANGS_MS);
const by = { by: operator(), act: 'tokens_revoked' } as const;

function claimsIn(answer: Answer): Record<string, unknown> {
  const { jwt } = answer.body as { jwt: string };
  return JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
}

async function userRow(s: Service, username: string) {
  type Row = {
    id: string;
    password_hash: string;
    role: string;
    device_id: string | null;
    valid_from: number;
  };
  const [row] = await s.sql<Row>((sql) => sql`select * from users where username = ${username}`);
  return row;
}

const deviceRows = (s: Service) =>
  s.sql<{ id: string; name: string; site: string; serial: string; active: boolean }>(
    (sql) =>
      sql`select id, name, site, serial, active from devices where serial <> 'radio-1' order by serial`,
  );

t.test(
  'a name that looks like another one is refused, and so are sites, serials and talkgroups',
  async (t) => {
    const s = await service(t);
    const unseen = [
      ...[
        '\u200b',
        '\u200d',
        '\u202e',
        '\u2066',
        '\u00ad',
        '\ufeff',
        '\u{e0061}',
        '\ufe0f',
        '\u2028',
        '\u2029',
      ],
      ...['\u3164', '\u2800', '\u00a0', '\u2003'],
    ];
    const imitators = [...unseen.map((one) => `an${one}na`), ' anna', 'anna ', 'an  na', ' ', '\u3000'];
    for (const text of imitators) {
      const name = [...text].map((one) => one.codePointAt(0)?.toString(16)).join(' ');
      const register = (more: object) =>
        s.nobody.post('/auth/register', { username: 'anna', password: PASSWORD, ...more });
      t.equal((await register({ username: text })).status, 400, name);
      t.equal((await register({ deviceSerial: text })).status, 400, `serial ${name}`);
      t.equal((await register({ deviceSerial: 'SN-1', site: text })).status, 400, `site ${name}`);
      t.equal((await s.admin.post('/talkgroups', { name: text })).status, 400, `talkgroup ${name}`);
    }
    // One that is there from before.
    await s.sql((sql) => sql`update users set username = ${'an\u200bna'} where id = ${s.radio.userId}`);
    t.equal((await s.nobody.post('/auth/login', { username: 'an\u200bna', password: PASSWORD })).status, 200);
  },
);

t.test('a serial is one in each spelling of its characters', async (t) => {
  const s = await service(t);
  for (const [username, deviceSerial] of [
    ['one', 'Zo\u00eb-1'],
    ['two', 'Zoe\u0308-1'],
  ] as const)
    t.equal(
      (await s.nobody.post('/auth/register', { username, password: PASSWORD, deviceSerial })).status,
      200,
    );
  const { body } = await s.admin.get('/devices');
  const serials = (body as { devices: { serial: string }[] }).devices.map(({ serial }) => serial);
  t.same(
    serials.filter((serial) => serial.endsWith('-1') && serial.startsWith('Zo')),
    ['Zo\u00eb-1'],
  );
});

t.test('registration answers with a token and a user id and stores a bcrypt hash of cost 10', async (t) => {
  const s = await service(t);
  const before = Math.floor(Date.now() / 1000);
  const answer = await s.nobody.post('/auth/register', { username: 'anna', password: 'pässword' });
  t.equal(answer.status, 200);
  t.strictSame(Object.keys(answer.body as object).sort(), ['jwt', 'userId']);
  const { userId, jwt } = answer.body as { userId: string; jwt: string };

  const claims = claimsIn(answer);
  t.strictSame(Object.keys(claims).sort(), ['iat', 'role', 'sub', 'username'], 'no exp, nothing secret');
  t.strictSame({ ...claims, iat: 0 }, { sub: userId, username: 'anna', role: 'user', iat: 0 });
  t.ok(Number(claims.iat) >= before && Number(claims.iat) <= Date.now() / 1000);

  const row = await userRow(s, 'anna');
  t.match(row, { id: userId, role: 'user', device_id: null });
  t.match(row?.password_hash, /^\$2[aby]\$10\$.{53}$/);
  t.ok(await verify('pässword', row?.password_hash ?? ''));
  t.equal((await s.withToken(jwt).get('/talkgroups')).status, 200, 'the token works');
});

t.test('no user registers with a role, an id or a device id of their own choice', async (t) => {
  const s = await service(t);
  const id = randomUUID();
  const smuggled = { role: 'admin', id, userId: id, sub: id, device_id: s.radio.deviceId, valid_from: 5 };
  const answer = await s.nobody.post('/auth/register', { username: 'eve', password: 'x', ...smuggled });
  t.equal(claimsIn(answer).role, 'user');
  const row = await userRow(s, 'eve');
  t.match(row, { role: 'user', device_id: null, valid_from: 0 });
  t.not(row?.id, id);
});

t.test('a serial links the device that has it, or creates one', async (t) => {
  const s = await service(t);
  const register = (username: string, more: object) =>
    s.nobody.post('/auth/register', { username, password: 'x', ...more });

  await register('first', { deviceSerial: 'SN 1', site: 'harbour' });
  await register('second', { deviceSerial: 'SN 1', site: 'another place' });
  await register('third', { deviceSerial: 'SN 2' });
  await register('fourth', { site: 'a site without a device' });
  const devices = await deviceRows(s);
  t.match(devices, [
    { name: 'SN 1', site: 'harbour', serial: 'SN 1', active: true },
    { name: 'SN 2', site: 'unknown', serial: 'SN 2', active: true },
  ]);
  t.equal(devices.length, 2);
  t.equal((await userRow(s, 'first'))?.device_id, devices[0]?.id);
  t.equal((await userRow(s, 'second'))?.device_id, devices[0]?.id, 'several users may share a device');
  t.equal((await userRow(s, 'third'))?.device_id, devices[1]?.id);
  t.equal((await userRow(s, 'fourth'))?.device_id, null);
});

t.test('a taken name is refused, and a device that came with it is not created', async (t) => {
  const s = await service(t);
  const body = { username: s.radio.username, password: 'x', deviceSerial: 'never seen' };
  const answer = await s.nobody.post('/auth/register', body);
  t.match(answer, { status: 409, body: { error: 'username taken' } });
  t.strictSame(await deviceRows(s), []);
});

t.test('a name is the same in both of its Unicode spellings, and another one in another case', async (t) => {
  const s = await service(t);
  const register = (username: string) => s.nobody.post('/auth/register', { username, password: PASSWORD });
  t.equal((await register('Zo\u00eb')).status, 200);
  t.match(await register('Zoe\u0308'), { status: 409, body: { error: 'username taken' } });
  t.equal((await register('zo\u00eb')).status, 200);
  const login = await s.nobody.post('/auth/login', { username: 'Zoe\u0308', password: PASSWORD });
  t.equal(claimsIn(login).username, 'Zo\u00eb');
});

t.test('the length of a name is counted in characters of the spelling that is stored', async (t) => {
  const s = await service(t, { passwords: { hash: async () => PASSWORD_HASH, verify: async () => false } });
  const register = async (username: string) =>
    (await s.nobody.post('/auth/register', { username, password: 'x' })).status;
  t.equal(await register('\u{1F4FB}'.repeat(64)), 200, '64 radios of 4 bytes each');
  t.equal(await register('\u{1F4FB}'.repeat(65)), 400);
  t.equal(await register('e\u0308'.repeat(64)), 200, '128 code points that are stored as 64');
  t.equal(await register('\u0958'.repeat(64)), 400, '64 code points that would be stored as 128');
});

t.test('login answers with a token alone', async (t) => {
  const s = await service(t);
  const answer = await s.nobody.post('/auth/login', { username: s.admin.username, password: PASSWORD });
  t.equal(answer.status, 200);
  t.strictSame(Object.keys(answer.body as object), ['jwt']);
  t.match(claimsIn(answer), { sub: s.admin.userId, username: 'admin', role: 'admin' });
});

t.test('an unknown name and a wrong password get the same answer for the same work', async (t) => {
  const verified: (string | null)[] = [];
  const s = await service(t, {
    passwords: {
      hash: async () => PASSWORD_HASH,
      async verify(_password, stored) {
        verified.push(stored);
        return false;
      },
    },
  });
  const wrong = { status: 401, body: { error: 'invalid credentials' } };
  const attempts = [
    { username: s.radio.username, password: 'wrong' },
    { username: 'nobody', password: 'wrong' },
    { username: 'a name that cannot exist\u0000', password: 'wrong' },
    { username: 'x'.repeat(300), password: 'wrong' },
    { username: '\ud800', password: 'wrong' },
    { username: '', password: '' },
  ];
  for (const attempt of attempts) t.match(await s.nobody.post('/auth/login', attempt), wrong);
  t.strictSame(verified, [PASSWORD_HASH, null, null, null, null, null]);
});

t.test('no other text opens an account than the password itself', async (t) => {
  const s = await service(t);
  const long = 'p'.repeat(72);
  await s.nobody.post('/auth/register', { username: 'long', password: long });
  await s.nobody.post('/auth/register', { username: 'short', password: 'abc' });
  await s.nobody.post('/auth/register', { username: 'odd', password: 'a\ufffd' });
  const login = async (username: string, password: string) =>
    (await s.nobody.post('/auth/login', { username, password })).status;
  t.equal(await login('long', long), 200);
  t.equal(await login('long', `${long}p`), 401, 'bcrypt alone would stop reading after 72 bytes');
  t.equal(await login('short', 'abc\u0000abc'), 401, 'bcrypt alone would start over after NUL');
  t.equal(await login('odd', 'a\ufffd'), 200);
  t.equal(await login('odd', 'a\ud800'), 401, 'UTF-8 has no unpaired surrogates');
});

t.test('new passwords have 1 to 72 bytes', async (t) => {
  const s = await service(t, { passwords: { hash: async () => PASSWORD_HASH, verify: async () => true } });
  const cases: [password: string, status: number][] = [
    ['', 400],
    ['x', 200],
    ['x'.repeat(72), 200],
    ['x'.repeat(73), 400],
    ['€'.repeat(24), 200],
    [`${'€'.repeat(24)}x`, 400],
    ['a\u0000b', 400],
    ['a\ud800', 400],
    ['\u0007 control characters are typed by nobody, but they are bytes', 200],
  ];
  for (const [password, status] of cases) {
    const registered = await s.nobody.post('/auth/register', { username: randomUUID(), password });
    t.equal(registered.status, status, JSON.stringify(password));
    const change = { oldPassword: PASSWORD, newPassword: password };
    t.equal((await s.radio.post('/auth/changepassword', change)).status, status, JSON.stringify(password));
  }
});

t.test('PASSWORD_MIN_LENGTH counts for new passwords and leaves old ones alone', async (t) => {
  const s = await service(t, { settings: { PASSWORD_MIN_LENGTH: '20' } });
  const username = 'bert';
  t.equal((await s.nobody.post('/auth/register', { username, password: 'x'.repeat(19) })).status, 400);
  t.equal((await s.nobody.post('/auth/register', { username, password: '€'.repeat(20) })).status, 200);
  t.equal((await s.nobody.post('/auth/login', { username: 'admin', password: PASSWORD })).status, 200);
  const change = { oldPassword: PASSWORD, newPassword: 'short' };
  t.equal((await s.admin.post('/auth/changepassword', change)).status, 400);
});

t.test('a changed password opens, the old one does not, and tokens stay valid', async (t) => {
  const s = await service(t);
  const login = async (password: string) =>
    (await s.nobody.post('/auth/login', { username: s.radio.username, password })).status;
  const wrong = await s.radio.post('/auth/changepassword', { oldPassword: 'wrong', newPassword: 'new' });
  t.match(wrong, { status: 401, body: { error: 'invalid credentials' } });
  t.equal(await login(PASSWORD), 200, 'a wrong old password changes nothing');

  const right = await s.radio.post('/auth/changepassword', { oldPassword: PASSWORD, newPassword: 'new' });
  t.match(right, { status: 200, body: { ok: true } });
  t.strictSame(right.body, { ok: true });
  t.equal(await login('new'), 200);
  t.equal(await login(PASSWORD), 401);
  t.equal((await s.radio.get('/talkgroups')).status, 200);
});

t.test(
  'a password that was changed meanwhile is not changed again by who knew only the old one',
  async (t) => {
    let changeFirst = async () => {};
    const s = await service(t, {
      passwords: {
        verify: async () => true,
        async hash() {
          await changeFirst();
          return 'the later hash';
        },
      },
    });
    changeFirst = async () =>
      void (await s.sql((sql) => sql`update users set password_hash = 'the first hash'`));
    const answer = await s.radio.post('/auth/changepassword', { oldPassword: PASSWORD, newPassword: 'x' });
    t.match(answer, { status: 401, body: { error: 'invalid credentials' } });
    t.match(await userRow(s, s.radio.username), { password_hash: 'the first hash' });
  },
);

t.test('a disabled device keeps its users out everywhere until it is enabled', async (t) => {
  const s = await service(t);
  const disabled = { status: 401, body: { error: 'device disabled' } };
  const setActive = (active: boolean) => s.admin.patch(`/devices/${s.radio.deviceId}/status`, { active });
  const login = (password: string) => s.nobody.post('/auth/login', { username: s.radio.username, password });
  const register = () =>
    s.nobody.post('/auth/register', { username: 'late', password: 'x', deviceSerial: 'radio-1' });

  t.strictSame((await setActive(false)).body, { ok: true });
  t.match(await login(PASSWORD), disabled);
  t.match(await login('wrong'), { status: 401, body: { error: 'invalid credentials' } });
  t.match(await s.radio.get('/talkgroups'), disabled);
  t.match(await register(), disabled);
  t.equal(await userRow(s, 'late'), undefined, 'the name stays free');

  await setActive(true);
  t.equal((await login(PASSWORD)).status, 200);
  t.equal((await s.radio.get('/talkgroups')).status, 200, 'the old token is good again');
  t.equal((await register()).status, 200);
});

t.test('a registration that meets a device disabled meanwhile stores nothing', async (t) => {
  let disable = async () => {};
  const s = await service(t, {
    passwords: {
      verify: async () => false,
      async hash() {
        await disable();
        return PASSWORD_HASH;
      },
    },
  });
  disable = async () => void (await s.sql((sql) => sql`update devices set active = false`));
  const body = { username: 'late', password: 'x', deviceSerial: 'radio-1' };
  t.match(await s.nobody.post('/auth/register', body), { status: 401, body: { error: 'device disabled' } });
  t.equal(await userRow(s, 'late'), undefined);
});

t.test('a revoked user is out until the next login, which works in the same second', async (t) => {
  const s = await service(t);
  const { username } = s.radio;
  const login = async () => {
    const answer = await s.nobody.post('/auth/login', { username, password: PASSWORD });
    return s.withToken((answer.body as { jwt: string }).jwt);
  };
  t.equal(await takeBack(s.database, soon(), { username: 'unknown name', ...by }), false);
  t.equal(await takeBack(s.database, soon(), { username, ...by }), true);
  t.match(await s.radio.get('/talkgroups'), { status: 401 });
  t.equal((await s.admin.get('/talkgroups')).status, 200, 'others stay');

  const again = await login();
  t.equal((await again.get('/talkgroups')).status, 200);
  // As if the next revocation came in the very second the new token carries, or on a clock that is behind.
  const ahead = Math.floor(Date.now() / 1000) + 100;
  await s.sql((sql) => sql`update users set valid_from = ${ahead} where username = ${username}`);
  const late = await login();
  t.equal((await late.get('/talkgroups')).status, 200);
  await takeBack(s.database, soon(), { username, ...by });
  t.match(await late.get('/talkgroups'), { status: 401 });
  t.equal((await (await login()).get('/talkgroups')).status, 200);
});

t.test('the admin account is made once, by however many nodes start', async (t) => {
  const s = await service(t);
  const ensure = (username: string, passwordHash: string) =>
    addAdmin(s.database, soon(), { username, passwordHash, by: operator() });
  const outcomes = await Promise.all(Array.from({ length: 10 }, () => ensure('chief', PASSWORD_HASH)));
  t.strictSame(outcomes.sort(), ['created', ...Array(9).fill('kept')]);
  t.equal(await ensure('chief', 'another hash'), 'kept');
  t.match(await userRow(s, 'chief'), { role: 'admin', password_hash: PASSWORD_HASH });
  t.equal(await ensure(s.radio.username, 'another hash'), 'plain_user');
  t.match(await userRow(s, s.radio.username), { role: 'user', password_hash: PASSWORD_HASH });
});

t.test('an existing user becomes an admin only when promoted, and keeps its password', async (t) => {
  const s = await service(t);
  t.equal(await promote(s.database, soon(), { username: s.radio.username, by: operator() }), true);
  t.match(await userRow(s, s.radio.username), { role: 'admin', password_hash: PASSWORD_HASH });
  t.equal(await promote(s.database, soon(), { username: 'new', by: operator() }), false);
});
