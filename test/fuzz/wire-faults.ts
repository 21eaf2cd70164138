// WebSocket frames around the protocol of RFC 6455: some odd and allowed, most of them not.
import fc from 'fast-check';
import {
  BINARY,
  CLOSE,
  CONTINUATION,
  PING,
  PONG,
  TEXT,
  type WireFrame,
  wireFrame,
} from '../helpers/relay/wire-frames.js';
import { NEVER_RELAYED } from './innocents.js';
import { MASK, printedAs, type Step } from './steps.js';

type Frames = readonly Omit<WireFrame, 'mask'>[];

const question = JSON.stringify({ type: 'PING', t: 1 });
const small = fc.uint8Array({ maxLength: 125 });
const long = fc.uint8Array({ minLength: 126, maxLength: 600, size: 'max' });
const part = { fin: false };

/** Allowed: the connection goes on behind them. */
export const soundFrames: fc.Arbitrary<Step> = fc.oneof(
  steps(
    'ping',
    true,
    small.map((payload) => [{ opcode: PING, payload }]),
  ),
  steps(
    'pong',
    true,
    small.map((payload) => [{ opcode: PONG, payload }]),
  ),
  steps(
    'pong with digits',
    true,
    digits().map((payload) => [{ opcode: PONG, payload }]),
  ),
  steps(
    'fragments',
    true,
    fc.tuple(fc.nat(30), fc.nat(30), fc.boolean()).map(([from, to, pings]) => fragments(from, to, pings)),
  ),
  steps(
    'length in more bytes',
    true,
    fc
      .constantFrom(2 as const, 8 as const)
      .map((lengthBytes) => [{ opcode: TEXT, payload: question, lengthBytes }]),
  ),
  steps(
    'empty',
    true,
    fc.constantFrom(TEXT, BINARY).map((opcode) => [{ opcode }]),
  ),
);

/** Pongs carry the server's own clock as digits: ones it never sent must not matter. */
function digits(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      '0',
      '1',
      '-1',
      '1e9',
      '9'.repeat(15),
      '9'.repeat(16),
      '9'.repeat(125),
      '0'.repeat(20),
      ' 1',
      '1.5',
      'NaN',
      '٣',
    ),
    fc.nat(10_000_000).map(String),
  );
}

function fragments(from: number, to: number, pings: boolean): Frames {
  const [first, second] = [Math.min(from, to), Math.max(from, to)];
  const ping = pings ? [{ opcode: PING, payload: 'p' }] : [];
  return [
    { opcode: TEXT, payload: question.slice(0, first), ...part },
    ...ping,
    { opcode: CONTINUATION, payload: question.slice(first, second), ...part },
    ...ping,
    { opcode: CONTINUATION, payload: question.slice(second) },
  ];
}

/** Not allowed: behind them the connection may end in any way, but it must end. */
export const brokenFrames: fc.Arbitrary<Step> = fc.oneof(
  steps(
    'reserved bits',
    false,
    fc
      .tuple(fc.integer({ min: 1, max: 7 }), fc.constantFrom(TEXT, BINARY, PING, CONTINUATION))
      .map(([reserved, opcode]) => [{ opcode, payload: question, reserved }]),
  ),
  steps(
    'opcode',
    false,
    fc.constantFrom(3, 4, 5, 6, 7, 11, 12, 13, 14, 15).map((opcode) => [{ opcode, payload: 'x' }]),
  ),
  steps(
    'declared length',
    false,
    fc
      .oneof(
        fc.bigInt({ min: 126n, max: 70_000n }),
        fc.constantFrom(
          8193n,
          2n ** 31n,
          2n ** 32n,
          2n ** 32n + 21n,
          2n ** 40n,
          2n ** 63n - 1n,
          2n ** 63n,
          2n ** 64n - 1n,
        ),
      )
      .map((declared) => [{ opcode: TEXT, payload: question, declared }]),
  ),
  steps(
    'long control frame',
    false,
    fc.tuple(fc.constantFrom(PING, PONG, CLOSE), long).map(([opcode, payload]) => [{ opcode, payload }]),
  ),
  steps(
    'control frame in fragments',
    false,
    fc
      .tuple(fc.constantFrom(PING, PONG, CLOSE), small)
      .map(([opcode, payload]) => [{ opcode, payload, ...part }, { opcode: CONTINUATION }]),
  ),
  steps(
    'continuation of nothing',
    false,
    fc.tuple(small, fc.boolean()).map(([payload, fin]) => [{ opcode: CONTINUATION, payload, fin }]),
  ),
  steps(
    'message in a message',
    false,
    fc
      .constantFrom([TEXT, TEXT], [TEXT, BINARY], [BINARY, TEXT], [BINARY, BINARY])
      .map(([one = TEXT, other = TEXT]) => [
        { opcode: one, payload: question, ...part },
        { opcode: other, payload: question },
        { opcode: CONTINUATION, payload: ' ' },
      ]),
  ),
  steps(
    'fragments without end',
    false,
    fc
      .tuple(
        fc.constantFrom(TEXT, BINARY),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: 3000 }),
      )
      .map(([opcode, count, length]) => [
        { opcode, ...part },
        ...Array.from({ length: count }, () => ({
          opcode: CONTINUATION,
          payload: ' '.repeat(length),
          ...part,
        })),
      ]),
  ),
  steps(
    'no UTF-8',
    false,
    fc
      .tuple(
        fc.constantFrom(
          [0xc3, 0x28],
          [0x80],
          [0xc0, 0xaf],
          [0xe0, 0x80, 0xaf],
          [0xed, 0xa0, 0x80],
          [0xf4, 0x90, 0x80, 0x80],
          [0xf8, 0x88],
          [0xff],
        ),
        fc.boolean(),
      )
      .map(([bytes, split]) => badText(Uint8Array.from(bytes), split)),
  ),
  steps(
    'close',
    false,
    fc
      .tuple(
        fc.oneof(fc.nat(65_535), fc.integer({ min: 990, max: 1020 })),
        fc.oneof(fc.string({ maxLength: 60 }), fc.uint8Array({ maxLength: 123 })),
      )
      .map(([code, reason]) => [{ opcode: CLOSE, payload: closing(code, reason) }]),
  ),
  steps(
    'close of one byte',
    false,
    fc.nat(255).map((byte) => [{ opcode: CLOSE, payload: Uint8Array.of(byte) }]),
  ),
  steps(
    'data after close',
    false,
    fc.constant([
      { opcode: CLOSE, payload: closing(1000, '') },
      { opcode: TEXT, payload: question },
      { opcode: BINARY, payload: NEVER_RELAYED.padEnd(40) },
      { opcode: PING },
    ]),
  ),
  unmasked(),
  noise(),
);

function badText(bytes: Uint8Array, split: boolean): Frames {
  const payload = Buffer.concat([Buffer.from('{"type":"'), bytes, Buffer.from('"}')]);
  if (!split) return [{ opcode: TEXT, payload }];
  return [
    { opcode: TEXT, payload: payload.subarray(0, 10), ...part },
    { opcode: CONTINUATION, payload: payload.subarray(10) },
  ];
}

function closing(code: number, reason: string | Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(code >> 8, code & 0xff), Buffer.from(reason)]).subarray(0, 125);
}

function steps(kind: string, isSound: boolean, frames: fc.Arbitrary<Frames>): fc.Arbitrary<Step> {
  return frames.map((frames) => ({
    kind: `wire: ${kind}`,
    bytes: () => Buffer.concat(frames.map((one) => wireFrame({ ...one, mask: MASK }))),
    isSound: () => isSound,
    ...printedAs(`${kind} ${fc.stringify(frames)}`),
  }));
}

function unmasked(): fc.Arbitrary<Step> {
  return fc.constantFrom(TEXT, BINARY, PING).map((opcode) => ({
    kind: 'wire: no mask',
    bytes: () => wireFrame({ opcode, payload: question, mask: null }),
    isSound: () => false,
    ...printedAs(`unmasked ${opcode}`),
  }));
}

function noise(): fc.Arbitrary<Step> {
  return fc.uint8Array({ maxLength: 300 }).map((bytes) => ({
    kind: 'wire: noise',
    bytes: () => Buffer.from(bytes),
    isSound: () => false,
    ...printedAs(`noise ${fc.stringify(bytes)}`),
  }));
}
