// Setup codes: made by an administrator or a command, used once, and worth nothing to who guesses.
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { promote } from '../../src/auth/store.js';
import { operator } from '../../src/commands/running.js';
import { newSetupCode, readSetupCode } from '../../src/credentials/setup-codes.js';
import { deadlineIn } from '../../src/db/deadline.js';
import type { Notice } from '../../src/db/notice.js';
import { HANGS_MS } from '../helpers/eventually.js';
import { type Answer, type Caller, PASSWORD, type Service, service } from '../helpers/http/rest.js';

const invalid = { status: 401, body: { error: 'setup code is not valid' } };

async function codeFor(s: Service, user: { userId: string }, hours?: number): Promise<string> {
  const body = hours === undefined ? {} : { hours };
  const answer = await s.admin.post(`/users/${user.userId}/setup-code`, body);
  t.equal(answer.status, 200);
  t.strictSame(Object.keys(answer.body as object).sort(), ['code', 'expires_at']);
  return (answer.body as { code: string }).code;
}

const redeem = (s: Service, code: string, more: object = {}, caller: Caller = s.nobody): Promise<Answer> =>
  caller.post('/auth/setup', { code, password: 'chosen', ...more });
const statusOf = async (answer: Promise<Answer>) => (await answer).status;
const login = (s: Service, username: string, password: string) =>
  statusOf(s.nobody.post('/auth/login', { username, password }));

t.test('a code is read as a person types it, and no other text is one', async (t) => {
  fc.assert(
    fc.property(fc.nat(3), fc.boolean(), (style, isLower) => {
      const { text, hash } = newSetupCode();
      t.match(text, /^(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
      const typed = [
        text,
        text.replaceAll('-', ''),
        text.replaceAll('-', ' '),
        text.replaceAll('0', 'O').replaceAll('1', 'l'),
      ][style];
      const read = readSetupCode((isLower ? typed?.toLowerCase() : typed) ?? '');
      t.ok(read?.equals(hash), `${typed}`);
    }),
  );
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'0OIL1AUZz9-! '), minLength: 14, maxLength: 20 }),
      (text) => {
        const clean = text.toUpperCase().replaceAll(/[-\s]/g, '');
        t.equal(readSetupCode(text) !== null, /^[0-9A-TV-Z]{16}$/.test(clean), text);
      },
    ),
  );
  for (const text of [
    '',
    'K7QF-2M9X-R4TD-0W8',
    'K7QF-2M9X-R4TD-0W8EE',
    'U7QF-2M9X-R4TD-0W8E',
    ' '.repeat(100),
  ])
    t.equal(readSetupCode(text), null, text);
});

t.test('a user sets the password with the code, once, and earlier tokens are void', async (t) => {
  const s = await service(t);
  const ann = await s.account({ username: 'ann' });
  const first = await codeFor(s, ann);
  const code = await codeFor(s, ann);
  t.match(await redeem(s, first), invalid, 'replaced');
  t.equal((await ann.get('/me')).status, 200, 'until it is used the token is valid');
  t.equal(await login(s, 'ann', PASSWORD), 200, 'and the password');
  const [stored] = await s.sql<{ row: string }>(
    (sql) => sql`select to_json(c)::text as row from setup_codes c`,
  );
  const bare = code.replaceAll('-', '');
  for (const form of [code, bare, bare.toLowerCase(), Buffer.from(bare).toString('hex')])
    t.notOk(stored?.row.includes(form), 'it is stored nowhere');

  const notices: Notice[] = [];
  const listener = await s.listen((notice) => notices.push(notice));
  t.teardown(() => listener.close());
  const { status, body } = await redeem(s, code.toLowerCase().replaceAll('-', ''));
  t.equal(status, 200);
  t.strictSame(Object.keys(body as object).sort(), ['jwt', 'userId']);
  const { jwt, userId } = body as { jwt: string; userId: string };
  t.equal(userId, ann.userId);
  t.match((await s.withToken(jwt).get('/me')).body, { user: { username: 'ann', role: 'user' } });
  t.equal((await ann.get('/me')).status, 401);
  t.equal(await login(s, 'ann', PASSWORD), 401);
  t.equal(await login(s, 'ann', 'chosen'), 200);
  t.match(await redeem(s, code), invalid, 'used');
  await delay(0);
  while (notices.length < 2) await delay(5);
  t.match(notices, [
    { kind: 'user_revoked', user: userId },
    { kind: 'user_promoted', user: userId },
  ]);
});

t.test('the code moves the device, and with a disabled one it stays', async (t) => {
  const s = await service(t);
  const ann = await s.account({ username: 'ann', serial: 'old phone' });
  await s.account({ serial: 'off' });
  await s.sql((sql) => sql`update devices set active = false where serial = 'off' returning id`);
  const code = await codeFor(s, ann);
  t.match(await redeem(s, code, { deviceSerial: 'off' }), {
    status: 409,
    body: { error: 'the device is disabled' },
  });
  t.equal((await ann.get('/me')).status, 200, 'nothing has happened');
  const { body } = await redeem(s, code, { deviceSerial: 'new phone', site: 'Depot' });
  const me = await s.withToken((body as { jwt: string }).jwt).get('/me');
  t.match(me.body, { device: { serial: 'new phone', site: 'Depot', active: true } });

  const again = await codeFor(s, ann);
  await s.sql((sql) => sql`update devices set active = false where serial = 'new phone' returning id`);
  t.equal(await statusOf(redeem(s, again)), 409, 'the device of the account');
  t.equal(
    await statusOf(redeem(s, again, { deviceSerial: 'third phone' })),
    409,
    'who has the phone may have the code',
  );
  t.equal((await s.admin.delete(`/users/${ann.userId}/device`)).status, 200);
  t.match(await redeem(s, again), invalid, 'behind that a new code is wanted');
  const last = await codeFor(s, ann);
  t.equal(await statusOf(redeem(s, last, { deviceSerial: 'third phone' })), 200);
});

t.test('a code ends: after its hours, with another password, with the account', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.account({ username: 'ann' }), await s.account({ username: 'bob' })];
  const expired = await codeFor(s, ann, 1);
  await s.sql(
    (sql) => sql`update setup_codes set expires_at = expires_at - interval '61 minutes' returning user_id`,
  );
  t.match(await redeem(s, expired), invalid);
  const ends: Record<string, () => Promise<Answer>> = {
    'a password by an administrator': () =>
      s.admin.put(`/users/${ann.userId}/password`, { password: 'x', keep_tokens: true }),
    'and with the tokens': () => s.admin.put(`/users/${ann.userId}/password`, { password: PASSWORD }),
    'one of the own': async () => {
      const { body } = await s.nobody.post('/auth/login', { username: 'ann', password: PASSWORD });
      const caller = s.withToken((body as { jwt: string }).jwt);
      return caller.post('/auth/changepassword', { oldPassword: PASSWORD, newPassword: 'y' });
    },
  };
  for (const [what, end] of Object.entries(ends)) {
    const code = await codeFor(s, ann);
    t.equal((await end()).status, 200, what);
    t.match(await redeem(s, code), invalid, what);
  }
  const cid = await s.account({ username: 'cid', serial: 'SN-cid' });
  const takes: Record<string, () => Promise<Answer>> = {
    'a revocation': () => s.admin.post(`/users/${cid.userId}/revoke`),
    'another device': () => s.admin.put(`/users/${cid.userId}/device`, { serial: 'cid 2' }),
  };
  for (const [what, take] of Object.entries(takes)) {
    const code = await codeFor(s, cid);
    t.equal((await take()).status, 200, what);
    const answer = await redeem(s, code, { deviceSerial: 'another phone' });
    t.match(answer, invalid, `${what}: who has the phone may have the code`);
  }
  const promoted = await codeFor(s, cid);
  t.ok(await promote(s.database, deadlineIn(HANGS_MS), { username: 'cid', by: operator() }));
  t.match(await redeem(s, promoted), invalid, 'no code of REST opens an administrator');
  const ofBob = await codeFor(s, bob);
  t.equal((await s.admin.delete(`/users/${bob.userId}`)).status, 200);
  t.match(await redeem(s, ofBob), invalid);
});

t.test(
  'a code beside a password, a deletion and a login with a device: one comes first, and none hangs',
  async (t) => {
    const s = await service(t, {
      passwords: { hash: async (password) => `hash of ${password}`, verify: async () => true },
    });
    const outcomes = new Set<string>();
    for (let round = 0; round < 20; round++) {
      const ann = await s.account();
      const code = await codeFor(s, ann);
      const serial = `shared ${round}`;
      const [used, ...others] = await Promise.all([
        redeem(s, code, { deviceSerial: serial }),
        s.admin.put(`/users/${ann.userId}/password`, { password: 'x', keep_tokens: round % 2 === 0 }),
        s.admin.put(`/users/${ann.userId}/device`, { serial }),
        s.admin.delete(`/users/${ann.userId}`),
      ]);
      for (const { status } of [used, ...others]) t.ok([200, 401, 404].includes(status), `${status}`);
      outcomes.add(`${used.status}`);
    }
    t.ok(outcomes.size > 0);
    t.notMatch(s.logged(), /deadlock/);
  },
);

t.test('of many who use a code at once one is let in, and nothing is half done', async (t) => {
  const s = await service(t, {
    passwords: { hash: async (password) => `hash of ${password}`, verify: async () => false },
  });
  for (let round = 0; round < 10; round++) {
    const ann = await s.account();
    const code = await codeFor(s, ann);
    const tries = Array.from({ length: 8 }, (_, at) =>
      redeem(s, code, { password: `p${at}`, deviceSerial: `phone ${round} ${at}` }),
    );
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    t.strictSame(
      statuses.toSorted((a, b) => a - b),
      [200, ...Array.from({ length: 7 }, () => 401)],
    );
    const won = statuses.indexOf(200);
    const [row] = await s.sql<{ hash: string; serial: string }>(
      (sql) => sql`
        select u.password_hash as hash, d.serial from users u join devices d on d.id = u.device_id where u.id = ${ann.userId}`,
    );
    t.strictSame(row, { hash: `hash of p${won}`, serial: `phone ${round} ${won}` });
    const devices = await s.sql((sql) => sql`select id from devices where serial like ${`phone ${round} %`}`);
    t.equal(devices.length, 1, 'who fails creates no device');
  }
});

t.test('a client that guesses is stopped by address, before any hash', async (t) => {
  let hashes = 0;
  const hash = async (password: string) => {
    hashes++;
    return password;
  };
  const s = await service(t, {
    settings: { LOGIN_FAILURES_ADDRESS: '5/1' },
    passwords: { hash, verify: async () => false },
  });
  const ann = await s.account();
  const code = await codeFor(s, ann);
  const guesses = Array.from({ length: 20 }, () => statusOf(redeem(s, newSetupCode().text)));
  const statuses = (await Promise.all(guesses)).toSorted((a, b) => a - b);
  t.strictSame(statuses, [...Array(5).fill(401), ...Array(15).fill(429)], 'also when they come in one go');
  t.equal(hashes, 0);
  const late = await redeem(s, code);
  t.equal(late.status, 429, 'the right one has to wait as well');
  t.ok(Number(late.headers.get('retry-after')) > 0);
});

t.test('a code is made by users who may, for users they may, and for a limited time', async (t) => {
  const s = await service(t, { settings: { PASSWORD_MIN_LENGTH: '6' } });
  const chief = await s.account({ role: 'admin' });
  t.match(await s.admin.post(`/users/${chief.userId}/setup-code`, {}), {
    status: 403,
    body: { error: 'the account of an administrator is changed on the command line' },
  });
  t.equal((await s.admin.post('/users/00000000-0000-4000-8000-000000000000/setup-code', {})).status, 404);
  for (const hours of [0, 721, 1.5, '24'])
    t.equal((await s.admin.post(`/users/${s.radio.userId}/setup-code`, { hours })).status, 400, `${hours}`);
  const code = await codeFor(s, s.radio, 720);
  t.equal(await statusOf(redeem(s, code, { password: 'short' })), 400);
  for (const body of [{}, { code }, { code: 5, password: 'long enough' }, { code, password: 'x'.repeat(73) }])
    t.equal((await s.nobody.post('/auth/setup', body)).status, 400, JSON.stringify(body));
  t.match(await redeem(s, 'x'.repeat(5000), { password: 'long enough' }), invalid);
  t.match(await redeem(s, '\0', { password: 'long enough' }), invalid);
  t.equal(await statusOf(redeem(s, code, { password: 'long enough' })), 200);
});
