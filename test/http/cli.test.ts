// Runs the commands that manage accounts, tokens, the schema and settings.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openFolder } from '../helpers/database/open-folder.js';
import { runCommand, service } from '../helpers/service/service.js';

const ID = '11111111-1111-4111-8111-111111111111';

/** One command beside a service that has this database. */
const run = (DATABASE_URL: string, args: readonly string[], { input = '', PORT = '1' } = {}) =>
  runCommand(args, { DATABASE_URL, PORT, JWT_SECRET: 'a test secret of more than thirty-two bytes' }, input);

t.test('admin add creates an admin who can log in, and changes no other account', async (t) => {
  const s = await service(t);
  const login = (username: string, password: string) =>
    s.call('POST', '/auth/login', null, { username, password });

  t.match(await run(s.url, ['admin', 'add', 'chief'], { input: 'first password\n' }), {
    code: 0,
    output: 'chief: created',
  });
  const { body } = await login('chief', 'first password');
  t.equal((await s.call('GET', '/devices', body.jwt as string)).status, 200);

  t.match(await run(s.url, ['admin', 'add', 'chief'], { input: 'second\n' }), {
    code: 1,
    output: 'chief is already an admin: nothing was changed',
  });
  t.equal((await login('chief', 'first password')).status, 200, 'the password stays');

  await s.call('POST', '/auth/register', null, { username: 'ann', password: 'of ann' });
  t.match(await run(s.url, ['admin', 'add', 'ann'], { input: 'other\n' }), { code: 1, output: /--promote/ });
  t.match(await run(s.url, ['admin', 'add', 'ann', '--promote']), {
    code: 0,
    output: 'ann: promoted',
  });
  t.match(await run(s.url, ['admin', 'add', 'ann', '--promote']), { code: 0 });
  const acts = await s.sql`select act from acts where way = 'command' order by id`;
  t.strictSame(
    acts.map(({ act }) => act),
    ['admin_added', 'admin_promoted'],
  );
  const promoted = await login('ann', 'of ann');
  t.equal((await s.call('GET', '/devices', promoted.body.jwt as string)).status, 200);

  t.equal((await run(s.url, ['admin', 'add', 'x'.repeat(65)], { input: 'p\n' })).code, 1);
  t.equal((await run(s.url, ['admin', 'add', 'boss'], { input: `${'ä'.repeat(37)}\n` })).code, 1, '74 bytes');
  t.equal((await run(s.url, ['admin', 'add', 'boss'], { input: '' })).code, 1, 'no password');
});

t.test('user add creates a user who can log in while registration is closed', async (t) => {
  const s = await service(t, { REGISTRATION: 'closed' });
  const bob = { username: 'bob', password: 'of bob' };
  const closed = { status: 403, body: { error: 'registration is closed' } };
  t.strictSame(await s.call('POST', '/auth/register', null, bob), closed);
  t.strictSame(
    await s.call('POST', '/auth/register', null, { username: 5 }),
    closed,
    'before the body is read',
  );

  t.match(await run(s.url, ['user', 'add', 'bob'], { input: 'of bob\n' }), {
    code: 0,
    output: 'bob: created',
  });
  const { body } = await s.call('POST', '/auth/login', null, bob);
  t.equal((await s.call('GET', '/talkgroups', body.jwt as string)).status, 200);
  t.equal((await s.call('GET', '/devices', body.jwt as string)).status, 403, 'bob is no admin');

  t.match(await run(s.url, ['user', 'add', 'bob'], { input: 'x\n' }), {
    code: 1,
    output: /username taken: bob/,
  });
  t.equal((await s.call('POST', '/auth/login', null, bob)).status, 200, 'the password stays');
  t.equal((await run(s.url, ['user', 'add', 'x'.repeat(65)], { input: 'p\n' })).code, 1);
  t.equal((await run(s.url, ['user', 'add', 'ann'], { input: '' })).code, 1, 'no password');
});

t.test('a fleet is kept by commands while registration is closed', async (t) => {
  const s = await service(t, { REGISTRATION: 'closed' });
  const ok = async (args: readonly string[], input = '') => {
    const { code, output } = await run(s.url, args, { input });
    t.equal(code, 0, `${args.join(' ')}: ${output}`);
    return output;
  };
  const fails = async (args: readonly string[], output: string | RegExp, input = '') =>
    t.match(await run(s.url, args, { input }), { code: 1, output });
  const login = async (more = {}) => {
    const { status, body } = await s.call('POST', '/auth/login', null, {
      ...{ username: 'bob', password: 'of bob' },
      ...more,
    });
    return { status, token: body.jwt as string };
  };
  const device = async (token: string) => (await s.call('GET', '/me', token)).body.device;

  const [, id = ''] =
    /, id (\S+)/.exec(await ok(['talkgroup', 'add', 'Fire 1', '--floor-mode', 'single'])) ?? [];
  for (const _ of [1, 2])
    await s.sql`insert into talkgroups (name, master_secret) values ('Twins', decode(repeat('00', 32), 'hex'))`;
  const groups = (await ok(['talkgroup', 'list', '--json'])).trim().split('\n');
  t.match(
    groups.map((line) => JSON.parse(line) as object),
    [
      { name: 'Fire 1', floor_mode: 'single', members: 0, id },
      { name: 'Twins', floor_mode: 'open' },
      { name: 'Twins' },
    ],
  );
  t.match(await ok(['talkgroup', 'list']), /^NAME +FLOOR MODE .*\nFire 1 +single /);

  const add = ['user', 'add', 'bob', '--serial', 'SN-1', '--site', 'Depot'];
  await fails([...add, '--talkgroup', 'Twins'], 'several talkgroups are named Twins: use the id', 'of bob\n');
  await fails([...add, '--talkgroup', 'Fire 9'], 'no such talkgroup: Fire 9', 'of bob\n');
  t.equal((await login()).status, 401, 'nothing was added');
  await ok([...add, '--talkgroup', 'Fire 1', '--talkgroup', id.toUpperCase()], 'of bob\n');
  const { token } = await login();
  t.match(await device(token), { serial: 'SN-1', site: 'Depot' });
  const shown = JSON.parse(await ok(['user', 'show', 'bob', '--json'])) as object;
  t.match(shown, {
    user: { username: 'bob', role: 'user' },
    device: { serial: 'SN-1', active: true, position_at: null },
    talkgroups: [{ id, name: 'Fire 1', site: 'Depot', floor_mode: 'single' }],
    ...{
      talkgroups_total: 1,
      tokens_valid_from: null,
      key_holders: { accepted: 0, waiting: 0 },
      emergencies: [],
    },
  });
  const text = await ok(['user', 'show', 'bob']);
  t.match(text, /^bob, user, since .*\ndevice: SN-1, serial SN-1, site Depot, enabled, position unknown\n/);
  t.notMatch(text + JSON.stringify(shown), /\$2|password/);

  t.match(await ok(['user', 'list', '--search', 'sn-1']), /^USERNAME .*\nbob +user +SN-1 +yes /);
  const admins = (await ok(['admin', 'list', '--json'])).trim().split('\n');
  t.ok(admins.every((line) => (JSON.parse(line) as { role: string }).role === 'admin'));
  t.notMatch(admins.join(), 'bob');

  t.equal(await ok(['user', 'set-device', 'bob', 'SN-1']), 'bob: device SN-1, as before\n');
  t.ok(await device(token), 'and the token is valid');
  t.equal(await ok(['user', 'set-device', 'bob', 'SN-2']), 'bob: device SN-2, revoked\n');
  t.equal((await s.call('GET', '/me', token)).status, 401);
  t.match(await device((await login()).token), { serial: 'SN-2', site: 'unknown' });
  t.equal(await ok(['user', 'set-device', 'bob', '--none']), 'bob: no device, revoked\n');
  await fails(['user', 'set-device', 'bob'], 'give either a serial or --none');
  const kept = (await login()).token;
  t.equal(await ok(['user', 'set-password', 'bob', '--keep-tokens'], 'other\n'), 'bob: password set\n');
  t.equal(await device(kept), null, 'the token is valid');
  t.equal((await login()).status, 401);

  t.equal(await ok(['user', 'set-role', 'bob', 'dispatcher']), 'bob: a dispatcher\n');
  t.equal(await ok(['user', 'set-role', 'bob', 'dispatcher']), 'bob: a dispatcher, as before\n');
  t.match((await s.call('GET', '/me', kept)).body, { user: { role: 'user', dispatcher: true } });
  t.match(await ok(['user', 'show', 'bob']), /^bob, dispatcher, /);
  t.match(await ok(['user', 'list', '--search', 'bob']), /\nbob +dispatcher /);
  t.equal(await ok(['user', 'set-role', 'bob', 'user']), 'bob: a plain user, revoked\n');
  t.equal(await ok(['user', 'set-role', 'bob', 'user']), 'bob: a plain user, as before\n');
  t.equal((await s.call('GET', '/me', kept)).status, 401);
  await fails(['user', 'set-role', 'admin', 'user'], "admin is an admin: use 'admin remove' before");
  await fails(['user', 'set-role', 'bob', 'admin'], /Allowed choices are user, dispatcher/);

  const [code = '', until, link] = (
    await ok(['user', 'setup-code', 'bob', '--hours', '2', '--address', 'https://radio.example/'])
  ).split('\n');
  t.match(code, /^[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}$/);
  t.ok(
    Math.abs(Date.parse(until?.replace('valid until ', '') ?? '') - Date.now() - 7_200_000) < 600_000,
    `${until}`,
  );
  t.equal(link, `https://radio.example/console/#setup=${code}`);
  const redeemed = await s.call('POST', '/auth/setup', null, {
    code,
    password: 'chosen',
    deviceSerial: 'SN-3',
  });
  t.equal(redeemed.status, 200);
  t.match(await device(redeemed.body.jwt as string), { serial: 'SN-3' });
  const [ofAdmin = ''] = (await ok(['user', 'setup-code', 'admin'])).split('\n');
  t.equal((await s.call('POST', '/auth/setup', null, { code: ofAdmin, password: 'p' })).status, 200);
  await fails(['user', 'setup-code', 'nobody'], 'no such user: nobody');
  for (const hours of ['0', '721', 'x'])
    await fails(['user', 'setup-code', 'bob', '--hours', hours], /--hours must be an integer from 1 to 720/);
  await fails(['user', 'setup-code', 'bob', '--address', 'radio'], /--address must be an address such as/);

  await fails(['user', 'delete', 'admin'], "admin is an admin: use 'admin remove' before");
  t.equal(await ok(['user', 'delete', 'bob']), 'bob: deleted\n');
  t.equal((await s.call('GET', '/me', kept)).status, 401);
  await fails(['user', 'show', 'bob'], 'no such user: bob');

  const lines = (await ok(['audit', '--json'])).trim().split('\n');
  const acts = lines.map((line) => JSON.parse(line) as Act);
  t.match(
    acts.filter(({ way }) => way === 'command'),
    [
      { act: 'talkgroup_created', talkgroup_id: id, details: { talkgroup: 'Fire 1', floor_mode: 'single' } },
      { act: 'user_added', details: { username: 'bob', serial: 'SN-1' } },
      { act: 'member_added', talkgroup_id: id, details: { username: 'bob', talkgroup: 'Fire 1' } },
      { act: 'device_linked', details: { username: 'bob', serial: 'SN-2', serial_before: 'SN-1' } },
      { act: 'device_unlinked', details: { username: 'bob', serial: 'SN-2' } },
      { act: 'password_set', details: { username: 'bob', tokens_kept: true } },
      { act: 'dispatcher_added', details: { username: 'bob' } },
      { act: 'dispatcher_removed', details: { username: 'bob' } },
      { act: 'setup_code_made', details: { username: 'bob' } },
      { act: 'setup_code_made', details: { username: 'admin' } },
      { act: 'user_deleted', details: { username: 'bob' } },
    ],
    'what failed, and what changed nothing, is no act',
  );
  t.ok(acts.every(({ way, by_name }) => way === 'service' || by_name.startsWith('command ')));
  const ofBob = await ok(['audit', '--user', 'bob', '--since', '1h']);
  t.match(ofBob, /^AT +BY +WAY +ACT +USER +DEVICE +TALKGROUP +DETAILS\n.*user_added +bob +SN-1 /);
  t.notMatch(ofBob, 'talkgroup_created');
  t.equal(await ok(['audit', '--since', '2999-01-01']), '');
  t.match(await ok(['audit', '--act', 'audit_read']), /audit_read/, 'also of a command');
  const [{ by_name: me = '' } = {}] = acts.filter(({ way }) => way === 'command');
  t.match(await ok(['audit', '--user', me]), /talkgroup_created/, 'all of the account of the system');
  await fails(['audit', '--user', 'nobody'], 'no such user: nobody');
  await fails(['audit', '--act', 'nothing'], /--act must be one of user_added, /);
  for (const since of ['yesterday', '5', '2026-99-01'])
    await fails(['audit', '--since', since], /--since must be a time/);
});

interface Act {
  readonly act: string;
  readonly way: string;
  readonly by_name: string;
}

t.test('revoke ends all earlier tokens and live sockets, and a new login works immediately', async (t) => {
  const s = await service(t);
  const registered = await s.call('POST', '/auth/register', null, { username: 'ann', password: 'of ann' });
  const old = registered.body.jwt as string;
  t.equal((await s.call('GET', '/talkgroups', old)).status, 200);
  const bob = await s.person('bob');
  const other = await bob.radio();

  t.match(await run(s.url, ['revoke', 'ann']), { code: 0, output: 'ann: revoked' });
  t.equal((await s.sql`select from acts where act = 'tokens_revoked'`).length, 1);
  t.equal((await s.call('GET', '/talkgroups', old)).status, 401);
  const { body } = await s.call('POST', '/auth/login', null, { username: 'ann', password: 'of ann' });
  t.equal((await s.call('GET', '/talkgroups', body.jwt as string)).status, 200);
  await other.settled();
  t.match(await run(s.url, ['revoke', 'nobody']), { code: 1, output: /no such user/ });
});

t.test('an account whose password a stranger has is taken back', async (t) => {
  const s = await service(t);
  const zoe = await s.person('zoe', { role: 'admin' });
  const radio = await zoe.radio();
  const login = (username: string, password: string) =>
    s.call('POST', '/auth/login', null, { username, password });
  const set = async (password: string) =>
    t.match(await run(s.url, ['user', 'set-password', 'zoe'], { input: `${password}\n` }), {
      code: 0,
      output: 'zoe: password set, revoked',
    });

  await set('of a thief');
  t.equal((await radio.closes()).code, 1008);
  const thief = (await login('zoe', 'of a thief')).body.jwt as string;
  t.equal((await s.call('GET', '/devices', thief)).status, 200);
  t.match(await run(s.url, ['user', 'lock', 'zoe']), { code: 0, output: 'zoe: locked' });
  t.equal((await s.call('GET', '/devices', thief)).status, 401);
  t.equal((await login('zoe', 'of a thief')).status, 401);

  await set('of zoe alone');
  const owner = (await login('zoe', 'of zoe alone')).body.jwt as string;
  t.equal((await s.call('GET', '/devices', owner)).status, 200);
  t.match(await run(s.url, ['admin', 'remove', 'zoe']), { code: 0, output: 'zoe: a plain user now' });
  t.equal((await s.call('GET', '/devices', owner)).status, 401, 'the role is part of the token');
  const plain = (await login('zoe', 'of zoe alone')).body.jwt as string;
  t.equal((await s.call('GET', '/devices', plain)).status, 403);

  for (const [username, why] of [
    ['zoe', 'zoe is a plain user'],
    ['nobody', 'no such user: nobody'],
    ['admin', 'admin is ADMIN_USERNAME'],
  ] as const)
    t.match(await run(s.url, ['admin', 'remove', username]), { code: 1, output: why });
  t.match(await run(s.url, ['user', 'lock', 'nobody']), { code: 1, output: 'no such user: nobody' });
  t.match(await run(s.url, ['user', 'set-password', 'zoe'], { input: '' }), { code: 1 });
  const acts = await s.sql`select act from acts where way = 'command' order by id`;
  t.strictSame(
    acts.map(({ act }) => act),
    ['password_set', 'user_locked', 'password_set', 'admin_removed'],
  );
});

t.test(
  'the name of the administrator cannot be registered, also where there is no such account',
  async (t) => {
    const s = await service(t, { ADMIN_USERNAME: 'chief' });
    const body = { username: 'chief', password: 'of a stranger' };
    t.strictSame(await s.call('POST', '/auth/register', null, body), {
      status: 409,
      body: { error: 'username taken' },
    });
    t.equal((await s.sql`select from users where username = 'chief' and role = 'user'`).length, 0);
  },
);

t.test('commands about existing accounts and secrets do not create a database', async (t) => {
  const folder = await openFolder(t);
  const fails = async (DATA_DIR: string, args: readonly string[]) => {
    const SECRETS_KEY = createHash('sha256').update(DATA_DIR).digest('base64');
    t.match(await runCommand(args, { DATA_DIR, SECRETS_KEY }, 'a password\n'), {
      code: 1,
      output: `no database in DATA_DIR ${DATA_DIR}: set DATA_DIR or DATABASE_URL as for the service\n`,
    });
  };
  await fails(folder, ['revoke', 'ann']);
  for (const args of [
    ['revoke', 'ann'],
    ['admin', 'add', 'ann', '--promote'],
    ['admin', 'remove', 'ann'],
    ['user', 'lock', 'ann'],
    ['user', 'show', 'ann'],
    ['user', 'delete', 'ann'],
    ['token', 'ann'],
    ['backup', join(folder, 'file')],
    ['user', 'set-password', 'ann'],
    ['secrets', 'rotate'],
    ['secrets', 'export', '--talkgroup', ID, '--holder', ID],
    ['secrets', 'renew', '--talkgroup', ID],
    ['recordings', 'export', '--talkgroup', ID, '--out', join(folder, 'out')].concat([
      ...['--from', '2026-01-01T08:00Z', '--to', '2026-01-01T09:00Z'],
    ]),
  ])
    await fails(join(folder, 'missing'), args);
  t.strictSame(await readdir(folder), []);
});

t.test('admin add and user add name the data directory, and whether its database is new', async (t) => {
  const DATA_DIR = join(await openFolder(t), 'data');
  // Variables of libpq name no database of this service.
  const environment = {
    DATA_DIR,
    PGPORT: '5433',
    PGHOST: 'nowhere.invalid',
    PGDATABASE: 'other',
    PGUSER: 'other',
  };
  const add = async (...args: string[]) => (await runCommand(args, environment, 'a password\n')).output;
  t.equal(
    await add('admin', 'add', 'chief'),
    `new database in DATA_DIR ${DATA_DIR}\nchief: created in DATA_DIR ${DATA_DIR}\n`,
  );
  t.equal(await add('user', 'add', 'ann'), `ann: created in DATA_DIR ${DATA_DIR}\n`);
  t.equal(await add('admin', 'add', 'ann', '--promote'), `ann: promoted in DATA_DIR ${DATA_DIR}\n`);
  t.match(await runCommand(['revoke', 'ann'], { DATA_DIR }), { code: 0, output: 'ann: revoked' });
});

t.test('token prints a token that is valid for each user, and leaves an act without it', async (t) => {
  const s = await service(t);
  const people = [await s.person('ann b'), await s.person('bob', { serial: 'SN-1' })];
  const { code, output, printed } = await run(s.url, ['token', 'bob', 'ann b', 'bob']);
  t.equal(code, 0, output);
  t.match(printed, /^bob\t[^\s]+\nann b\t[^\s]+\n$/, 'in the order of the names, each once');
  const tokens = new Map(printed.split('\n').map((line) => line.split('\t') as [string, string]));
  for (const { name, id } of people) {
    const token = tokens.get(name) ?? '';
    t.match(await s.call('GET', '/me', token), { status: 200, body: { user: { id, role: 'user' } } });
    const radio = await s.radioOf({ token });
    t.match(radio.welcome, { user_id: id });
  }
  const acts = await s.sql`select way, act, user_id, details from acts where act = 'token_made' order by id`;
  const act = { way: 'command', act: 'token_made' };
  t.strictSame(
    new Set(acts.map((one) => JSON.stringify(one))),
    new Set(
      people.map(({ id, name: username }) => JSON.stringify({ ...act, user_id: id, details: { username } })),
    ),
  );

  await run(s.url, ['revoke', 'bob']);
  t.equal((await s.call('GET', '/me', tokens.get('bob') ?? '')).status, 401);
  const [, anew = ''] = (await run(s.url, ['token', 'bob'])).printed.trim().split('\t');
  t.equal((await s.call('GET', '/me', anew)).status, 200, 'of a user that was revoked a moment before');
  t.equal((await s.radioOf({ token: anew })).welcome?.username, 'bob');
});

t.test('token prints nothing and leaves no act when one of the users gets none', async (t) => {
  const s = await service(t);
  const disabled = await s.person('carl', { serial: 'SN-1' });
  await s.person('ann');
  await s.sql`update devices set active = false where id = ${disabled.device}`;
  for (const [names, why] of [
    [['ann', 'nobody'], /^no such user: nobody\n$/],
    [['nobody', 'nowhere', 'ann'], /^no such user: nobody\nno such user: nowhere\n$/],
    [['admin', 'ann'], /^admin is an admin: /],
    [['ann', 'carl'], /^carl: the device of the user is disabled/],
  ] as const)
    t.match(await run(s.url, ['token', ...names]), { code: 1, output: why, printed: /^$/ });
  t.match(await run(s.url, ['token']), { code: 1, output: /missing required argument/, printed: /^$/ });
  t.strictSame([...(await s.sql`select from acts where act = 'token_made'`)], []);
});

t.test('token does not make a key that no service knows', async (t) => {
  const DATA_DIR = join(await openFolder(t), 'data');
  t.equal((await runCommand(['user', 'add', 'ann'], { DATA_DIR }, 'a password\n')).code, 0);
  t.match(await runCommand(['token', 'ann'], { DATA_DIR }), {
    ...{ code: 1, output: `no token key in DATA_DIR ${DATA_DIR}`, printed: /^$/ },
  });
  t.notOk((await readdir(DATA_DIR)).includes('jwt.secret'));
});

t.test('migrate prints the version, and health checks whether the service answers', async (t) => {
  const s = await service(t);
  t.match(await run(s.url, ['migrate']), { code: 0, output: /^database at version \d+\n$/ });
  t.equal((await run(s.url, ['health'], { PORT: new URL(s.rest).port })).code, 0);
  t.equal((await run(s.url, ['health'])).code, 1);
});

t.test('an error names a wrong setting, and a wrong command prints its usage', async (t) => {
  const s = await service(t);
  t.match(await run(s.url, ['health'], { PORT: 'x' }), { code: 1, output: /^PORT must / });
  t.match(await run(s.url, ['admin']), { code: 1, output: /Usage: / });
  t.match(await run('postgres://nobody@127.0.0.1:1/nothing', ['migrate']), {
    code: 1,
    output: /ECONNREFUSED/,
  });
});

t.test('config prints the effective settings with their origin, and no secret', async (t) => {
  const KEY = 'a test secret of more than thirty-two bytes';
  const { code, output } = await runCommand(['config'], {
    DATABASE_URL: 'postgres://ann:hunter2@db.example:5432/radio?password=hunter2',
    JWT_SECRET: KEY,
    ADMIN_PASSWORD: 'hunter2 of the admin',
    SECRETS_KEY: createHash('sha256').update('hunter2').digest('base64'),
    TALK_SILENCE_MS: '3000',
    CORS_ORIGINS: 'https://a.example, https://b.example',
    LOGIN_FAILURES_PAIR: '30/10',
  });
  t.equal(code, 0);
  for (const line of [
    /^TALK_SILENCE_MS=3000 +# set$/m,
    /^PORT=3000 +# default$/m,
    /^LOGIN_FAILURES_PAIR=30\/10 +# set$/m,
    /^LOGIN_FAILURES_NAME=200\/60 +# default$/m,
    /^CORS_ORIGINS=https:\/\/a\.example,https:\/\/b\.example +# set$/m,
    /^TRUST_PROXY= +# not set$/m,
    /^SOCKETS_MAX=\d+ +# computed$/m,
    /^DATABASE_URL=postgres:\/\/\*{8}@db\.example:5432\/radio +# set$/m,
    /^JWT_SECRET=\*{8} +# set$/m,
    /^JWT_SECRET_PREVIOUS= +# not set$/m,
    /^SECRETS_KEY=\*{8} +# set$/m,
    /^ADMIN_PASSWORD=\*{8} +# set$/m,
  ])
    t.match(output, line);
  t.notMatch(output, /hunter2/);
  t.notOk(output.includes(KEY));

  const unusual = { JWT_SECRET: KEY, DATABASE_URL: 'postgres://ann/hunter2@db.example/radio' };
  t.match((await runCommand(['config'], unusual)).output, /^DATABASE_URL=\*{8} +# set$/m);
  for (const mark of ['#', '?']) {
    const cut = { ...unusual, DATABASE_URL: `postgres://radio:2024${mark}Secret@db/x` };
    t.match((await runCommand(['config'], cut)).output, /^DATABASE_URL=\*{8} +# set$/m, mark);
  }

  const wrong = await runCommand(['config'], { TALK_SILENCE_MS: '5' });
  t.match(wrong, {
    code: 1,
    output: /^TALK_SILENCE_MS must be an integer from 200 to 60000 \(ms\), got "5"$/m,
  });
});

t.test('config --format prints the reference also with a wrong environment', async (t) => {
  const print = (format: string) => runCommand(['config', '--format', format], { TALK_SILENCE_MS: '5' });
  const page = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
  const markdown = await print('md');
  t.equal(markdown.code, 0);
  t.ok(page.includes(`\n\n${markdown.output}\n`), 'the part of the page between its markers');
  t.match((await print('env')).output, /^#TALK_SILENCE_MS=2000$/m);
  t.equal(JSON.parse((await print('json')).output).properties.TALK_SILENCE_MS.minimum, 200);
  t.equal((await print('yaml')).code, 1);
});
