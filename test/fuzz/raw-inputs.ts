// Input around the HTTP parser: what is no request, or more than one, or contradicts itself.
import fc from 'fast-check';
import type { Route } from './api.js';
import { damage, named } from './bad-values.js';
import { bytes, type Request } from './request-bytes.js';
import { rightRequest } from './requests.js';

/** Bytes on a connection of their own. They need not be a request. */
export interface RawInput {
  readonly kind: string;
  readonly base: Request;
  readonly surgery: (request: Buffer) => Buffer;
  /** One byte in each packet. */
  readonly sliced: boolean;
}

/** Bytes around the parser: requests that were damaged, cut, doubled, contradict themselves or never were any. */
export function rawInputsTo(routes: readonly Route[]): fc.Arbitrary<RawInput> {
  const base = fc.oneof(...routes.filter(({ hashes }) => !hashes).map(rightRequest));
  const line = (kind: string, weight: number, surgery: fc.Arbitrary<(request: Buffer) => Buffer>) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(`wire: ${kind}`), base, surgery, sliced: fc.constant(false) }),
  });
  return fc.oneof(
    line('damage', 6, damage),
    line('header line', 5, fc.constantFrom(...HEADER_LINES).map(named('line', addLine))),
    line('first line', 3, fc.constantFrom(...FIRST_LINES).map(named('first', replaceFirst))),
    line('chunks', 3, fc.constantFrom(...CHUNKS).map(named('chunks', replaceBody))),
    line('no Host', 1, fc.constant('').map(named('without Host', withoutHost))),
    line('bare line feeds', 1, fc.constant('').map(named('line feeds', lineFeeds))),
    line('two at once', 2, fc.integer({ min: 2, max: 6 }).map(named('times', repeated))),
    line('noise', 1, fc.uint8Array({ maxLength: 400 }).map(named('noise', noise))),
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('wire: byte by byte'),
        base,
        surgery: fc.constant(asItIs),
        sliced: fc.constant(true),
      }),
    },
  );
}

const HEADER_LINES = [
  'Content-Length: 3',
  'Content-Length: 3\r\nContent-Length: 4',
  'Content-Length: -1',
  'Content-Length: 1e2',
  'Content-Length: 0x10',
  'Content-Length: 5, 5',
  `Content-Length: ${'9'.repeat(40)}`,
  'Content-Length:',
  'Content-Length: 1 1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 4',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding: xchunked',
  'Host: two.example',
  'Host:',
  ' folded',
  '\tfolded',
  'nonsense',
  ': no name',
  'x\0y: z',
  'x: a\0b',
  'x: \x7f',
  'x: a\rb',
  'é: x',
  'x y: z',
  'Expect: 100-continue',
  'Expect: x',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings',
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x',
  'Connection: close',
  '',
  '\r\n',
  `x: ${'y'.repeat(17_000)}`,
];
const FIRST_LINES = [
  'GET /healthz',
  'GET /healthz HTTP/0.9',
  'GET /healthz HTTP/1.0',
  'GET /healthz HTTP/3.7',
  'GET /healthz HTTP/1.1.1',
  'get /healthz HTTP/1.1',
  'GET  /healthz  HTTP/1.1',
  'GET\t/healthz\tHTTP/1.1',
  ' GET /healthz HTTP/1.1',
  'GET /health z HTTP/1.1',
  'GET http://x/healthz HTTP/1.1',
  'GET //x@y:z/ HTTP/1.1',
  'GET * HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'CONNECT x:443 HTTP/1.1',
  'CONNECT / HTTP/1.1',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n',
  'GET /\0 HTTP/1.1',
  'GET /\xff\xfe HTTP/1.1',
  'GET  HTTP/1.1',
  'POST HTTP/1.1',
  'SPEAK / HTTP/1.1',
  '\x16\x03\x01\x02\x00\x01',
  '\r\n\r\nGET /healthz HTTP/1.1',
  `GET /${'x'.repeat(70_000)} HTTP/1.1`,
  'HTTP/1.1 200 OK',
  'GET /healthz HTTP/1.1\rX: y',
];
const CHUNKS = [
  '0\r\n\r\n',
  'zz\r\n{}\r\n0\r\n\r\n',
  '2\r\n{}}}\r\n0\r\n\r\n',
  '-2\r\n{}\r\n0\r\n\r\n',
  '2;x=y\r\n{}\r\n0\r\n\r\n',
  `2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
  'fffffffff\r\n{}\r\n',
  '2\r\n{}\r\n',
  '2\r\n{}0\r\n\r\n',
  '2\n{}\n0\n\n',
  '2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n',
  `2\r\n{}\r\n0\r\n${'x: y\r\n'.repeat(3000)}\r\n`,
  '0x2\r\n{}\r\n0\r\n\r\n',
  ' 2\r\n{}\r\n0\r\n\r\n',
  '\r\n',
  '1\r\n{\r\n'.repeat(300),
];

const text = (bytes: Buffer) => bytes.toString('latin1');

const addLine = (line: string) => (request: Buffer) =>
  bytes(text(request).replace('\r\n', () => `\r\n${line}\r\n`));
const replaceFirst = (line: string) => (request: Buffer) =>
  bytes(text(request).replace(/^[^\r]*/, () => line));
const replaceBody = (chunks: string) => (request: Buffer) =>
  bytes(
    `${text(request)
      .split('\r\n\r\n')[0]
      ?.replace(/\r\ncontent-length:[^\r]*/i, '')}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
  );
const withoutHost = () => (request: Buffer) => bytes(text(request).replace(/\r\nHost:[^\r]*/, ''));
const lineFeeds = () => (request: Buffer) => bytes(text(request).replaceAll('\r\n', '\n'));
const repeated = (times: number) => (request: Buffer) =>
  Buffer.concat(Array.from({ length: times }, () => request));
const noise = (noise: Uint8Array) => () => Buffer.from(noise);
const asItIs = (request: Buffer) => request;
