// The opening handshake at the level of bytes, RFC 6455 sections 4.1 to 4.2.2, row by row.
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { HANGS_MS } from '../helpers/eventually.js';
import { ask, handshake, open, serviceOnTheWire, TEXT, wireFrame } from '../helpers/relay/wire.js';
import { within } from '../helpers/within.js';

/** The example of section 1.3. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const AGREED = {
  upgrade: 'websocket',
  connection: 'Upgrade',
  'sec-websocket-accept': 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
};

const s = await serviceOnTheWire(t);

/** The request of a good client. `lines` replace or add headers, '' takes one away. */
const hello = (lines: Readonly<Record<string, string>> = {}) =>
  handshake(s.address, { 'Sec-WebSocket-Key': KEY, ...lines });
/** The same with one more line at the end, also of a name it has already. */
const helloAnd = (line: string) => hello().replace('\r\n\r\n', `\r\n${line}\r\n\r\n`);
// A fixed mask: the half of a frame that is read as a frame begins with the same bytes every time.
const question = wireFrame({ opcode: TEXT, payload: ask(1), mask: [0xa1, 0xb2, 0xc3, 0xd4] });

// Started first: the engine takes its ten seconds.
const endless = Promise.all([untilTheEnd('nothing', ''), untilTheEnd('no empty line', hello().slice(0, -2))]);
const unreadable = Promise.all([
  untilTheEnd('a line without a colon', helloAnd('Upgrade')),
  untilTheEnd('a header in two lines', helloAnd('X-Radio: one,\r\n two')),
  untilTheEnd('a blank before the colon', helloAnd('X-Radio : one')),
  untilTheEnd('a zero byte', helloAnd('X-Radio: \0')),
  untilTheEnd('99 headers', helloWith(99)),
]);

/**
 * The section of RFC 6455 and what is in the request, the request, and the status it is answered with, or several where
 * the releases of the engine differ (ENGINE.md). Behind a 101 the session goes on as any other. The last column stands
 * where relay or engine deviate: what the RFC asks for.
 */
type Row = readonly [what: string, request: string, status: number | readonly number[], rfc?: number];

const groups: Record<string, Row[]> = {
  'the request line is a GET of /ws in HTTP/1.1': [
    ['4.1 as a browser sends it', hello(), 101],
    ['4.1 a POST', hello().replace('GET', 'POST'), 405],
    ['4.1 a method in small letters', hello().replace('GET', 'get'), 405],
    ['4.1 HTTP/1.0', hello().replace('HTTP/1.1', 'HTTP/1.0'), 505],
    ['4.1 HTTP/1.2, which is higher', hello().replace('HTTP/1.1', 'HTTP/1.2'), 505, 101],
    ['4.1 another path', hello().replace('/ws', '/sw'), 404],
    ['4.1 a whole URI', hello().replace('/ws', s.address.replace(/^ws(.*\/ws).*$/, 'http$1')), 505, 101],
  ],

  'Host, Upgrade and Connection are there, and say so': [
    ['4.2.1 no Host', hello({ Host: '' }), 400],
    ['4.2.1 two Hosts', helloAnd('Host: example.org'), [400, 101], 400],
    ['4.2.1 the Host of somebody else', hello({ Host: 'example.org' }), 101],
    [
      '4.2.1 names and values in other letters',
      otherLetters(hello({ Upgrade: 'WEBsocket', Connection: 'upGRADE' })),
      101,
    ],
    ['4.2.1 no Upgrade', hello({ Upgrade: '' }), 426],
    ['4.2.1 an Upgrade to something else', hello({ Upgrade: 'h2c' }), 426],
    ['4.2.1 an Upgrade to this or that', hello({ Upgrade: 'h2c, websocket' }), 426, 101],
    ['4.2.1 Connection: keep-alive, Upgrade', hello({ Connection: 'keep-alive, Upgrade' }), 101],
    ['4.2.1 Connection: keep-alive', hello({ Connection: 'keep-alive' }), 101, 400],
    ['4.2.1 no Connection', hello({ Connection: '' }), 101, 400],
  ],

  'the key is 16 bytes in base64': [
    ['4.2.1 none', hello({ 'Sec-WebSocket-Key': '' }), 400],
    ['4.2.1 15 bytes', hello({ 'Sec-WebSocket-Key': keyOf(15) }), 400],
    ['4.2.1 17 bytes', hello({ 'Sec-WebSocket-Key': keyOf(17) }), 400],
    ['4.2.1 18 bytes, as many letters', hello({ 'Sec-WebSocket-Key': keyOf(18) }), 400],
    ['4.2.1 no base64', hello({ 'Sec-WebSocket-Key': '!'.repeat(24) }), 400],
    ['4.2.1 no padding', hello({ 'Sec-WebSocket-Key': KEY.slice(0, 22) }), 400],
    ['4.2.1 blanks around it', hello({ 'Sec-WebSocket-Key': `  ${KEY} ` }), 101],
    ['11.3.1 two of them', helloAnd(`Sec-WebSocket-Key: ${keyOf(16)}`), 101, 400],
  ],

  'the version is 13': [
    ['4.2.1 none', hello({ 'Sec-WebSocket-Version': '' }), 426],
    ['4.2.1 12', hello({ 'Sec-WebSocket-Version': '12' }), 426],
    ['4.2.1 14', hello({ 'Sec-WebSocket-Version': '14' }), 426],
    ['4.2.1 013', hello({ 'Sec-WebSocket-Version': '013' }), 426],
    ['4.2.1 12, 13', hello({ 'Sec-WebSocket-Version': '12, 13' }), 426],
    ['11.3.5 13, and in another line 12', helloAnd('Sec-WebSocket-Version: 12'), 101, 400],
  ],

  'what is offered besides is not taken up': [
    ['4.2.2 subprotocols', hello({ 'Sec-WebSocket-Protocol': 'chat, superchat' }), 101],
    [
      '9.1 compression',
      hello({ 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' }),
      101,
    ],
    ['9.1 extensions nobody can read', hello({ 'Sec-WebSocket-Extensions': ';;=,"' }), 101, 400],
    ['4.2.1 98 headers', helloWith(98), 101],
    ['4.2.1 headers nobody knows', hello({ 'X-Radio': 'käfer', Cookie: 'x'.repeat(3000) }), 101],
    ['4.2.1 more than 4,096 bytes', hello({ Cookie: 'x'.repeat(8000) }), [431, 101], 101],
    [
      '4.2.1 a target of more than that',
      hello().replace('/ws?', `/ws?${'x'.repeat(8000)}&`),
      [431, 101],
      101,
    ],
  ],

  'what comes in the packet of the request is thrown away': [
    ['4.1 a frame', `${hello()}${question.toString('latin1')}`, 101],
    ['4.1 a frame with reserved bits', `${hello()}\xf1\x80masq`, 101],
    ['4.1 a second request', hello() + hello(), 101],
    ['4.2.1 a body', `${helloAnd('Content-Length: 5')}hello`, 101],
    [
      '4.2.1 a body of an unclear length',
      `${hello({ 'Content-Length': '5', 'Transfer-Encoding': 'chunked' })}hello`,
      400,
    ],
  ],
};

for (const [group, rows] of Object.entries(groups)) {
  t.test(group, async (t) => {
    for (const [what, request, status, rfc] of rows) {
      const statuses = [status].flat();
      const name = `${what}: ${statuses.join(' or ')}${rfc === undefined ? '' : ` (the RFC: ${rfc})`}`;
      const connection = await open(t, s.address, [Buffer.from(request, 'latin1')]);
      const got = connection.head?.status ?? 0;
      t.ok(statuses.includes(got), name, { got });
      if (got !== 101) continue;
      const { date, uwebsockets, ...headers } = connection.head?.headers ?? {};
      t.strictSame(headers, AGREED, `${what}: nothing but that is agreed on`);
      t.equal(await s.outcome(connection, []), 'goes on', `${what}: the session goes on`);
    }
    t.ok(await s.isWell(), 'everybody else goes on');
  });
}

t.test('a request may come in pieces, once its first line is there', async (t) => {
  const line = hello().indexOf('\r\n') + 2;
  const pieces = [hello().slice(0, line), ...hello().slice(line)].map((piece) => Buffer.from(piece));
  const connection = await open(t, s.address, pieces);
  t.equal(connection.head?.status, 101);
  t.equal(await s.outcome(connection, []), 'goes on');
});

t.test('a first line in pieces is read, or refused at once', async (t) => {
  for (const end of [1, 3, 7, 12, hello().indexOf('HTTP/1.1') + 5]) {
    const pieces = [hello().slice(0, end), hello().slice(end)].map((piece) => Buffer.from(piece));
    const connection = await open(t, s.address, pieces);
    const got = connection.head?.status ?? 0;
    t.ok([101, 505].includes(got), `cut behind byte ${end}: ${got}`);
    if (got === 101) t.equal(await s.outcome(connection, []), 'goes on');
    else t.equal(await connection.ends(), 'dropped');
  }
  t.ok(await s.isWell());
});

t.test('of a frame that comes half with the request, the other half is no frame', async (t) => {
  const half = Buffer.concat([Buffer.from(hello()), question.subarray(0, 10)]);
  const connection = await open(t, s.address, [half]);
  t.equal(await s.outcome(connection, [question.subarray(10)]), 'dropped');
  t.ok(await s.isWell());
});

/** The engine counts its ten seconds in steps of four. */
function isTenSeconds(t: Test, ms: number): boolean {
  within(t, ms, 16_000);
  return ms > 6000;
}

t.test('a request without an end is dropped after ten seconds', async (t) => {
  for (const { what, received, tookMs } of await endless) {
    t.equal(received, '', `${what}: no answer`);
    t.ok(isTenSeconds(t, tookMs), `${what}: ${Math.round(tookMs)} ms`);
  }
});

t.test('a request that cannot be read is refused at once, or dropped after ten seconds', async (t) => {
  for (const { what, received, tookMs } of await unreadable) {
    const isRefused = /^HTTP\/1\.1 4(00|31) /.test(received);
    t.ok(isRefused || received === '', `${what}: ${received.split('\r\n')[0] || 'no answer'}`);
    if (isRefused) within(t, tookMs, 6000, what);
    else t.ok(isTenSeconds(t, tookMs), `${what}: ${Math.round(tookMs)} ms`);
  }
  t.ok(await s.isWell());
});

/** All that is received until the server ends the connection, and when. */
async function untilTheEnd(what: string, request: string) {
  const startedAt = performance.now();
  const { hostname, port } = new URL(s.address);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  socket.write(request);
  await once(socket, 'close', { signal: AbortSignal.timeout(HANGS_MS) });
  return { what, received, tookMs: performance.now() - startedAt };
}

/** The request of a good client with so many headers. Five are needed. */
function helloWith(headers: number): string {
  return helloAnd(Array.from({ length: headers - 5 }, (_, index) => `X-${index}: radio`).join('\r\n'));
}

function keyOf(bytes: number): string {
  return Buffer.alloc(bytes).toString('base64');
}

function otherLetters(request: string): string {
  return request.replace(/^[\w-]+:/gm, (name) => name.toUpperCase());
}
