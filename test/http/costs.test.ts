// What each route costs in statements, as the table in docs/security.md says, and that it names every route and message.
import { createECDH } from 'node:crypto';
import t from 'tap';
import { newSetupCode } from '../../src/credentials/setup-codes.js';
import { clientMessages } from '../../src/protocol/client-messages.js';
import { recordingIdOf } from '../../src/protocol/recording-id.js';
import { type Caller, PASSWORD, service } from '../helpers/http/rest.js';
import { readPage } from '../helpers/pages/pages.js';

t.setTimeout(300_000);

/** Cells of the rows below this header in docs/security.md. */
function rowsBelow(header: string): string[][] {
  const lines = readPage('docs/security.md').split('\n');
  const from = lines.indexOf(header) + 2;
  const end = lines.indexOf('', from);
  return lines.slice(from, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

t.test('each route takes the statements that the table says, and each route is in it', async (t) => {
  const s = await service(t);
  const { admin, radio, nobody } = s;
  const bob = await s.account();
  const leaver = await s.account();
  const group = await s.talkgroup();
  const doomed = await s.talkgroup();
  await radio.post(`/talkgroups/${group}/join`);
  await radio.post(`/devices/${radio.deviceId}/gps`, { lat: 1, lng: 2, alt: 3 });
  const point = () => createECDH('prime256v1').generateKeys().toString('base64url');
  const holder = async () => {
    const { body } = await radio.post('/keys/holders', {
      password: PASSWORD,
      public_key: point(),
      name: 'x',
    });
    return (body as { holder_id: string }).holder_id;
  };
  const [first, second] = [await holder(), await holder()];
  const raise = async () => {
    const [row] = await s.sql<{ id: string }>(
      (sql) => sql`
        insert into emergencies (id, talkgroup_id, user_id, raised_at) values (gen_random_uuid(), ${group}, ${radio.userId}, now())
        returning id`,
    );
    return row?.id ?? '';
  };
  const raised = await raise();
  const recording = recordingIdOf({ startedAt: Date.now(), session: 1, burst: 1, piece: 0 });
  await s.sql(
    (sql) => sql`
      insert into recordings (id, talkgroup_id, talkgroup_number, talkgroup_name, started_at, expires_at, epoch, was_required,
        priority, emergency, first_frame)
      values (${recording}, ${group}, 1, 'x', now(), now() + interval '1 day', 0, false, 1, false, 1)`,
  );

  const code = newSetupCode();
  await s.sql(
    (sql) => sql`
      insert into setup_codes (user_id, code_hash, expires_at, role, valid_from)
      values (${leaver.userId}, ${code.hash}, now() + interval '1 hour', 'user', 0)`,
  );

  // One login in ten seconds stores how late a token may be dated.
  await nobody.post('/auth/login', { username: bob.username, password: PASSWORD });
  let statements = 0;
  for (const kind of ['read', 'readReserved', 'write'] as const) {
    const run = s.database[kind].bind(s.database) as (...given: unknown[]) => Promise<never>;
    Object.assign(s.database, {
      [kind](...given: unknown[]) {
        statements++;
        return run(...given);
      },
    });
  }
  const requests: Record<string, readonly [caller: Caller, path: string, body?: object]> = {
    'POST /auth/register': [nobody, '/auth/register', { username: 'new', password: 'x' }],
    'POST /auth/login': [nobody, '/auth/login', { username: bob.username, password: PASSWORD }],
    'POST /auth/changepassword': [
      bob,
      '/auth/changepassword',
      { oldPassword: PASSWORD, newPassword: PASSWORD },
    ],
    'PUT /users/:id/password': [
      admin,
      `/users/${bob.userId}/password`,
      { password: PASSWORD, keep_tokens: true },
    ],
    'GET /users': [admin, '/users'],
    'GET /users/:id': [admin, `/users/${bob.userId}`],
    'GET /audit': [admin, '/audit'],
    'POST /users/:id/setup-code': [admin, `/users/${bob.userId}/setup-code`, {}],
    'POST /auth/setup': [nobody, '/auth/setup', { code: code.text, password: 'x' }],
    'PATCH /users/:id': [admin, `/users/${bob.userId}`, { dispatcher: true }],
    'GET /users/:id/diagnosis': [admin, `/users/${bob.userId}/diagnosis`],
    'GET /me': [radio, '/me'],
    'GET /talkgroups': [radio, '/talkgroups'],
    'GET /talkgroups/directory': [radio, '/talkgroups/directory'],
    'GET /admin/talkgroups': [admin, '/admin/talkgroups'],
    'POST /talkgroups': [admin, '/talkgroups', { name: 'x' }],
    'PATCH /talkgroups/:id': [admin, `/talkgroups/${group}`, { name: 'y' }],
    'POST /talkgroups/:id/join': [bob, `/talkgroups/${group}/join`],
    'GET /talkgroups/:id/members': [radio, `/talkgroups/${group}/members`],
    'GET /talkgroups/:id/keys': [admin, `/talkgroups/${group}/keys`],
    'PUT /talkgroups/:id/members/:user_id/keys': [
      admin,
      `/talkgroups/${group}/members/${bob.userId}/keys`,
      { allowed: true },
    ],
    'DELETE /talkgroups/:id/leave': [bob, `/talkgroups/${group}/leave`],
    'PUT /talkgroups/:id/members/:user_id': [admin, `/talkgroups/${group}/members/${bob.userId}`],
    'DELETE /talkgroups/:id/members/:user_id': [admin, `/talkgroups/${group}/members/${bob.userId}`],
    'DELETE /talkgroups/:id': [admin, `/talkgroups/${doomed}`],
    'GET /devices': [admin, '/devices'],
    'PATCH /devices/:id': [admin, `/devices/${radio.deviceId}`, { name: 'z' }],
    'PATCH /devices/:id/status': [admin, `/devices/${radio.deviceId}/status`, { active: true }],
    'GET /devices/:id/gps': [radio, `/devices/${radio.deviceId}/gps`],
    'POST /devices/:id/gps': [radio, `/devices/${radio.deviceId}/gps`, { lat: 1, lng: 2, alt: 3 }],
    'GET /positions': [radio, '/positions'],
    'GET /keys/rotation': [radio, `/keys/rotation?talkgroup_id=${group}`],
    'POST /keys/rotate': [admin, '/keys/rotate', { talkgroup_id: group }],
    'GET /keys/epochs': [radio, `/keys/epochs?talkgroup_id=${group}&holder_id=${first}`],
    'POST /keys/holders': [
      radio,
      '/keys/holders',
      { password: PASSWORD, public_key: point(), name: 'third' },
    ],
    'GET /keys/holders': [radio, '/keys/holders'],
    'GET /keys/holders/:id/challenge': [radio, `/keys/holders/${second}/challenge?holder_id=${first}`],
    'POST /keys/holders/:id/accept': [admin, `/keys/holders/${second}/accept`, {}],
    'DELETE /keys/holders/:id': [radio, `/keys/holders/${second}`],
    'GET /emergencies': [radio, `/emergencies?talkgroup_id=${group}`],
    'POST /emergencies/:id/ack': [admin, `/emergencies/${raised}/ack`],
    'POST /emergencies/:id/clear': [radio, `/emergencies/${raised}/clear`],
    'GET /recordings': [radio, `/recordings?talkgroup_id=${group}`],
    'GET /recordings/missed': [radio, '/recordings/missed?since=2026-01-01T00:00:00Z'],
    'GET /recordings/:id': [radio, `/recordings/${recording}`],
    'GET /recordings/:id/frames': [radio, `/recordings/${recording}/frames`],
    'DELETE /recordings/:id': [admin, `/recordings/${recording}`],
    'PUT /users/:id/device': [admin, `/users/${leaver.userId}/device`, { serial: 'SN-1' }],
    'DELETE /users/:id/device': [admin, `/users/${leaver.userId}/device`],
    'DELETE /users/:id': [admin, `/users/${leaver.userId}`],
    'POST /users/:id/revoke': [admin, `/users/${bob.userId}/revoke`],
    'POST /auth/revoke': [radio, '/auth/revoke'],
    ...Object.fromEntries(
      [
        '/',
        '/console',
        '/console/config.json',
        '/.well-known/talkgroup-radio',
        '/healthz',
        '/readyz',
        '/openapi.json',
        '/docs',
      ]
        .concat(['/docs/json', '/docs/yaml', '/docs/static/index.html'])
        .map((path) => [`GET ${path}`, [nobody, path]]),
    ),
  };
  const measured: Record<string, string> = {};
  for (const [name, [caller, path, body]] of Object.entries(requests)) {
    statements = 0;
    const [method = ''] = name.split(' ');
    const init =
      body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const { status } = await caller.send(method, path, init);
    t.ok(status < 400, `${name}: ${status}`);
    measured[name] = String(statements);
  }
  const rows = rowsBelow('| route | statements | else | bounded by |');
  const said = Object.fromEntries(
    rows.flatMap(([routes = '', count = '']) =>
      [...routes.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, count]),
    ),
  );
  // Files, which differ by their names alone.
  for (const name of ['GET /console/*', 'GET /docs/static/*', 'GET /docs/static/swagger-initializer.js'])
    measured[name] = '0';
  t.strictSame(
    Object.fromEntries(Object.entries(said).sort()),
    Object.fromEntries(Object.entries(measured).sort()),
  );
  const routes = s.server.routes
    .map(({ method, url }) => `${method} ${url.replace(/(?<=.)\/$/, '')}`)
    .filter((name) => !name.startsWith('HEAD '));
  t.strictSame(Object.keys(measured).sort(), [...new Set(routes)].sort());
});

t.test('each message of a client is in the table', async (t) => {
  const said = rowsBelow('| message | statements | bounded by |').flatMap(([types = '']) =>
    types.split(', '),
  );
  t.strictSame(said.sort(), Object.keys(clientMessages).sort());
});
