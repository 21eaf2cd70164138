// The service when something around it fails, and the addresses that are served only by configuration.
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { AppError } from '../../src/errors.js';
import { answersMsMax, unfinishedMsMax } from '../../src/http/server.js';
import { exchange } from '../helpers/http/raw.js';
import { PASSWORD_HASH, service } from '../helpers/http/rest.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);

t.test('without a database the process is alive, not ready, and refuses at once what needs it', async (t) => {
  const s = await service(t, { databaseUrl: 'postgres://127.0.0.1:1/nowhere' });
  t.match(await s.nobody.get('/healthz'), { status: 200, body: { ok: true } });
  const calls = {
    ready: () => s.nobody.get('/readyz'),
    list: () => s.radio.get('/talkgroups'),
    join: () => s.radio.post('/talkgroups/00000000-0000-4000-8000-000000000000/join'),
    login: () => s.nobody.post('/auth/login', { username: 'admin', password: 'x' }),
    register: () => s.nobody.post('/auth/register', { username: 'new', password: 'x' }),
  };
  for (const [name, call] of Object.entries(calls)) {
    let tookMs = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 3; attempt++) {
      const startedAt = performance.now();
      const answer = await call();
      tookMs = Math.min(tookMs, performance.now() - startedAt);
      t.equal(answer.status, 503, name);
      t.equal(answer.headers.get('retry-after'), '1', name);
    }
    within(t, tookMs, 100, `${name} was refused at once, at best`);
  }
  t.equal((await s.withToken('forged').get('/talkgroups')).status, 401, 'a forged token needs no database');
});

t.test('readyz tells the reason it was given', async (t) => {
  let reason: string | null = 'shutting down';
  const s = await service(t, { ready: () => reason });
  t.match(await s.nobody.get('/readyz'), { status: 503, body: { error: 'shutting down' } });
  reason = null;
  const ready = await s.nobody.get('/readyz');
  t.strictSame([ready.status, ready.body], [200, { ok: true }]);
});

t.test(
  'behind a lock that is not released every request is answered in time, and all is well after it',
  async (t) => {
    const s = await service(t);
    const id = await s.talkgroup();
    const release = await s.lock('memberships');
    const startedAt = performance.now();
    const answers = await Promise.all([
      s.radio.get('/talkgroups'),
      s.radio.post(`/talkgroups/${id}/join`),
      s.radio.delete(`/talkgroups/${id}/leave`),
      s.radio.get(`/talkgroups/${id}/members`),
    ]);
    for (const { status, headers } of answers) {
      t.equal(status, 503);
      t.equal(headers.get('retry-after'), '1');
    }
    within(t, performance.now() - startedAt, 5000, 'invariant 6');
    t.equal((await s.nobody.get('/healthz')).status, 200);
    await release();
    await s.up();
    t.equal((await s.radio.post(`/talkgroups/${id}/join`)).status, 200);
  },
);

t.test('a bug is told as an internal error and logged with its stack', async (t) => {
  const s = await service(t, {
    passwords: {
      hash: async () => PASSWORD_HASH,
      verify: () => {
        throw Object.assign(new Error('a bug'), { detail: 'Failing row contains (secret)' });
      },
    },
  });
  const answer = await s.nobody.post('/auth/login', { username: 'admin', password: 'x' });
  t.strictSame([answer.status, answer.body], [500, { error: 'internal error' }]);
  t.match(s.logged(), 'Error: a bug\\n    at');
  t.notMatch(s.logged(), 'Failing row', 'whose detail may quote hashes and secrets');
});

t.test('a full login queue is 503 with a time to come back', async (t) => {
  const full = () => Promise.reject(new AppError('login_queue_full'));
  const s = await service(t, { passwords: { hash: full, verify: full } });
  const answers = [
    await s.nobody.post('/auth/login', { username: 'admin', password: 'x' }),
    await s.nobody.post('/auth/register', { username: 'new', password: 'x' }),
    await s.radio.post('/auth/changepassword', { oldPassword: 'x', newPassword: 'x' }),
  ];
  for (const answer of answers) {
    t.match(answer, { status: 503, body: { error: 'too many logins at once' } });
    t.equal(answer.headers.get('retry-after'), '1');
  }
});

t.test('whom a full login queue turns away costs the database nothing', async (t) => {
  const never = () => Promise.reject(new Error('a full queue was entered'));
  const passwords = {
    hash: never,
    verify: never,
    withPlace: () => Promise.reject(new AppError('login_queue_full')),
  };
  const s = await service(t, { passwords, databaseUrl: 'postgres://127.0.0.1:1/nowhere' });
  const full = { status: 503, body: { error: 'too many logins at once' } };
  t.match(await s.nobody.post('/auth/login', { username: 'admin', password: 'x' }), full);
  t.match(await s.nobody.post('/auth/register', { username: 'new', password: 'x' }), full);
});

t.test('a request in flight is answered before the server is closed', async (t) => {
  let confirm = () => {};
  let told = () => {};
  const atRelay = new Promise<void>((resolve) => {
    told = resolve;
  });
  const s = await service(t, {
    tell: () => {
      told();
      return new Promise((resolve) => {
        confirm = resolve;
      });
    },
  });
  const id = await s.talkgroup();
  const joining = s.radio.post(`/talkgroups/${id}/join`);
  await atRelay;
  const closing = s.close();
  await t.rejects(s.nobody.get('/healthz'), 'no new connection');
  confirm();
  const { status, headers } = await joining;
  t.equal(status, 200);
  t.equal(headers.get('connection'), 'close');
  await closing;
});

t.test('a draining server answers on and asks its clients to go', async (t) => {
  const s = await service(t);
  s.server.drain();
  for (const answer of [await s.radio.get('/talkgroups'), await s.nobody.get('/nowhere')]) {
    t.equal(answer.headers.get('connection'), 'close');
  }
});

t.test('a connection that never finishes its request does not hold up the close', async (t) => {
  const s = await service(t);
  const unfinished = exchange(s.port, ['POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n{']);
  await s.nobody.get('/healthz');
  const startedAt = performance.now();
  await s.close();
  within(t, performance.now() - startedAt, 6000);
  await unfinished;
});

t.test('after a long drain it holds it up for less, and none for longer than the process has', async (t) => {
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const slow = async (app: FastifyInstance) =>
    // As the guard may, which asks the database before anything else.
    void app.get('/held', { config: { access: 'public' }, onRequest: () => held }, async () => 'at last');
  const s = await service(t, { moreRoutes: [slow] });
  const unfinished = exchange(s.port, ['POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n{']);
  const whole = exchange(s.port, ['GET /held HTTP/1.1\r\nhost: x\r\n\r\n'], 1);
  await s.nobody.get('/healthz');
  s.server.drain();
  const passed = passBy(t, 11_500);
  s.server.drain(); // a second time begins no second drain
  const startedAt = performance.now();
  const closed = s.server.close();
  await unfinished;
  within(t, performance.now() - startedAt, 3500);
  answer();
  t.match((await whole).answers[0], { status: 200, body: 'at last' }, 'what arrived whole is answered');
  await closed;
  passed();

  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5500 }), (drainedMs) => {
      const [unfinishedMs, answersMs] = [unfinishedMsMax(drainedMs), answersMsMax(drainedMs)];
      return (
        unfinishedMs >= 2000 &&
        unfinishedMs <= answersMs &&
        answersMs <= 5000 &&
        drainedMs + answersMs <= 8500
      );
    }),
  );
  t.same([0, 3500, 6000, 60_500].map(unfinishedMsMax), [5000, 5000, 2500, 2000]);
  t.same([0, 3500, 5500, 60_500].map(answersMsMax), [5000, 5000, 3000, 3000]);
});

/** The monotonic clock of this thread stands `ms` later from now on, until the function returned or the end of `t`. */
function passBy(t: Test, ms: number): () => void {
  const { now } = performance;
  const back = () => {
    performance.now = now;
  };
  performance.now = () => now.call(performance) + ms;
  t.teardown(back);
  return back;
}

t.test('the reference page loads everything from this server, under a policy that lets it', async (t) => {
  const s = await service(t);
  const page = await s.nobody.get('/docs');
  t.equal(page.status, 200);
  t.match(page.headers.get('content-security-policy'), "script-src 'self';");
  t.notMatch(page.headers.get('content-security-policy'), 'upgrade-insecure-requests');
  const files = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file ?? '');
  t.ok(files.length >= 4);
  for (const file of files) {
    const path = new URL(file, `${s.baseUrl}/docs`).pathname;
    t.ok(new URL(file, `${s.baseUrl}/docs`).href.startsWith(s.baseUrl), file);
    t.equal((await s.nobody.get(path)).status, 200, path);
  }
  t.notMatch(page.body, /<script(?![^>]*src)[^>]*>[^<]/, 'no inline script, which the policy would stop');
});

t.test('only listed web origins may call, and only with the methods there are', async (t) => {
  const s = await service(t, { settings: { CORS_ORIGINS: 'https://console.example' } });
  const from = (origin: string, more = {}) => ({ headers: { origin, ...more } });
  const preflight = {
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization',
  };
  const allowed = (answer: { headers: Headers }) => answer.headers.get('access-control-allow-origin');

  const asked = await s.nobody.send(
    'OPTIONS',
    '/devices/x/status',
    from('https://console.example', preflight),
  );
  t.equal(asked.status, 204);
  t.equal(allowed(asked), 'https://console.example');
  t.match(asked.headers.get('access-control-allow-methods'), 'PUT, PATCH');
  t.equal(asked.headers.get('access-control-allow-headers'), 'authorization');
  t.equal(
    allowed(await s.radio.send('GET', '/talkgroups', from('https://console.example'))),
    'https://console.example',
  );
  t.equal(
    allowed(await s.nobody.send('GET', '/talkgroups', from('https://console.example'))),
    'https://console.example',
  );
  t.equal(allowed(await s.radio.send('GET', '/talkgroups', from('https://evil.example'))), null);
  t.equal(
    allowed(await s.nobody.send('OPTIONS', '/talkgroups', from('https://evil.example', preflight))),
    null,
  );
  t.equal(
    (await s.nobody.send('OPTIONS', '/talkgroups')).status,
    405,
    'what is no preflight is a wrong method',
  );
  t.equal((await s.nobody.send('OPTIONS', '/nowhere')).status, 404);
});

t.test('without CORS_ORIGINS no origin is named and OPTIONS is a wrong method', async (t) => {
  const s = await service(t);
  const headers = { origin: 'https://console.example', 'access-control-request-method': 'GET' };
  const answer = await s.nobody.send('OPTIONS', '/talkgroups', { headers });
  t.equal(answer.status, 405);
  t.equal(answer.headers.get('access-control-allow-origin'), null);
});
