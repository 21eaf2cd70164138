// The list of users, and the revocation of tokens by REST.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { eventually } from '../helpers/eventually.js';
import { type AccountCaller, type Caller, PASSWORD, type Service, service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const OK = { status: 200, body: { ok: true } };
const NO_USER = { status: 404, body: { error: 'user not found' } };

interface User {
  readonly id: string;
  readonly username: string;
}

async function page(s: Service, query: string): Promise<{ users: User[]; next: string | null }> {
  const { status, body } = await s.admin.get(`/users?${query}`);
  assert.equal(status, 200, query);
  return body as { users: User[]; next: string | null };
}

/** The names that this start finds, in their order. */
async function named(s: Service, q: string): Promise<string[]> {
  const { users, next } = await page(s, `limit=200&q=${encodeURIComponent(q)}`);
  assert.equal(next, null);
  return users.map(({ username }) => username).sort();
}

t.test('a user is listed with these fields and no others', async (t) => {
  const s = await service(t);
  const { body } = await s.admin.get('/users');
  t.strictSame(Object.keys(body as object), ['users', 'next']);
  const { users, next } = body as { users: Record<string, unknown>[]; next: string | null };
  t.equal(next, null);
  t.equal(users.length, 2);
  for (const user of users)
    t.strictSame(Object.keys(user).sort(), [
      ...['created_at', 'device', 'device_id', 'dispatcher', 'id', 'role', 'username'],
    ]);
  const { userId: id, username, deviceId: device_id } = s.radio;
  const found = users.find((user) => user.id === id);
  t.match(found, { id, username, role: 'user', device_id, created_at: ISO });
  t.strictSame(found?.device, { name: 'radio-1', serial: 'radio-1', active: true });
  t.match(
    users.find((user) => user.id === s.admin.userId),
    { username: 'admin', role: 'admin', device_id: null, device: null },
  );
  t.notMatch(JSON.stringify(body), /password|hash|\$2/);
  t.equal((await s.radio.get('/users')).status, 403);
});

t.test('the pages are all users in the order of ids, 50 at a time without a limit', async (t) => {
  const s = await service(t);
  await s.sql(
    (sql) =>
      sql`insert into users (username, password_hash) select 'u-' || i, 'none' from generate_series(1, 120) i`,
  );
  const all: string[] = [];
  for (let after: string | null = null; ; ) {
    const { users, next } = await page(s, `limit=50${after === null ? '' : `&after=${after}`}`);
    all.push(...users.map(({ id }) => id));
    if (next === null) break;
    t.equal(users.length, 50);
    t.equal(next, users.at(-1)?.id);
    after = next;
  }
  const stored = await s.sql<{ id: string }>((sql) => sql`select id from users order by id`);
  t.strictSame(
    all,
    stored.map(({ id }) => id),
  );
  t.equal((await page(s, '')).users.length, 50);
  t.equal((await page(s, 'limit=200')).users.length, 122);
  t.strictSame(await page(s, 'after=ffffffff-ffff-ffff-ffff-ffffffffffff'), { users: [], next: null });
  const some = await page(s, 'q=u-&limit=3');
  const rest = await page(s, `q=u-&limit=200&after=${some.next}`);
  t.equal(some.users.length + rest.users.length, 120, 'the start of a name holds for each page');
});

t.test('q is the start of a name, and each of its characters is text', async (t) => {
  const s = await service(t);
  const names = ['Ann', 'anna', 'bann', 'a%b', 'a_b', 'axb', 'a\\b', 'Zoë', 'zoe', '📻 one', "a'b", 'a b'];
  for (const username of names) await s.account({ username });
  t.strictSame(await named(s, 'ann'), ['Ann', 'anna']);
  t.strictSame(await named(s, 'ANNA'), ['anna']);
  t.strictSame(await named(s, 'a%'), ['a%b']);
  t.strictSame(await named(s, 'a_'), ['a_b']);
  t.strictSame(await named(s, 'a\\'), ['a\\b']);
  t.strictSame(await named(s, "a'"), ["a'b"]);
  t.strictSame(await named(s, '%'), []);
  t.strictSame(await named(s, '_'), []);
  t.strictSame(await named(s, 'Zoe\u0308'), ['Zoë'], 'as the names are stored: in NFC');
  t.strictSame(await named(s, 'zo'), ['Zoë', 'zoe']);
  t.strictSame(await named(s, '📻'), ['📻 one']);
  t.strictSame(await named(s, 'nobody'), []);
  t.equal((await named(s, '')).length, names.length + 2, 'an empty start is that of every name');
});

t.test('a malformed query is 400 and names its field', async (t) => {
  const s = await service(t);
  const bad: readonly [query: string, field: string][] = [
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=', 'limit'],
    ['after=x', 'after'],
    ['after=', 'after'],
    [`q=${'x'.repeat(65)}`, 'q'],
    ['q=%00', 'q'],
    ['q=a%0ab', 'q'],
    ['q=a&q=b', 'q'],
  ];
  for (const [query, field] of bad) {
    const { status, body } = await s.admin.get(`/users?${query}`);
    t.equal(status, 400, query);
    t.match((body as { error: string }).error, new RegExp(`^querystring/${field} must `), query);
    t.equal((await s.radio.get(`/users?${query}`)).status, 403, 'behind the role');
  }
  t.equal((await s.admin.get(`/users?q=${encodeURIComponent('📻'.repeat(64))}`)).status, 200);
  const { body } = await s.admin.get('/users?limit=0');
  t.strictSame(body, { error: 'querystring/limit must be an integer from 1 to 200' });
});

t.test('the start of a name is found in an index', async (t) => {
  const s = await service(t);
  await s.sql(
    (sql) =>
      sql`insert into users (username, password_hash) select md5(i::text), 'none' from generate_series(1, 20000) i`,
  );
  await s.sql((sql) => sql`analyze users`);
  const uses = async () => {
    const [row] = await s.sql<{ uses: number }>(
      (sql) =>
        sql`select idx_scan::int as uses from pg_stat_user_indexes where indexrelname = 'users_start_of_name'`,
    );
    return row?.uses ?? -1;
  };
  t.equal(await uses(), 0);
  // A server writes its counts down about once a second.
  const found = await eventually(async () => {
    const names = await named(s, 'C4CA42');
    assert.ok((await uses()) > 0);
    return names;
  });
  t.strictSame(found, ['c4ca4238a0b923820dcc509a6f75849b']);
});

async function loggedIn(s: Service, { username }: AccountCaller) {
  const { status, body } = await s.nobody.post('/auth/login', { username, password: PASSWORD });
  assert.equal(status, 200);
  return s.withToken((body as { jwt: string }).jwt);
}

t.test('an admin revokes all tokens of a user, and the next login works immediately', async (t) => {
  const s = await service(t);
  const { userId: user } = s.radio;
  const second = await loggedIn(s, s.radio);
  t.match(await s.admin.post(`/users/${user}/revoke`), OK);
  for (const caller of [s.radio, second]) t.equal((await caller.get('/me')).status, 401);
  t.equal((await s.admin.get('/me')).status, 200, 'others stay');
  t.equal((await (await loggedIn(s, s.radio)).get('/me')).status, 200);
  t.match(await s.admin.post(`/users/${user.toUpperCase()}/revoke`), OK, 'again');
  t.match(s.notices, [
    { kind: 'user_revoked', user },
    { kind: 'user_revoked', user },
  ]);
  for (const unknown of [randomUUID(), 'x', '%00'])
    t.match(await s.admin.post(`/users/${unknown}/revoke`), NO_USER);
  t.equal(s.notices.length, 2, 'the relay gets no notification of an unknown user');
});

t.test('an admin sets a password that was forgotten, and the radios of the user log in again', async (t) => {
  const s = await service(t);
  const { userId: user, username } = s.radio;
  const login = (password: string) => s.nobody.post('/auth/login', { username, password });
  const set = (body: object, who: Caller = s.admin, id: string = user) =>
    who.put(`/users/${id}/password`, body);
  t.match(await set({ password: 'second', keep_tokens: true }), OK);
  t.equal((await s.radio.get('/me')).status, 200, 'the tokens are kept');
  t.match(await login(PASSWORD), { status: 401, body: { error: 'invalid credentials' } });
  t.match(await set({ password: 'third' }), OK);
  t.equal((await s.radio.get('/me')).status, 401);
  const { body } = await login('third');
  t.equal((await s.withToken((body as { jwt: string }).jwt).get('/me')).status, 200);
  t.match(s.notices, [{ kind: 'user_revoked', user }]);

  const admin = {
    status: 403,
    body: { error: 'the account of an administrator is changed on the command line' },
  };
  const [row] = await s.sql<{ id: string }>((sql) => sql`select id from users where role = 'admin'`);
  t.match(await set({ password: 'x' }, s.admin, row?.id), admin);
  t.match(await set({ password: 'x' }, s.admin, randomUUID()), NO_USER);
  t.equal((await set({ password: 'x' }, await s.account())).status, 403);
  for (const wrong of [{}, { password: '' }, { password: 'x'.repeat(73) }, { password: 'x', keep_tokens: 1 }])
    t.equal((await set(wrong)).status, 400, JSON.stringify(wrong));
});

t.test('no login that is under way with the old password outlives the new one', async (t) => {
  const s = await service(t);
  const { userId, username } = s.radio;
  let old = PASSWORD;
  for (let round = 0; round < 8; round++) {
    const next = `password ${round}`;
    const [login, set] = await Promise.all([
      s.nobody.post('/auth/login', { username, password: old }),
      s.admin.put(`/users/${userId}/password`, { password: next }),
    ]);
    t.match(set, OK);
    if (login.status === 200) {
      const { jwt } = login.body as { jwt: string };
      t.equal((await s.withToken(jwt).get('/me')).status, 401, `round ${round}`);
    }
    old = next;
  }
});

t.test('a user revokes all own tokens, the one of the request too, and nothing of others', async (t) => {
  const s = await service(t);
  const other = await s.account();
  const second = await loggedIn(s, s.radio);
  t.match(await second.post('/auth/revoke'), OK);
  for (const caller of [s.radio, second]) t.equal((await caller.get('/me')).status, 401);
  t.equal((await second.post('/auth/revoke')).status, 401);
  t.equal((await other.get('/me')).status, 200);
  t.equal((await (await loggedIn(s, s.radio)).get('/me')).status, 200);
  t.match(s.notices, [{ kind: 'user_revoked', user: s.radio.userId }]);
});

t.test(
  'a revocation reaches other nodes by the database, and is stored when the relay is silent',
  async (t) => {
    const s = await service(t, { tell: () => new Promise(() => {}) });
    const heard: object[] = [];
    const listener = await s.listen((notice) => heard.push(notice));
    t.teardown(() => listener.close());
    const { status, body } = await s.radio.post('/auth/revoke');
    t.equal(status, 503);
    t.strictSame(body, { error: 'the change is stored, but the relay has not confirmed it' });
    t.equal((await s.radio.get('/me')).status, 401);
    await eventually(() => assert.equal(heard.length, 1));
    t.match(heard, [{ kind: 'user_revoked', user: s.radio.userId }]);
  },
);
