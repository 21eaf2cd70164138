// HTTP below the routes: what is no request, comes too slowly or asks for another protocol gets an answer all the same.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { eventually } from '../helpers/eventually.js';
import { exchange, type RawAnswer } from '../helpers/http/raw.js';
import { assertRefusal, PASSWORD_HASH, type Service, service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

const HOST = 'host: radio.example\r\n';

function assertAnswer(t: Test, answer: RawAnswer | undefined, status: number, name: string): void {
  t.equal(answer?.status, status, name);
  if (answer === undefined || status < 400) return;
  t.match(answer.headers['content-type'], /^application\/json/, name);
  assertRefusal(JSON.parse(answer.body), name);
}

/** A registration with a body in whatever framing. */
const register = (framing: string, body: string) =>
  `POST /auth/register HTTP/1.1\r\n${HOST}content-type: application/json\r\n${framing}\r\n${body}`;

t.test('bytes that are no request are answered 400 and the connection is closed', async (t) => {
  const s = await service(t);
  const faults = {
    nonsense: 'hello\r\n\r\n',
    'a TLS hello': Buffer.from('16030100f8010000f40303', 'hex'),
    'an unknown method': `SPEAK /healthz HTTP/1.1\r\n${HOST}\r\n`,
    'a method in lower case': `get /healthz HTTP/1.1\r\n${HOST}\r\n`,
    'version 3.7': `GET /healthz HTTP/3.7\r\n${HOST}\r\n`,
    'a space in the path': `GET /health z HTTP/1.1\r\n${HOST}\r\n`,
    'a header without a colon': `GET /healthz HTTP/1.1\r\n${HOST}nonsense\r\n\r\n`,
    'a header with a space before the colon': `GET /healthz HTTP/1.1\r\n${HOST}x : y\r\n\r\n`,
    'NUL in a header': `GET /healthz HTTP/1.1\r\n${HOST}x: a\0b\r\n\r\n`,
    'lengths that contradict each other': register('content-length: 2\r\ncontent-length: 3\r\n', '{}'),
    'a length and chunks': register('content-length: 2\r\ntransfer-encoding: chunked\r\n', '0\r\n\r\n'),
    'a negative length': register('content-length: -1\r\n', '{}'),
    'a length in words': register('content-length: two\r\n', '{}'),
    'an endless length': register(`content-length: ${'9'.repeat(40)}\r\n`, '{}'),
    'chunks inside chunks': register('transfer-encoding: chunked, gzip\r\n', '0\r\n\r\n'),
    'a chunk that is no number': register('transfer-encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n'),
    'a chunk longer than it says': register('transfer-encoding: chunked\r\n', '2\r\n{}}}\r\n0\r\n\r\n'),
  };
  for (const [name, request] of Object.entries(faults)) {
    const { answers, closed } = await exchange(s.port, [request]);
    t.equal(answers.length, 1, name);
    assertAnswer(t, answers[0], 400, name);
    t.ok(closed);
  }
  t.equal((await s.radio.get('/talkgroups')).status, 200, 'the server is as well as before');
});

t.test('a request without a Host, or with two, is refused in HTTP/1.1', async (t) => {
  const s = await service(t);
  const cases: [request: string, status: number][] = [
    ['GET /healthz HTTP/1.1\r\n\r\n', 400],
    [`GET /healthz HTTP/1.1\r\n${HOST}host: other.example\r\n\r\n`, 400],
    [`GET /healthz HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
    ['GET /healthz HTTP/1.0\r\n\r\n', 200],
    [`GET /healthz HTTP/1.1\r\n${HOST}\r\n`, 200],
  ];
  for (const [request, status] of cases) {
    const { answers } = await exchange(s.port, [request], 1);
    assertAnswer(t, answers[0], status, JSON.stringify(request));
  }
});

t.test('headers, paths and bodies beyond their limits are refused by name', async (t) => {
  const s = await service(t);
  const cases: [name: string, request: string, status: number][] = [
    ['20 kB of headers', `GET /healthz HTTP/1.1\r\n${HOST}x: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    [
      '5,000 headers',
      `GET /healthz HTTP/1.1\r\n${HOST}${Array.from({ length: 5000 }, (_, n) => `x${n}: y\r\n`).join('')}\r\n`,
      431,
    ],
    ['a path of 9 kB', `GET /${'x'.repeat(9000)} HTTP/1.1\r\n${HOST}\r\n`, 414],
    ['a query of 9 kB', `GET /healthz?${'x'.repeat(9000)} HTTP/1.1\r\n${HOST}\r\n`, 414],
    ['a body that says it is large', register('content-length: 1000000\r\n', '{}'), 413],
    [
      'a body that grows large',
      register('transfer-encoding: chunked\r\n', `5000\r\n${' '.repeat(0x5000)}\r\n0\r\n\r\n`),
      413,
    ],
  ];
  for (const [name, request, status] of cases) {
    const { answers } = await exchange(s.port, [request], 1);
    assertAnswer(t, answers[0], status, name);
  }
});

t.test('a client that sends on while it is refused still reads why', async (t) => {
  const s = await service(t);
  // Bytes that are not read any more must not reset the connection before the answer was read.
  const body = ' '.repeat(300_000);
  for (let round = 0; round < 5; round++) {
    const large = await exchange(s.port, [register(`content-length: ${body.length}\r\n`, body)], 1);
    assertAnswer(t, large.answers[0], 413, 'too large');
    const headers = await exchange(s.port, [`GET / HTTP/1.1\r\n${HOST}x: x${body}\r\n\r\n`], 1);
    assertAnswer(t, headers.answers[0], 431, 'headers too large');
  }
});

t.test('bad targets are 400 or 404, never a route they only resemble', async (t) => {
  const s = await service(t);
  const cases: [target: string, status: number][] = [
    ['/%', 400],
    ['/%zz', 400],
    ['/talkgroups/%E0%A4%A/members', 400],
    ['/%ff', 400],
    ['/healthz%00', 404],
    ['/healthz%2f', 404],
    ['/health%7a', 200],
    ['//healthz', 404],
    ['/healthz//', 404],
    ['/./healthz', 404],
    ['/docs/../healthz', 404],
    ['/healthz;x=1', 404],
    ['/healthz#x', 200],
    ['/healthz?', 200],
    ['http://radio.example/healthz', 200],
    ['*', 404],
  ];
  for (const [target, status] of cases) {
    const { answers } = await exchange(s.port, [`GET ${target} HTTP/1.1\r\n${HOST}\r\n`], 1);
    assertAnswer(t, answers[0], status, target);
  }
});

t.test('Expect, CONNECT and Upgrade are answered like any other request', async (t) => {
  const s = await service(t);
  const post = (expect: string) =>
    `POST /auth/login HTTP/1.1\r\n${HOST}content-type: application/json\r\nexpect: ${expect}\r\ncontent-length: 2\r\n\r\n{}`;
  const upgrade = `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${Buffer.from('0123456789abcdef').toString('base64')}\r\n`;
  const cases: [name: string, request: string, status: number][] = [
    ['Expect: 100-continue', post('100-continue'), 400],
    ['another Expect', post('a-miracle'), 417],
    ['CONNECT', `CONNECT radio.example:443 HTTP/1.1\r\n${HOST}\r\n`, 405],
    ['Upgrade of /ws', `GET /ws?token=x HTTP/1.1\r\n${HOST}${upgrade}\r\n`, 404],
    ['Upgrade of /healthz', `GET /healthz HTTP/1.1\r\n${HOST}${upgrade}\r\n`, 200],
    ['Upgrade to h2c', `GET /healthz HTTP/1.1\r\n${HOST}connection: upgrade\r\nupgrade: h2c\r\n\r\n`, 200],
    ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ];
  for (const [name, request, status] of cases) {
    const { answers } = await exchange(s.port, [request], 1);
    assertAnswer(t, answers[0], status, name);
    if (status === 405) t.ok(answers[0]?.headers.allow);
  }
});

t.test('an Upgrade that is not taken is answered, and the connection ends with the answer', async (t) => {
  const s = await service(t);
  const upgrade = `GET /healthz HTTP/1.1\r\n${HOST}connection: upgrade\r\nupgrade: websocket\r\n\r\n`;
  // Kept, it would wait in silence for more of a request whose headers are too large.
  const large = `GET /healthz HTTP/1.1\r\n${HOST}cookie: ${'c'.repeat(17_000)}\r\n\r\n`;
  const { answers, closed, tookMs } = await exchange(s.port, [upgrade], undefined, large);
  t.match(answers, [{ status: 200, headers: { connection: 'close' } }]);
  t.ok(closed);
  t.ok(tookMs < 4000, `took ${tookMs}`);
});

t.test(
  'a refused request leaves the connection usable, a broken one does not spoil the answer before it',
  async (t) => {
    const s = await service(t);
    const good = `GET /talkgroups HTTP/1.1\r\n${HOST}authorization: Bearer ${s.radio.token}\r\n\r\n`;
    const statusesOf = async (requests: string[], expected?: number) =>
      (await exchange(s.port, requests, expected)).answers.map(({ status }) => status);

    t.strictSame(await statusesOf([register('content-length: 1\r\n', '{'), good], 2), [400, 200]);
    const body = ' '.repeat(20_000);
    t.strictSame(await statusesOf([register('content-length: 20000\r\n', body), good], 2), [413, 200]);
    t.strictSame(
      await statusesOf([`POST /nowhere HTTP/1.1\r\n${HOST}content-length: 5\r\n\r\nxxxxx`, good], 2),
      [404, 200],
    );
    t.strictSame(await statusesOf([good, 'nonsense\r\n\r\n']), [200, 400], 'one write each');
    t.strictSame(await statusesOf([`${good}${good}nonsense\r\n\r\n`]), [200, 200, 400], 'one write for all');
    const connectNow = `CONNECT radio.example:443 HTTP/1.1\r\n${HOST}\r\n`;
    t.strictSame(await statusesOf([good + connectNow]), [200, 405]);
    t.strictSame(
      await statusesOf([`GET /healthz HTTP/1.1\r\n${HOST}expect: x\r\n\r\n${good}`], 2),
      [417, 200],
    );
  },
);

t.test('one byte per packet is a request like any other', async (t) => {
  const s = await service(t);
  const body = JSON.stringify({ name: 'bytewise \u{1F4FB}' });
  const head = `POST /talkgroups HTTP/1.1\r\n${HOST}authorization: Bearer ${s.admin.token}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const bytes = [...Buffer.from(head + body)].map((byte) => Buffer.of(byte));
  const { answers } = await exchange(s.port, bytes, 1);
  t.equal(answers[0]?.status, 200);
  t.match(JSON.parse(answers[0]?.body ?? ''), { talkgroup: { name: /^bytewise/ } });
});

t.test(
  'slow requests end with 408: headers after 5 s, bodies after 10 s, and are not carried out',
  async (t) => {
    const s = await service(t, { passwords: { hash: async () => PASSWORD_HASH, verify: async () => false } });
    const username = randomUUID();
    const body = JSON.stringify({ username, password: 'x' });
    const started = register(`content-length: ${body.length}\r\n`, body.slice(0, -1));
    const timely = (ms: number, took: number) => took >= ms - 100 && took < ms + 2500;

    const [headers, silence, slowBody, refusedBody, lateBody] = await Promise.all([
      exchange(s.port, [`GET /healthz HTTP/1.1\r\n${HOST}`]),
      exchange(s.port, []),
      exchange(s.port, [started]),
      exchange(s.port, [started.replace('/auth/register', '/talkgroups')]),
      exchange(s.port, [started], undefined, body.slice(-1)),
      slowButFine(s),
    ]);
    assertAnswer(t, headers.answers[0], 408, 'headers');
    t.ok(timely(5000, headers.tookMs), `headers took ${headers.tookMs}`);
    assertAnswer(t, silence.answers[0], 408, 'nothing at all');
    t.ok(timely(5000, silence.tookMs), `silence took ${silence.tookMs}`);
    assertAnswer(t, slowBody.answers[0], 408, 'body');
    t.ok(timely(10_000, slowBody.tookMs), `body took ${slowBody.tookMs}`);
    assertAnswer(t, lateBody.answers[0], 408, 'late body');
    // A registration behind it: one that was carried out late would be done before this one is.
    t.equal((await s.nobody.post('/auth/register', { username: 'later', password: 'x' })).status, 200);
    const stored = await s.sql((sql) => sql`select id from users where username = ${username}`);
    t.strictSame(stored, [], 'also when the rest of the body comes after the 408');
    t.equal(refusedBody.answers.length, 1, 'who was refused before his body came gets no second answer');
    assertAnswer(t, refusedBody.answers[0], 401, 'refused');

    /** Longer than the 2.5 s a request's work may take: waiting for the client is not part of it. */
    async function slowButFine(s: Service): Promise<void> {
      const body = JSON.stringify({ name: 'slow uplink' });
      const socket = connect(s.port, '127.0.0.1');
      socket.write(
        `POST /talkgroups HTTP/1.1\r\n${HOST}authorization: Bearer ${s.admin.token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
      );
      let at = 0;
      const drip = setInterval(() => {
        socket.write(body.slice(at, at + 5));
        at += 5;
        if (at >= body.length) clearInterval(drip);
      }, 700);
      const [answer] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve)))
        .toString()
        .split('\r\n');
      socket.destroy();
      t.equal(answer, 'HTTP/1.1 200 OK');
    }
  },
);

t.test('a client that does not read its answer is disconnected, a slow one gets all of it', async (t) => {
  const answer = Buffer.alloc(24 << 20, 'x'); // more than the kernel takes for a socket. Four may wait in all
  let asked = 0;
  const answerLarge = async () => {
    asked++;
    return answer;
  };
  const s = await service(t, {
    settings: { ANSWER_TIMEOUT_S: '2', REQUESTS_PER_USER: '1' },
    moreRoutes: [async (app) => void app.get('/large', { config: { access: 'user' } }, answerLarge)],
  });
  const large = ({ token }: { token: string }) =>
    `GET /large HTTP/1.1\r\n${HOST}authorization: Bearer ${token}\r\n\r\n`;
  const [silent, dripping, slow] = [await s.account(), await s.account(), await s.account()];
  const sending = await s.account();

  const startedAt = performance.now();
  // At most 5 MB/s. On the loopback the kernel takes more only after about 4 MB were read.
  const slowly = readSlowly(t, s.port, { request: large(slow), bytesPerTurn: 50_000, turnMs: 10 });
  readSlowly(t, s.port, { request: large(silent), bytesPerTurn: 0, turnMs: 1000 });
  readSlowly(t, s.port, { request: large(dripping), bytesPerTurn: 1, turnMs: 1000 });
  // An empty line in front of a request is skipped (RFC 9112, 2.2), so no limit of a request holds for it.
  readSlowly(t, s.port, { request: large(sending), bytesPerTurn: 0, turnMs: 200, sends: '\r\n' });
  const unread = [silent, dripping, sending];
  // Before that a request of the test could take the place of one of them.
  await eventually(() => assert.equal(asked, 1 + unread.length));
  for (const caller of unread) {
    await eventually(async () => assert.equal((await caller.get('/talkgroups')).status, 429));
  }
  // At a busy machine the kernel goes on taking bytes for several checks, so the end of an answer comes later.
  await eventually(() => assert.equal(s.server.counts.answersStalled, 3));
  for (const caller of unread) {
    // Its requests are no longer counted. That is so from the end of the socket on, a moment after it was counted.
    await eventually(async () => assert.equal((await caller.get('/talkgroups')).status, 200));
  }
  await eventually(() => assert.ok(slowly.received() > answer.length));
  t.ok(performance.now() - startedAt > 4000, 'slower than an unread answer ends');
  t.equal(s.server.counts.answersStalled, 3);
});

/** Reads so many bytes of the answers, and sends that, in each turn. What is not read fills the kernel's buffers. */
function readSlowly(
  t: Test,
  port: number,
  {
    request,
    bytesPerTurn,
    turnMs,
    sends = '',
  }: { request: string; bytesPerTurn: number; turnMs: number; sends?: string },
): { received(): number } {
  const socket = connect(port, '127.0.0.1');
  let received = 0;
  socket.on('readable', () => {}); // read by the timer alone
  socket.on('error', () => {}); // the server resets it
  socket.write(request);
  const timer = setInterval(() => {
    if (sends !== '') socket.write(sends);
    let left = bytesPerTurn;
    while (left > 0) {
      const bytes: Buffer | null = socket.read(Math.min(left, socket.readableLength || left));
      if (bytes === null) break;
      left -= bytes.length;
      received += bytes.length;
    }
  }, turnMs);
  t.teardown(() => {
    clearInterval(timer);
    socket.destroy();
  });
  return { received: () => received };
}

t.test('200 clients that hang up in the middle of everything leave nothing behind', async (t) => {
  const s = await service(t);
  const whole = register('content-length: 2\r\n', '{}');
  const sockets = Array.from({ length: 200 }, (_, n) => {
    const socket = connect(s.port, '127.0.0.1', () => {
      socket.write(whole.slice(0, (n * 7) % whole.length), () => {
        if (n % 2 === 0) socket.resetAndDestroy();
        else socket.destroy();
      });
    });
    socket.on('error', () => {
      // Expected: we reset it ourselves.
    });
    return new Promise((resolve) => socket.once('close', resolve));
  });
  await Promise.all(sockets);
  t.equal((await s.radio.get('/talkgroups')).status, 200);
  t.notMatch(s.logged(), '"level":50');
});
