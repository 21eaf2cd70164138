// What the bench's raw radios speak, against bytes as the servers send them, cut wherever TCP may cut them.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import ts from 'typescript';
import type { Dialect, OpenDialect } from '../../bench/radios/dialects/dialect.js';
import { openMqtt } from '../../bench/radios/dialects/mqtt.js';
import { openNats } from '../../bench/radios/dialects/nats.js';
import { openSocketIo } from '../../bench/radios/dialects/socket-io.js';
import { openPlain, openRelay } from '../../bench/radios/dialects/websocket.js';
import { RawRadio } from '../../bench/radios/raw-radio.js';
import { startOfNode, withServer } from '../../bench/servers/start.js';
import { comesTrue } from '../helpers/eventually.js';
import { fencesOf, readPage } from '../helpers/pages/pages.js';
import { BINARY, CLOSE, PING, PONG, TEXT, wireFrame } from '../helpers/relay/wire.js';

/** One protocol as its server speaks it to a radio in room 7, written down from its specification. */
interface Script {
  readonly open: OpenDialect;
  /** What the server sends until it serves the radio, and what the radio has said by then: a request, perhaps, and more. */
  readonly entry: readonly Buffer[];
  readonly request?: RegExp;
  readonly asks: Buffer;
  /** A frame on its way to a listener, and on its way from a talker. */
  readonly delivered: (frame: Uint8Array) => Buffer;
  readonly said: (frame: Uint8Array) => Buffer;
  readonly ping: Buffer;
  readonly pong: Buffer;
}

const toRadio = (opcode: number, payload: Uint8Array | string) => wireFrame({ opcode, payload, mask: null });
const toServer = (opcode: number, payload: Uint8Array | string) =>
  wireFrame({ opcode, payload, mask: [0, 0, 0, 0] });
const bytes = (...parts: readonly (number | string | Uint8Array)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part))));

const SWITCHED = Buffer.from('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nX: y\r\n\r\n');
const EVENT = '451-["f",{"_placeholder":true,"num":0}]';

const plain = {
  open: openPlain,
  entry: [SWITCHED],
  request: /^GET \/ws\?room=7 HTTP\/1\.1\r\n.*Sec-WebSocket-Key: [\w+/]{22}==\r\n\r\n/s,
  asks: bytes(),
  delivered: (frame) => toRadio(BINARY, frame),
  said: (frame) => toServer(BINARY, frame),
  ping: toRadio(PING, 'are you there'),
  pong: toServer(PONG, 'are you there'),
} satisfies Script;

const scripts: Readonly<Record<string, Script>> = {
  websocket: plain,
  relay: {
    ...plain,
    open: openRelay,
    entry: [SWITCHED, toRadio(TEXT, '{"type":"WELCOME"}')],
    request: /^GET \/ws\?token=abc HTTP\/1\.1\r\n.*\r\n\r\n/s,
  },
  'socket.io': {
    open: openSocketIo,
    entry: [SWITCHED, toRadio(TEXT, '0{"sid":"a","pingInterval":25000}'), toRadio(TEXT, '40{"sid":"b"}')],
    request: /^GET \/ws\?EIO=4&transport=websocket&room=7 HTTP\/1\.1\r\n.*\r\n\r\n/s,
    asks: toServer(TEXT, '40'),
    delivered: (frame) => Buffer.concat([toRadio(TEXT, EVENT), toRadio(BINARY, frame)]),
    said: (frame) => Buffer.concat([toServer(TEXT, EVENT), toServer(BINARY, frame)]),
    ping: toRadio(TEXT, '2'),
    pong: toServer(TEXT, '3'),
  },
  mqtt: {
    open: openMqtt,
    entry: [bytes(0x20, 2, 0, 0), bytes(0x90, 3, 0, 1, 0)],
    // CONNECT: level 4, clean session, no keep-alive, no name. SUBSCRIBE: packet 1, QoS 0.
    asks: bytes(0x10, 12, 0, 4, 'MQTT', 4, 2, 0, 0, 0, 0, 0x82, 11, 0, 1, 0, 6, 'room/7', 0),
    delivered: publish,
    said: publish,
    // It never asks a client that keeps no time. An answer to nothing is passed over.
    ping: bytes(0xd0, 0),
    pong: bytes(),
  },
  nats: {
    open: openNats,
    entry: [bytes('INFO {"server_id":"N","max_payload":1048576} \r\n'), bytes('PONG\r\n')],
    asks: bytes(
      'CONNECT {"verbose":false,"pedantic":false,"echo":false,"headers":false,"protocol":1}\r\n',
      'SUB room.7 1\r\nPING\r\n',
    ),
    delivered: (frame) => bytes(`MSG room.7 1 ${frame.length}\r\n`, frame, '\r\n'),
    said: (frame) => bytes(`PUB room.7 ${frame.length}\r\n`, frame, '\r\n'),
    ping: bytes('PING\r\n'),
    pong: bytes('PONG\r\n'),
  },
};

/** QoS 0. The length in one byte below 128, else in two. */
function publish(frame: Uint8Array): Buffer {
  const length = 8 + frame.length;
  const field = length < 128 ? [length] : [0x80 | (length & 0x7f), length >> 7];
  return bytes(0x30, Buffer.from(field), 0, 6, 'room/7', frame);
}

const audio = fc.uint8Array({ maxLength: 400 });

for (const [name, script] of Object.entries(scripts)) {
  const { open, entry, request = /^/, asks, delivered, said, ping, pong } = script;

  t.test(`${name}: a radio asks for its room, and has joined when the server says so`, async (t) => {
    const radio = connected(open);
    for (const answer of entry) {
      t.notOk(radio.hasJoined());
      radio.hears(answer);
    }
    t.ok(radio.hasJoined());
    t.match(radio.saidText(), request);
    t.equal(radio.saidText().replace(request, ''), asks.toString('latin1'));
    t.same([radio.heard, radio.losses], [[], []]);
  });

  t.test(`${name}: it makes no difference where what the server sends is cut`, async (t) => {
    const frames = [[1, 2, 3], Array(76).fill(0x0d), [], Array(300).fill(0x4d), [4]].map(bytesOf);
    const stream = Buffer.concat([...entry, ping, ...frames.map(delivered), ping]);
    const whole = listen(open, [stream]);
    t.same(whole.heard, frames.map(hex));
    t.ok(whole.said.endsWith(hex(Buffer.concat([pong, pong]))));
    t.same(listen(open, cut(stream, Array(stream.length).fill(1))), whole, 'byte by byte');
    const cuts = Array.from(stream, (_, at) => at);
    const wrong = cuts.filter((at) => !isDeepStrictEqual(listen(open, cut(stream, [at])), whole));
    t.same(wrong, [], 'cut once');
  });

  t.test(`${name}: any frames, cut anyhow, are heard as they were sent`, async () => {
    fc.assert(
      fc.property(fc.array(audio, { maxLength: 8 }), fc.array(fc.nat(800)), (frames, lengths) => {
        const stream = Buffer.concat([...entry, ...frames.map(delivered)]);
        return isDeepStrictEqual(listen(open, cut(stream, lengths)).heard, frames.map(hex));
      }),
    );
  });

  t.test(`${name}: what a radio says is what its server takes`, async () => {
    const { dialect } = connected(open);
    fc.assert(fc.property(audio, (frame) => dialect.speech(frame).equals(said(frame))));
  });
}

t.test('a radio that is refused, or told to go, says why', async (t) => {
  const losing: readonly [OpenDialect, Buffer, RegExp, code?: number][] = [
    [openPlain, bytes('HTTP/1.1 404 Not Found\r\n\r\n'), /404 Not Found/],
    [openPlain, bytes(SWITCHED, toRadio(CLOSE, bytes(0x03, 0xf0, 'no'))), /1008 no/, 1008],
    [openRelay, bytes(SWITCHED, toRadio(CLOSE, '')), /1005/, 1005],
    [openPlain, bytes(SWITCHED, 0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0), /more than 64 KiB/],
    [openSocketIo, bytes(SWITCHED, toRadio(TEXT, '44{"message":"no"}')), /"no"/],
    [openSocketIo, bytes(SWITCHED, toRadio(TEXT, '1')), /closed/],
    [openMqtt, bytes(0x20, 2, 0, 5), /return code 5/],
    [openMqtt, bytes(0x90, 3, 0, 1, 0x80), /refused a subscription/],
    [openMqtt, bytes(0x30, 0xff, 0xff, 0xff, 0xff, 1), /more than four bytes/],
    [openNats, bytes("-ERR 'maximum connections exceeded'\r\n"), /maximum connections exceeded/],
  ];
  for (const [open, stream, message, code] of losing) {
    const radio = connected(open);
    radio.hears(stream);
    t.equal(radio.losses.length, 1, `${message}`);
    t.match(radio.losses[0], { message, code });
    t.notOk(radio.heard.length);
  }
});

t.test('an MQTT talker has joined without a subscription, for it would hear itself', async (t) => {
  const radio = connected(openMqtt, { isTalker: true });
  radio.hears(bytes(0x20, 2, 0, 0));
  t.ok(radio.hasJoined());
  t.notMatch(radio.saidText(), /room/);
});

t.test('what the relay tells in text is told in its order, whatever audio lies between', async (t) => {
  const radio = connected(openRelay);
  radio.hears(bytes(SWITCHED, toRadio(TEXT, '{"a":1}'), toRadio(BINARY, 'x'), toRadio(TEXT, '{"b":2}')));
  t.same(radio.texts, ['{"a":1}', '{"b":2}']);
});

/** A radio of room 7 whose connection stands. It shows the dialect what is left over again, as the dialect is promised. */
function connected(open: OpenDialect, { isTalker = false } = {}) {
  const said: Buffer[] = [];
  const heard: string[] = [];
  const texts: string[] = [];
  const losses: { message: string; code?: number }[] = [];
  let hasJoined = false;
  let rest: Buffer = Buffer.alloc(0);
  const dialect: Dialect = open({
    url: new URL('ws://localhost:80/ws'),
    token: 'abc',
    room: 7,
    isTalker,
    write: (message) => said.push(Buffer.from(message)),
    join: () => {
      hasJoined = true;
    },
    hear: (from, start, end) => heard.push(hex(from.subarray(start, end))),
    tell: (text) => texts.push(text.toString()),
    lose: (message, code) => losses.push({ message, ...(code !== undefined && { code }) }),
  });
  dialect.begin();
  return {
    dialect,
    heard,
    texts,
    losses,
    hasJoined: () => hasJoined,
    said: () => Buffer.concat(said),
    saidText: () => Buffer.concat(said).toString('latin1'),
    hears(piece: Buffer) {
      const all = Buffer.concat([rest, piece]);
      rest = all.subarray(dialect.read(all));
    },
  };
}

/** All that came of it. Of what was said only what followed the entry's first message, which holds a random key. */
function listen(open: OpenDialect, pieces: readonly Buffer[]) {
  const radio = connected(open);
  const greeted = radio.said().length;
  for (const piece of pieces) radio.hears(piece);
  const said = hex(radio.said().subarray(greeted));
  return { said, heard: radio.heard, texts: radio.texts, losses: radio.losses, joined: radio.hasJoined() };
}

/** Into pieces of these lengths, and what is left. */
function cut(stream: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let rest = stream;
  for (const length of lengths) {
    pieces.push(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return [...pieces, rest];
}

const bytesOf = (values: readonly number[]) => Uint8Array.from(values);
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex');

t.test(
  'the server that the page of the bench adds as an example is one that radios hear each other by',
  async (t) => {
    const { text = '' } =
      fencesOf(readPage('bench/README.md')).find(({ language }) => language === 'ts peer') ?? {};
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
    });
    const file = pathToFileURL(join(t.testdir({ 'peer.mjs': outputText }), 'peer.mjs'));
    const stop = new AbortController();
    await withServer(startOfNode(file), { cores: null, signal: stop.signal }, async ({ url }) => {
      const heard: string[] = [];
      const open = (room: number, name: string) =>
        new RawRadio({
          target: { url, dialect: 'websocket', room },
          token: '',
          receive: (bytes, start, end) => heard.push(`${name} ${bytes.toString('latin1', start, end)}`),
          lost: (loss) => heard.push(`${name} lost: ${loss.message}`),
        });
      const [ann, bob, eve] = [open(1, 'ann'), open(1, 'bob'), open(2, 'eve')];
      await Promise.all([ann, bob, eve].map(({ joined }) => joined));
      ann.send(Buffer.from('one'));
      eve.send(Buffer.from('elsewhere'));
      bob.send(Buffer.from('two'));
      await comesTrue('both are heard', () => heard.length >= 2);
      t.strictSame(heard.sort(), ['ann two', 'bob one']);
      for (const radio of [ann, bob, eve]) radio.leave();
    });
  },
);
