// What the relay answers to a request on its port, without a socket.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { addressText, clientAddress, trustIn } from '../../src/proxies.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import {
  answerToGet,
  type HttpAnswer,
  httpAnswers,
  type PlainResponse,
  readUpgrade,
  writeAnswer,
} from '../../src/relay/websocket/handshake.js';
import { mayOpen } from '../../src/relay/websocket/origins.js';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const GOOD = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': KEY };
/** A proxy. */
const PEER = '192.0.2.1';
const CLAIMS = { sub: randomUUID() as UserId, iat: 7 };

/** Reads a good handshake with these headers and this query. The relay accepts the token `good`. */
function read(
  headers: Readonly<Record<string, string>>,
  query = '',
  listed: readonly string[] | null = null,
) {
  const verified: string[] = [];
  let passed = 0;
  const all: Readonly<Record<string, string>> = { ...GOOD, ...headers };
  const result = readUpgrade(
    { getHeader: (name) => all[name] ?? '', getQuery: () => query },
    PEER,
    {
      churn: { passes: () => void passed++ },
      verifyToken(token) {
        verified.push(token);
        return token === 'good' ? CLAIMS : null;
      },
    },
    { origins: { listed, consolePort: 3000 }, isTrusted: (address) => address === PEER },
  );
  return { result, verified, passed };
}

t.test('a handshake is accepted with its claims, and a rejected token is answered later', async (t) => {
  const { result, passed } = read({ upgrade: 'WebSocket' }, 'token=good&resume=r');
  t.strictSame(result, {
    ...{ kind: 'upgrade', key: KEY, claims: CLAIMS, resume: 'r' },
    from: { address: PEER, client: null },
  });
  t.equal(passed, 1);
  t.match(read({}, 'token=bad').result, { kind: 'upgrade', claims: null, resume: null });
});

t.test('a parameter that is missing or sent twice counts as none', async (t) => {
  for (const query of ['', 'token=good&token=good&resume=a&resume=b']) {
    const { result, verified } = read({}, query);
    t.match(result, { kind: 'upgrade', claims: null, resume: null });
    t.strictSame(verified, ['']);
  }
});

t.test('the app may name itself, and the proxy says where it comes from', async (t) => {
  const from = (forwarded: string, query: string) =>
    (read({ 'x-forwarded-for': forwarded }, query).result as { from: object }).from;
  t.strictSame(from('198.51.100.9, 203.0.113.5', 'client=acme-android/3.2'), {
    ...{ address: '203.0.113.5', client: 'acme-android/3.2' },
  });
  for (const name of ['', 'x'.repeat(65), '%00', 'a%0ab', '%C3%A9', 'a&client=b'])
    t.match(from('', `client=${name}`), { address: PEER, client: null }, name);
  t.match(from('', `client=${'x'.repeat(64)}`), { client: 'x'.repeat(64) });
});

t.test(
  'the address is the last one that no trusted proxy has, and that of the peer without a proxy',
  async (t) => {
    const isTrusted = trustIn(['192.0.2.0/24', '2001:db8::1']);
    const address = (peer: string, forwardedFor = '') => clientAddress(isTrusted, { peer, forwardedFor });
    t.equal(address('203.0.113.5', '198.51.100.9'), '203.0.113.5', 'anybody can send the header');
    t.equal(address('192.0.2.1', '198.51.100.9, 192.0.2.7'), '198.51.100.9');
    t.equal(address('2001:db8::1', '1.1.1.1,198.51.100.9'), '198.51.100.9');
    t.equal(address('192.0.2.1', 'unknown'), '192.0.2.1');
    t.equal(address('192.0.2.1', '198.51.100.9, <b>'), '192.0.2.1');
    t.equal(address('192.0.2.1', '192.0.2.7, 192.0.2.8'), '192.0.2.7', 'all are proxies');
    t.equal(addressText(Uint8Array.of(203, 0, 113, 5)), '203.0.113.5');
    const v6 = (text: string) => addressText(Uint8Array.from(Buffer.from(text, 'hex')));
    t.equal(v6('20010db8000000000000000000000001'), '2001:db8::1');
    t.equal(v6('00000000000000000000ffffcb007105'), '203.0.113.5');
    t.equal(addressText(new Uint8Array()), 'unknown');
  },
);

t.test('anything else is answered by its first fault, and no token is verified', async (t) => {
  const origins = ['https://a.example'];
  const wanted: readonly [headers: Readonly<Record<string, string>>, HttpAnswer][] = [
    [{ upgrade: 'h2c', 'sec-websocket-version': '8' }, httpAnswers.noUpgrade],
    [{ 'sec-websocket-version': '8', 'sec-websocket-key': '' }, httpAnswers.badVersion],
    [{ 'sec-websocket-key': KEY.replace('==', 'AA'), origin: 'https://b.example' }, httpAnswers.badKey],
    [{ origin: 'https://b.example' }, httpAnswers.badOrigin],
  ];
  for (const [headers, answer] of wanted) {
    const { result, verified, passed } = read(headers, 'token=good', origins);
    t.equal(result, answer, answer.error);
    t.strictSame(verified, []);
    t.equal(passed, 0);
  }
  for (const origin of ['', 'https://a.example'])
    t.equal(read({ origin }, '', origins).result.kind, 'upgrade', origin);
});

t.test('a GET that is no upgrade lacks the handshake, or a key of the right length', async (t) => {
  const get = (upgrade: string) => answerToGet({ getHeader: () => upgrade, getQuery: () => '' });
  t.equal(get(''), httpAnswers.noUpgrade);
  t.equal(get('WebSocket'), httpAnswers.badKey);
});

t.test('an answer is written in one piece, closes the connection and is counted by its status', async (t) => {
  const written: string[] = [];
  let isCorked = false;
  const note = (...parts: string[]) => {
    t.ok(isCorked);
    written.push(parts.join(': '));
    return response;
  };
  const response: PlainResponse = {
    cork(act) {
      isCorked = true;
      act();
      isCorked = false;
    },
    writeStatus: note,
    writeHeader: note,
    end: (body, closeConnection) => note(body, String(closeConnection)),
  };
  const counts = newCounts();
  writeAnswer(response, counts, httpAnswers.noMethod);
  t.strictSame(written, [
    '405 Method Not Allowed',
    'Content-Type: application/json; charset=utf-8',
    'Error-Code: method_not_allowed',
    'Allow: GET',
    '{"error":"method not allowed"}: true',
  ]);
  t.equal(counts.notUpgraded['405'], 1);
});

t.test('the page of the console may open sockets at its own name, beside the listed origins', async (t) => {
  const listed = ['https://a.example'];
  const kinds = (origin: string, host: string) => read({ origin, host }, '', listed).result.kind;
  const own: readonly [origin: string, host: string][] = [
    ['http://radio.example:3000', 'radio.example:3001'],
    ['https://radio.example:3000', 'radio.example:3001'],
    ['http://127.0.0.1:3000', '127.0.0.1:3001'],
    ['http://[::1]:3000', '[::1]:3001'],
    ['https://radio.example', 'radio.example'],
    ['https://radio.example', 'Radio.Example:443'],
    ['https://radio.example:8443', 'radio.example:8443'],
  ];
  for (const [origin, host] of own) t.equal(kinds(origin, host), 'upgrade', `${origin} at ${host}`);
  const others: readonly [origin: string, host: string][] = [
    ['http://radio.example:3002', 'radio.example:3001'],
    ['http://radio.example', 'radio.example:3001'],
    ['http://evil.example:3000', 'radio.example:3001'],
    ['http://radio.example.evil.example:3000', 'radio.example:3001'],
    ['http://radio.example:3000/', 'radio.example:3001'],
    ['http://radio.example:3000', ''],
    ['http://radio.example:3000', 'not a host'],
    ['ftp://radio.example:3000', 'radio.example:3001'],
    ['null', 'null'],
    ['radio.example:3000', 'radio.example:3001'],
  ];
  for (const [origin, host] of others) t.equal(kinds(origin, host), 'answer', `${origin} at ${host}`);
});

t.test(
  'the console has any port when the port of REST is not known before, and none when it is off',
  async (t) => {
    const headers = { origin: 'http://radio.example:40001', host: 'radio.example:40002' };
    const listed = ['https://a.example'];
    t.ok(mayOpen(headers, { listed, consolePort: 0 }));
    t.notOk(mayOpen({ ...headers, origin: 'http://evil.example:40001' }, { listed, consolePort: 0 }));
    t.notOk(mayOpen(headers, { listed, consolePort: null }));
    t.ok(mayOpen(headers, { listed: null, consolePort: null }), 'without a list any origin may');
  },
);
