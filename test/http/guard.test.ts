// Who may pass: every registered route against every kind of caller, and the order in which refusals are told.
import { createHmac, randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import t from 'tap';
import type { RegisteredRoute } from '../../src/http/router.js';
import { exchange } from '../helpers/http/raw.js';
import { type Answer, type Caller, PASSWORD, SECRET, type Service, service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

/** Every route of the contract and whom it admits. A route that is missing here fails the first test. */
const contract: Record<string, 'public' | 'user' | 'dispatcher' | 'admin'> = {
  'POST /auth/register': 'public',
  'POST /auth/login': 'public',
  'POST /auth/setup': 'public',
  'POST /users/:id/setup-code': 'admin',
  'POST /auth/changepassword': 'user',
  'PUT /users/:id/password': 'admin',
  'POST /auth/revoke': 'user',
  'GET /users': 'dispatcher',
  'POST /users/:id/revoke': 'dispatcher',
  'GET /audit': 'admin',
  'GET /users/:id': 'dispatcher',
  'GET /users/:id/diagnosis': 'dispatcher',
  'PATCH /users/:id': 'admin',
  'DELETE /users/:id': 'admin',
  'PUT /users/:id/device': 'admin',
  'DELETE /users/:id/device': 'admin',
  'GET /me': 'user',
  'GET /talkgroups': 'user',
  'GET /talkgroups/directory': 'user',
  'GET /admin/talkgroups': 'dispatcher',
  'POST /talkgroups': 'admin',
  'PATCH /talkgroups/:id': 'admin',
  'POST /talkgroups/:id/join': 'user',
  'DELETE /talkgroups/:id/leave': 'user',
  'GET /talkgroups/:id/members': 'user',
  'PUT /talkgroups/:id/members/:user_id': 'dispatcher',
  'DELETE /talkgroups/:id/members/:user_id': 'dispatcher',
  'DELETE /talkgroups/:id': 'admin',
  'GET /devices': 'admin',
  'PATCH /devices/:id': 'admin',
  'PATCH /devices/:id/status': 'admin',
  'GET /devices/:id/gps': 'user',
  'POST /devices/:id/gps': 'user',
  'GET /positions': 'user',
  'GET /keys/rotation': 'user',
  'POST /keys/rotate': 'admin',
  'GET /keys/epochs': 'user',
  'POST /keys/holders': 'user',
  'GET /keys/holders': 'user',
  'GET /keys/holders/:id/challenge': 'user',
  'POST /keys/holders/:id/accept': 'user',
  'DELETE /keys/holders/:id': 'user',
  'GET /talkgroups/:id/keys': 'admin',
  'PUT /talkgroups/:id/members/:user_id/keys': 'admin',
  'GET /emergencies': 'user',
  'POST /emergencies/:id/ack': 'dispatcher',
  'POST /emergencies/:id/clear': 'user',
  'GET /recordings': 'user',
  'GET /recordings/missed': 'user',
  'GET /recordings/:id': 'user',
  'GET /recordings/:id/frames': 'user',
  'DELETE /recordings/:id': 'admin',
  'GET /': 'public',
  'GET /console': 'public',
  'GET /console/*': 'public',
  'GET /console/config.json': 'public',
  'GET /.well-known/talkgroup-radio': 'public',
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'GET /openapi.json': 'public',
  'GET /docs': 'public',
  'GET /docs/json': 'public',
  'GET /docs/yaml': 'public',
  'GET /docs/static/*': 'public',
  'GET /docs/static/index.html': 'public',
  'GET /docs/static/swagger-initializer.js': 'public',
};

/** Without the slash of `/docs/`, which is the same page as `/docs`. */
const nameOf = ({ method, url }: RegisteredRoute) => `${method} ${url.replace(/(?<=.)\/$/, '')}`;
const protectedRoutes = (s: Service) => s.server.routes.filter(({ access }) => access !== 'public');

/** The route with ids that name nothing, so that no caller changes anything. */
function call(caller: Caller, { method, url }: RegisteredRoute, init: RequestInit = {}): Promise<Answer> {
  return caller.send(
    method,
    url.replaceAll(/:\w+/g, () => randomUUID()),
    init,
  );
}

t.test('the routes are those of the contract, and HEAD of a GET admits the same callers', async (t) => {
  const s = await service(t);
  const access = Object.fromEntries(s.server.routes.map((route) => [nameOf(route), route.access]));
  const heads = Object.entries(access).filter(([name]) => name.startsWith('HEAD '));
  for (const [name, who] of heads) t.equal(who, contract[name.replace('HEAD', 'GET')], name);
  const others = Object.entries(access).filter(([name]) => !name.startsWith('HEAD '));
  t.strictSame(Object.fromEntries(others.sort()), Object.fromEntries(Object.entries(contract).sort()));
});

t.test('a server with a route that does not say whom it admits does not start', async (t) => {
  const open: FastifyPluginAsyncTypebox = async (app) => {
    app.get('/open', async () => ({}));
  };
  await t.rejects(service(t, { moreRoutes: [open] }), /GET \/open does not declare its access/);
});

t.test('no protected route lets a caller pass whose token is not good', async (t) => {
  const s = await service(t);
  const disabled = await s.account({ role: 'admin', serial: 'disabled' });
  const revoked = await s.account({ role: 'admin' });
  const deleted = await s.account({ role: 'admin' });
  await s.sql((sql) => sql`update devices set active = false where id = ${disabled.deviceId}`);
  await s.sql((sql) => sql`update users set valid_from = ${Date.now()} where id = ${revoked.userId}`);
  await s.sql((sql) => sql`delete from users where id = ${deleted.userId}`);

  const callers: Record<string, Caller> = {
    ...forgedCallers(s),
    'no token': s.nobody,
    'a disabled device': disabled,
    'a revoked user': revoked,
    'a deleted user': deleted,
    'a user who never was': s.withToken(s.sign({ role: 'admin' })),
  };
  for (const [who, caller] of Object.entries(callers)) {
    await t.test(who, async (t) => {
      const passed: string[] = [];
      for (const route of protectedRoutes(s)) {
        const { status, headers } = await call(caller, route);
        if (status !== 401 || headers.get('www-authenticate') !== 'Bearer')
          passed.push(`${nameOf(route)}: ${status}`);
      }
      t.strictSame(passed, []);
    });
  }
  t.equal((await s.admin.get('/devices')).status, 200, 'and the good token is still good');
});

/** Tokens that a careless verifier would accept. Each claims to be the admin. */
function forgedCallers(s: Service): Record<string, Caller> {
  const claims = {
    sub: s.admin.userId,
    username: 'admin',
    role: 'admin',
    iat: Math.floor(Date.now() / 1000),
  };
  const { sub: _sub, ...withoutSub } = claims;
  const { iat: _iat, ...withoutIat } = claims;
  const { username: _username, ...withoutUsername } = claims;
  const { role: _role, ...withoutRole } = claims;
  const [head = '', payload = '', signature = ''] = tokenOf({ payload: claims }).split('.');
  const other = encode({ ...claims, sub: s.radio.userId });

  const tokens = {
    'a tampered payload': `${head}.${other}.${signature}`,
    'a payload of another token': `${head}.${payload}.${tokenOf({ payload: withoutSub }).split('.')[2]}`,
    'a cut signature': `${head}.${payload}.${signature.slice(0, -2)}`,
    'no signature': `${head}.${payload}.`,
    'two parts': `${head}.${payload}`,
    'padding in base64url': `${head}.${payload}.${signature}=`,
    'alg none': tokenOf({ header: { alg: 'none' }, payload: claims, key: null }),
    'alg None': tokenOf({ header: { alg: 'None' }, payload: claims, key: null }),
    'alg none, signed': tokenOf({ header: { alg: 'none' }, payload: claims }),
    'alg HS512': tokenOf({ header: { alg: 'HS512' }, payload: claims, hash: 'sha512' }),
    'alg HS384': tokenOf({ header: { alg: 'HS384' }, payload: claims, hash: 'sha384' }),
    'alg RS256 over an HMAC': tokenOf({ header: { alg: 'RS256' }, payload: claims }),
    'no alg': tokenOf({ header: {}, payload: claims }),
    'another key': tokenOf({ payload: claims, key: 'another key, also longer than 32 bytes' }),
    'the empty key': tokenOf({ payload: claims, key: '' }),
    'an unknown critical header': tokenOf({
      header: { alg: 'HS256', crit: ['b64'], b64: false },
      payload: claims,
    }),
    'a payload that is a list': tokenOf({ payload: [claims] }),
    'a payload that is null': tokenOf({ payload: null }),
    'no sub': tokenOf({ payload: withoutSub }),
    'a numeric sub': tokenOf({ payload: { ...claims, sub: 5 } }),
    'a sub that is no UUID': tokenOf({ payload: { ...claims, sub: "' or true --" } }),
    'a list of subs': tokenOf({ payload: { ...claims, sub: [claims.sub] } }),
    'no role': tokenOf({ payload: withoutRole }),
    'a list of roles': tokenOf({ payload: { ...claims, role: ['admin'] } }),
    'an invented role': tokenOf({ payload: { ...claims, role: 'root' } }),
    'no iat': tokenOf({ payload: withoutIat }),
    'an iat in quotes': tokenOf({ payload: { ...claims, iat: String(claims.iat) } }),
    'half a second as iat': tokenOf({ payload: { ...claims, iat: claims.iat + 0.5 } }),
    'no username': tokenOf({ payload: withoutUsername }),
    'a username that is a number': tokenOf({ payload: { ...claims, username: 5 } }),
    'an exp long ago': tokenOf({ payload: { ...claims, exp: 1 } }),
    nonsense: 'nonsense',
    'a very long token': 'x'.repeat(6000),
  };
  return Object.fromEntries(Object.entries(tokens).map(([who, token]) => [who, s.withToken(token)]));
}

const rankOf = (who: string) => ['public', 'user', 'dispatcher', 'admin'].indexOf(who);

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

function tokenOf({
  header = { alg: 'HS256', typ: 'JWT' },
  payload,
  key = SECRET,
  hash = 'sha256',
}: {
  header?: object;
  payload: unknown;
  key?: string | null;
  hash?: string;
}): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${key === null ? '' : createHmac(hash, key).update(signed).digest('base64url')}`;
}

t.test('the forgeries above are not refused for a mistake of the forger', async (t) => {
  const s = await service(t);
  const iat = Math.floor(Date.now() / 1000);
  const good = tokenOf({ payload: { sub: s.admin.userId, username: 'admin', role: 'admin', iat } });
  t.equal((await s.withToken(good).get('/devices')).status, 200);
});

t.test('users, dispatchers and admins pass where they may, and get 403 elsewhere', async (t) => {
  const s = await service(t);
  const aDispatcher = async () => {
    const account = await s.account();
    await s.sql(
      (sql) => sql`update users set is_dispatcher = true where id = ${account.userId} returning id`,
    );
    return account;
  };
  const staff = await aDispatcher();
  for (const route of protectedRoutes(s)) {
    // It ends the tokens of its caller, who then needs to be another one.
    const isLast = nameOf(route) === 'POST /auth/revoke';
    const [user, dispatcher, admin] = isLast
      ? [await s.account(), await aDispatcher(), await s.account({ role: 'admin' })]
      : [s.radio, staff, s.admin];
    for (const [who, caller] of Object.entries({ user, dispatcher, admin })) {
      const { status, body } = await call(caller, route);
      const name = `${nameOf(route)} for ${who}`;
      if (rankOf(who) >= rankOf(route.access)) {
        t.notOk([401, 403, 405, 500].includes(status), `${name}: ${status}`);
        continue;
      }
      const error = route.access === 'admin' ? 'admin role required' : 'dispatcher or admin role required';
      t.equal(status, 403, name);
      if (route.method !== 'HEAD') t.strictSame(body, { error }, name);
    }
  }
});

t.test('a role is believed as the token says it, not as the request does', async (t) => {
  const s = await service(t);
  const asAdmin = { headers: { 'x-role': 'admin', 'content-type': 'application/json' } };
  const answer = await s.radio.send('POST', '/talkgroups?role=admin', {
    ...asAdmin,
    body: JSON.stringify({ name: 'x', role: 'admin' }),
  });
  t.equal(answer.status, 403);
});

t.test('the token is taken from a well-formed Authorization header alone', async (t) => {
  const s = await service(t);
  const { token } = s.radio;
  const cases: [authorization: string, status: number][] = [
    [`Bearer ${token}`, 200],
    [`bearer ${token}`, 200],
    [`BEARER ${token}`, 200],
    ['', 401],
    ['Bearer', 401],
    ['Bearer ', 401],
    [token, 401],
    [`Basic ${token}`, 401],
    [`Token ${token}`, 401],
    [`Bearer: ${token}`, 401],
    [`Bearer  ${token}`, 401],
    [`Bearer\t${token}`, 401],
    [`Bearer ${token} ${token}`, 401],
    [`Bearer ${token},Bearer ${token}`, 401],
    [`Bearer "${token}"`, 401],
    [`Bearer${token}`, 401],
    [`${token} Bearer`, 401],
  ];
  for (const [authorization, status] of cases) {
    const answer = await s.nobody.send('GET', '/talkgroups', { headers: { authorization } });
    t.equal(answer.status, status, authorization.replaceAll(token, '<token>'));
  }
  t.equal((await s.nobody.get(`/talkgroups?token=${token}`)).status, 401);
  const cookie = await s.nobody.send('GET', '/talkgroups', { headers: { cookie: `token=${token}` } });
  t.equal(cookie.status, 401);
});

t.test('of two Authorization headers neither is believed, also when both are the same', async (t) => {
  const s = await service(t);
  const good = `authorization: Bearer ${s.radio.token}`;
  const asks = async (...headers: string[]) => {
    const head = ['GET /talkgroups HTTP/1.1', 'host: x', ...headers, '', ''].join('\r\n');
    return (await exchange(s.port, [head], 1)).answers[0]?.status;
  };
  t.equal(await asks(good), 200);
  for (const other of [good, 'authorization: Bearer x', 'Authorization: Basic eDp4', 'authorization:']) {
    t.equal(await asks(good, other), 401, other);
    t.equal(await asks(other, good), 401, other);
  }
});

t.test('refusals come in the order 401, 403, 400, 404', async (t) => {
  const s = await service(t);
  const unknown = `/devices/${randomUUID()}/status`;
  const malformed = '/devices/not-an-id/status';
  const bad = { active: 'yes' };
  const good = { active: true };
  t.equal((await s.nobody.patch(unknown, bad)).status, 401);
  t.equal((await s.radio.patch(unknown, bad)).status, 403);
  t.equal((await s.admin.patch(unknown, bad)).status, 400);
  t.equal((await s.admin.patch(malformed, bad)).status, 400);
  t.equal((await s.admin.patch(unknown, good)).status, 404);
  t.equal((await s.admin.patch(malformed, good)).status, 404);
  const talkgroup = `/talkgroups/${randomUUID()}`;
  t.equal((await s.nobody.patch(talkgroup, { name: 5 })).status, 401);
  t.equal((await s.radio.patch(talkgroup, { name: 5 })).status, 403);
  t.equal((await s.admin.patch(talkgroup, { name: 5 })).status, 400);
  t.equal((await s.admin.patch('/talkgroups/not-an-id', { name: 5 })).status, 400);
  t.equal((await s.admin.patch(talkgroup, { name: 'x' })).status, 404);
  t.equal((await s.admin.patch('/talkgroups/not-an-id', { name: 'x' })).status, 404);
  for (const path of [`${talkgroup}/members/${randomUUID()}`, '/talkgroups/x/members/y']) {
    for (const method of ['PUT', 'DELETE']) {
      t.equal((await s.nobody.send(method, path)).status, 401);
      t.equal((await s.radio.send(method, path)).status, 403);
      t.equal((await s.admin.send(method, path)).status, 404);
    }
  }
  for (const id of [randomUUID(), 'not-an-id']) {
    t.equal((await s.nobody.post(`/users/${id}/revoke`)).status, 401);
    t.equal((await s.radio.post(`/users/${id}/revoke`)).status, 403);
    t.equal((await s.admin.post(`/users/${id}/revoke`)).status, 404);
  }
  for (const id of [randomUUID(), 'not-an-id']) {
    t.equal((await s.radio.post(`/emergencies/${id}/ack`)).status, 403);
    t.equal((await s.admin.post(`/emergencies/${id}/ack`)).status, 404);
    t.equal((await s.radio.post(`/emergencies/${id}/clear`)).status, 404, 'an unknown one is nobody’s');
    t.equal((await s.admin.post(`/emergencies/${id}/clear`)).status, 404);
  }
  const xml = { headers: { 'content-type': 'application/xml' }, body: '<active/>' };
  t.equal((await s.nobody.send('PATCH', unknown, xml)).status, 401, 'before the body is looked at');
  t.equal((await s.radio.send('PATCH', unknown, xml)).status, 403);
  t.equal((await s.admin.send('PATCH', unknown, xml)).status, 415);
});

t.test('no log line holds a token or a password', async (t) => {
  const s = await service(t);
  await s.nobody.post('/auth/login', { username: 'admin', password: PASSWORD });
  await s.nobody.post('/auth/login', { username: 'admin', password: `${PASSWORD}!` });
  await s.nobody.get(`/ws?token=${s.radio.token}`);
  await s.nobody.get(`/%zz?token=${s.radio.token}`);
  await s.withToken(`${s.radio.token}x`).get('/talkgroups');
  await s.radio.post('/auth/changepassword', { oldPassword: PASSWORD, newPassword: PASSWORD });
  const tampered = await s.nobody.send('GET', '/talkgroups', {
    headers: { authorization: `Bearer ${s.radio.token}, ${PASSWORD}` },
  });
  t.notMatch(JSON.stringify(tampered.body), PASSWORD);
  t.match(s.logged(), 'answered');
  for (const secret of [PASSWORD, s.radio.token.split('.')[1], s.radio.token.split('.')[2], '$2']) {
    t.notMatch(s.logged(), secret);
  }
});
