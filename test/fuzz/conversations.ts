// Conversations as no radio should hold them: each begins as the protocol says, and goes wrong in words, audio or bytes.
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import type { ClientMessageType } from '../../src/protocol/client-messages.js';
import { END, encodeFrame, PAYLOAD_BYTES_MAX, START } from '../../src/protocol/frame.js';
import { BINARY, TEXT, wireFrame } from '../helpers/relay/wire-frames.js';
import { damage, jsonNear, seldom } from './bad-values.js';
import { commands } from './commands.js';
import { NEVER_RELAYED, SENDER_FORGED_MIN } from './innocents.js';

import { type Schema, valuesOf } from './schema.js';
import { MASK, type Placeholders, printedAs, type Step, type TalkgroupName } from './steps.js';
import { brokenFrames, soundFrames } from './wire-faults.js';

export interface Conversation {
  readonly opening: Opening;
  readonly steps: readonly Step[];
  readonly packets: Packets;
  readonly ending: 'closes' | 'resets' | 'goes';
}

export interface Opening {
  readonly kind: string;
  /** Of the address, behind `?`. `<token>` and `<resume>` are its own. */
  readonly query: string;
  /** Headers that replace or add. '' takes one away. */
  readonly headers: Readonly<Record<string, string>>;
  readonly surgery: ((bytes: Buffer) => Buffer) | null;
  /** A session must come of it. */
  readonly isRight: boolean;
  /** What follows does not wait for WELCOME. */
  readonly isHasty: boolean;
}

/** How the bytes are cut into TCP writes: all in one, each step by itself, at these places, or byte by byte. */
export type Packets = 'one' | 'steps' | 'bytes' | readonly number[];

/** More would take its time, one byte in each packet. */
export const SLICED_BYTES_MAX = 600;

const STEPS_MAX = 24;

export function conversations(): fc.Arbitrary<Conversation> {
  const sound = fc.array(
    fc.oneof(
      { weight: 10, arbitrary: text },
      { weight: 8, arbitrary: audio },
      { weight: 2, arbitrary: soundFrames },
    ),
    { maxLength: STEPS_MAX },
  );
  const broken = seldom(
    2,
    fc.oneof({ weight: 3, arbitrary: brokenFrames }, { weight: 1, arbitrary: damagedFrame }),
  );
  return fc.oneof(
    {
      weight: 14,
      arbitrary: fc.record({
        opening: rightOpening,
        steps: fc.tuple(sound, broken).map(([steps, last]) => (last === null ? steps : [...steps, last])),
        packets,
        ending: fc.constantFrom('closes', 'resets', 'goes'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        opening: wrongOpening,
        steps: fc.constant([]),
        packets: fc.constantFrom<Packets[]>('one', 'one', 'bytes'),
        ending: fc.constantFrom('resets', 'goes'),
      }),
    },
  );
}

const packets: fc.Arbitrary<Packets> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Packets[]>('one', 'steps') },
  { weight: 2, arbitrary: fc.array(fc.nat(4000), { maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constant<Packets>('bytes') },
);

// Words

const IDS = [
  '<open>',
  '<open>',
  '<open>',
  '<single>',
  '<single>',
  '<broadcast>',
  '<quiet>',
  '<none>',
  '',
  'x',
  '<open>x',
  '<OPEN>',
  '%00',
];

const text: fc.Arbitrary<Step> = fc
  .constantFrom(...(Object.keys(commands) as ClientMessageType[]))
  .chain((type) => {
    const schema = commands[type];
    return fc.tuple(
      fc.constant(type),
      jsonNear(withType(schema, type), rightCommand(type, schema)),
      seldom(12, damage),
      fc.integer({ min: 8180, max: 8200 }),
      fc.nat(60),
    );
  })
  .map(([type, { kind, value }, damaged, padTo, luck]) => {
    const json = luck === 0 ? value.padEnd(padTo) : value;
    const payload = (scene: Placeholders) => {
      const bytes = Buffer.from(scene.text(json));
      return damaged === null ? bytes : damaged(bytes);
    };
    return step(
      `${type}: ${damaged !== null ? 'damaged' : luck === 0 ? 'long' : kind}`,
      TEXT,
      payload,
      `${json} ${fc.stringify(damaged)}`,
    );
  });

const withType = (schema: Schema, type: string): Schema => ({
  ...schema,
  properties: { type: { enum: [type] }, ...schema.properties },
});

function rightCommand(type: ClientMessageType, schema: Schema): fc.Arbitrary<object> {
  const fields = Object.keys(schema.properties ?? {});
  const ids: Record<string, fc.Arbitrary<unknown>> = {
    talkgroup_id: fc.constantFrom(...IDS),
    talkgroup_ids: fc.array(fc.constantFrom(...IDS), { maxLength: 6 }),
    emergency_id: fc.constantFrom('<emergency>', '<emergency>', '<none>', ''),
    device_id: fc.constantFrom('<device>', '<none>', '<open>', ''),
    device_ids: fc.array(fc.constantFrom('<device>', '<none>', '<open>', ''), { maxLength: 6 }),
  };
  const own = fields.filter((field) => field in ids);
  const optional = new Set(fields.filter((field) => !schema.required?.includes(field)));
  return fc
    .tuple(
      valuesOf(schema) as fc.Arbitrary<object>,
      fc.record(Object.fromEntries(own.map((field) => [field, ids[field] ?? fc.constant('')])), {
        requiredKeys: own.filter((field) => !optional.has(field)),
      }),
    )
    .map(([values, ids]) => ({ type, ...values, ...ids }));
}

function step(kind: string, opcode: number, payload: (scene: Placeholders) => Buffer, shown: string): Step {
  return {
    kind,
    bytes: (scene) => wireFrame({ opcode, payload: payload(scene), mask: MASK }),
    isSound: (scene) => {
      const bytes = payload(scene);
      return bytes.length <= MESSAGE_BYTES_MAX && (opcode === BINARY || isUtf8(bytes));
    },
    ...printedAs(`${kind} ${shown}`),
  };
}

/** The engine's limit for messages of both kinds. */
const MESSAGE_BYTES_MAX = 8192;

// Audio

const payloadBytes = fc.oneof(
  fc.constantFrom(1, 2, 60, PAYLOAD_BYTES_MAX - 1, PAYLOAD_BYTES_MAX),
  fc.integer({ min: 1, max: 200 }),
);
const forgedNumber = fc.integer({ min: SENDER_FORGED_MIN, max: 2 ** 32 - 1 });
const flags = fc.constantFrom(0, 0, 0, START, END, START | END);
const sequence = fc.oneof(fc.nat(200), fc.constantFrom(0, 0x7fff, 0x8000, 0xffff));

const frame = fc.record({
  flags: fc.tuple(flags, fc.constantFrom(0, 0, 1, 2, 3)).map(([own, more]) => own | more),
  epoch: fc.nat(255),
  sequence,
  sender: forgedNumber,
  burst: forgedNumber,
});

const rightAudio: fc.Arbitrary<Step> = fc
  .tuple(frame, fc.constantFrom<TalkgroupName[]>('open', 'open', 'single', 'broadcast'), payloadBytes)
  .map(([how, name, length]) =>
    audioStep(
      'audio',
      name,
      (talkgroup) => encodeFrame({ ...how, talkgroup, payload: Buffer.alloc(length, 0x61) }),
      fc.stringify({ ...how, length }),
    ),
  );

const audio: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: rightAudio },
  {
    weight: 3,
    arbitrary: fc
      .tuple(frame, fc.constantFrom<TalkgroupName[]>('open', 'quiet', 'none'), payloadBytes, damage)
      .map(([how, name, length, damaged]) =>
        audioStep(
          'audio: damaged',
          name,
          (talkgroup) =>
            damaged(Buffer.from(encodeFrame({ ...how, talkgroup, payload: Buffer.alloc(length, 0x61) }))),
          fc.stringify({ ...how, length, damaged }),
        ),
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(frame, fc.constantFrom<TalkgroupName[]>('quiet', 'none'))
      .map(([how, name]) =>
        audioStep(
          'audio: no member',
          name,
          (talkgroup) => encodeFrame({ ...how, talkgroup, payload: Buffer.from(NEVER_RELAYED) }),
          fc.stringify(how),
        ),
      ),
  },
  // All values of the four bits but version 1, kind audio.
  {
    weight: 2,
    arbitrary: fc
      .tuple(frame, fc.nat(14))
      .map(([how, bits]) =>
        audioStep(
          'audio: version or kind',
          'open',
          (talkgroup) =>
            withBits(
              encodeFrame({ ...how, talkgroup, payload: Buffer.from(NEVER_RELAYED) }),
              bits < 4 ? bits : bits + 1,
            ),
          fc.stringify({ ...how, bits }),
        ),
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(frame, fc.constantFrom(PAYLOAD_BYTES_MAX + 1, 2000, 8176, 8177, 20_000))
      .map(([how, length]) =>
        audioStep(
          'audio: long',
          'open',
          (talkgroup) =>
            encodeFrame({ ...how, talkgroup, payload: Buffer.from(NEVER_RELAYED.padEnd(length)) }),
          fc.stringify({ ...how, length }),
        ),
      ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(frame, fc.nat(16))
      .map(([how, length]) =>
        audioStep(
          'audio: short',
          'open',
          (talkgroup) => encodeFrame({ ...how, talkgroup, payload: Buffer.alloc(0) }).subarray(0, length),
          fc.stringify({ ...how, length }),
        ),
      ),
  },
);

function audioStep(
  kind: string,
  name: TalkgroupName,
  payload: (talkgroup: number) => Uint8Array,
  shown: string,
): Step {
  return step(kind, BINARY, (scene) => Buffer.from(payload(scene.number(name))), `${name} ${shown}`);
}

function withBits(frame: Uint8Array, bits: number): Uint8Array {
  const [flags = 0, ...rest] = frame;
  return Uint8Array.of((flags & 0x0f) | (bits << 4), ...rest);
}

/** Right in every message, and the bytes of it on the wire are not: of a wrong one, damage now and then makes a right one. */
const damagedFrame: fc.Arbitrary<Step> = fc
  .tuple(fc.oneof(text, rightAudio), damage)
  .map(([one, damaged]) => ({
    kind: 'wire: damaged',
    bytes: (scene: Placeholders) => damaged(one.bytes(scene)),
    isSound: () => false,
    ...printedAs(`damaged ${fc.stringify(one)} ${fc.stringify(damaged)}`),
  }));

// Handshakes

const right = {
  kind: 'right',
  query: 'token=<token>',
  headers: {},
  surgery: null,
  isRight: true,
  isHasty: false,
};

const rightOpening: fc.Arbitrary<Opening> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(right) },
  { weight: 1, arbitrary: fc.constant({ ...right, kind: 'hasty', isHasty: true }) },
  { weight: 3, arbitrary: fc.constant({ ...right, kind: 'resume', query: 'token=<token>&resume=<resume>' }) },
  {
    weight: 2,
    arbitrary: fc
      .oneof(
        fc.string({ maxLength: 40 }),
        fc.constantFrom('', '<token>', 'x'.repeat(2000), '%00', '%ff', 'a&resume=b', '__proto__'),
      )
      .map((resume) => ({
        ...right,
        kind: 'resume: odd',
        query: `token=<token>&resume=${resume.replaceAll(/[^!-~]|[#&]/g, '%26')}`,
      })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<Record<string, string>[]>(
        { Origin: 'https://evil.example' },
        { 'Sec-WebSocket-Protocol': 'x, y' },
        { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' },
        { 'Sec-WebSocket-Extensions': 'x; y="' },
        { Upgrade: 'WebSocket' },
        { Cookie: 'c'.repeat(2000) },
        { Connection: 'keep-alive, Upgrade' },
        { 'Content-Length': '0' },
      )
      .map((headers) => ({ ...right, kind: 'headers', headers })),
  },
);

const wrongOpening: fc.Arbitrary<Opening> = fc.oneof(
  fc
    .nat(200)
    .map((index) => ({ ...right, kind: 'wrong: token', query: `token=<forged ${index}>`, isRight: false })),
  fc
    .constantFrom(
      '',
      'token',
      'token=',
      'token=&token=',
      'token=<token>&token=<token>',
      'Token=<token>',
      'token[]=<token>',
      'token=%',
      'token=%ff%00',
      `token=${'x'.repeat(10_000)}`,
      'resume=<resume>',
      `${'x=y&'.repeat(500)}token=`,
      'token=<token>x',
      'token=%2500',
    )
    .map((query) => ({ ...right, kind: 'wrong: query', query, isRight: false })),
  fc
    .constantFrom<Record<string, string>[]>(
      { Upgrade: '' },
      { Upgrade: 'h2c' },
      { Connection: '' },
      { Host: '' },
      { 'Sec-WebSocket-Version': '' },
      { 'Sec-WebSocket-Version': '12' },
      { 'Sec-WebSocket-Version': '13, 8' },
      { 'Sec-WebSocket-Key': '' },
      { 'Sec-WebSocket-Key': 'x' },
      { 'Sec-WebSocket-Key': '=======================' },
      { 'Sec-WebSocket-Key': 'A'.repeat(5000) },
      { 'Content-Length': '5' },
      { 'Content-Length': '-1' },
      { 'Transfer-Encoding': 'chunked' },
      { 'Transfer-Encoding': 'x', 'Content-Length': '3' },
      Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`x${n}`, 'y'])),
    )
    .map((headers) => ({ ...right, kind: 'wrong: headers', headers, isRight: false })),
  damage.map((surgery) => ({ ...right, kind: 'wrong: damaged', surgery, isRight: false })),
  fc
    .constantFrom(
      'GET / HTTP/1.1',
      'POST /ws HTTP/1.1',
      'PUT /ws HTTP/1.1',
      'GET //ws HTTP/1.1',
      'GET /ws/ HTTP/1.1',
      'GET /ws%00 HTTP/1.1',
      'GET /WS HTTP/1.1',
      'GET /ws HTTP/1.0',
      'GET /ws HTTP/2.0',
      'GET http://x/ws HTTP/1.1',
      'GET ws HTTP/1.1',
      'get /ws HTTP/1.1',
      'CONNECT x:1 HTTP/1.1',
      'OPTIONS * HTTP/1.1',
      'PRI * HTTP/2.0',
      '\x16\x03\x01',
      '',
      '\0\0\0\0',
    )
    .map((line) => ({ ...right, kind: 'wrong: first line', surgery: firstLine(line), isRight: false })),
);

const firstLine = (line: string) =>
  Object.assign(
    (bytes: Buffer) =>
      Buffer.from(
        bytes.toString('latin1').replace(/^[^\r]*/, () => line),
        'latin1',
      ),
    printedAs(line),
  );
