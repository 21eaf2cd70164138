// RFC 6455 at the level of bytes, row by row: what a radio sends, and what becomes of it and of its connection.
// What no WebSocket library would send ends at worst the connection that sent it.
import fc from 'fast-check';
import t from 'tap';
import { START } from '../../src/protocol/frame.js';
import {
  ask,
  BINARY,
  brief,
  CLOSE,
  CONTINUATION,
  inOrder,
  PING,
  PONG,
  serviceOnTheWire,
  TEXT,
  type WireFrame,
  wire,
  wireFrame,
} from '../helpers/relay/wire.js';

const FUZZ_RUNS = Number(process.env.PROVE_RUNS ?? 3000) / 100;

const s = await serviceOnTheWire(t);

/**
 * The section of RFC 6455 and what is sent, its frames, and the outcome, in the words of `outcome` in wire.ts. The last
 * column stands where the engine deviates, as docs/protocol.md says: the code of the close that the RFC asks for.
 */
type Row = readonly [what: string, frames: readonly Buffer[], outcome: string, rfc?: number];

type Payload = Uint8Array | string;

const frameOf =
  (opcode: number) =>
  (payload: Payload = '', how: Partial<WireFrame> = {}) =>
    wireFrame({ opcode, payload, ...how });
const [text, binary, more] = [frameOf(TEXT), frameOf(BINARY), frameOf(CONTINUATION)];
const [close, ping, pong] = [frameOf(CLOSE), frameOf(PING), frameOf(PONG)];
/** Of a message that goes on in a further frame. */
const part = { fin: false };
const unmasked = { mask: null };
const zeros = { mask: [0, 0, 0, 0] };
const closeOf = (code: number, reason: Payload = '') =>
  close(Buffer.concat([Buffer.of(code >> 8, code & 0xff), Buffer.from(reason)]));

const question = ask(1); // 21 bytes
const [que, stion] = [question.slice(0, 8), question.slice(8)];
const tale = s.speech('a tale'); // 22 bytes
const [ta, le] = [tale.subarray(0, 9), tale.subarray(9)];

const announced = (bytes: bigint) => text(question, { declared: bytes });
const spoken = (payload: Payload) => binary(s.speech(payload));
const oddBytes = Uint8Array.of(0, 0x88, 0xc3, 0x28, 0xff);
const kilobyte = Buffer.from(upTo(1024));
const reason123 = 'r'.repeat(123);

const groups: Record<string, Row[]> = {
  'reserved bits and opcodes end the connection, for no extension gave them a meaning': [
    ['5.2 RSV1, though no compression is agreed on', [text(question, { reserved: 4 })], 'dropped', 1002],
    ['5.2 RSV2', [text(question, { reserved: 2 })], 'dropped', 1002],
    ['5.2 RSV3', [binary(tale, { reserved: 1 })], 'dropped', 1002],
    ['5.2 RSV1 in a ping', [ping('p', { reserved: 4 })], 'dropped', 1002],
    ['5.2 RSV1 in a second fragment', [text(que, part), more(stion, { reserved: 4 })], 'dropped', 1002],
    ...[0x3, 0x4, 0x5, 0x6, 0x7, 0xb, 0xc, 0xd, 0xe, 0xf].map(
      (opcode): Row => [`5.2 opcode ${opcode}`, [frameOf(opcode)('x')], 'dropped', 1002],
    ),
    ['5.2 a second handshake', [Buffer.from('GET /ws HTTP/1.1\r\n\r\n')], 'dropped', 1002],
  ],

  'a frame is read with any masking key, and not understood without one': [
    ['5.3 a key of zeros', [text(question, zeros), binary(tale, zeros)], 'answer 1; heard a tale; goes on'],
    ['5.3 a key of ones', [text(question, { mask: [255, 255, 255, 255] })], 'answer 1; goes on'],
    ['5.1 a key, but no mask bit', [withoutMaskBit(text(question))], 'answer 1; goes on', 1002],
    ['5.1 an unmasked text', [text(question, unmasked)], 'dropped', 1002],
    ['5.1 unmasked speech', [binary(tale, unmasked)], 'dropped', 1002],
  ],

  'a length is taken in every form, up to the limit': [
    ['5.2 a text of 0 bytes', [text('')], 'error bad_message; goes on'],
    ['5.2 a binary message of 0 bytes', [binary('')], 'error bad_frame; goes on'],
    ['5.2 125 bytes, the most in 7 bits', [text(question.padEnd(125))], 'answer 1; goes on'],
    ['5.2 126 bytes, the fewest in 16 bits', [text(question.padEnd(126))], 'answer 1; goes on'],
    ['5.2 0 bytes in 16 bits', [text('', { lengthBytes: 2 })], 'error bad_message; goes on', 1002],
    ['5.2 21 bytes in 16 bits', [text(question, { lengthBytes: 2 })], 'answer 1; goes on', 1002],
    ['5.2 21 bytes in 64 bits', [text(question, { lengthBytes: 8 })], 'answer 1; goes on', 1002],
    ['5.2 126 in 64 bits', [text(question.padEnd(126), { lengthBytes: 8 })], 'answer 1; goes on', 1002],
    ['5.2 2^32 more than there are', [announced(2n ** 32n + 21n)], 'dropped', 1009],
    ['5.2 2^40', [announced(2n ** 40n)], 'dropped', 1009],
    ['5.2 2^63 more: the highest bit', [announced(2n ** 63n + 21n)], 'dropped', 1002],
    ['5.2 2^64 - 1', [announced(2n ** 64n - 1n)], 'dropped', 1002],
    ['10.4 a text of 8,192 bytes', [text(question.padEnd(8192))], 'answer 1; goes on'],
    ['10.4 a text of 8,193 bytes', [text(question.padEnd(8193))], 'dropped', 1009],
    ['10.4 8,193 announced, fewer sent', [announced(8193n)], 'dropped', 1009],
    ['10.4 a payload of 1,024 bytes', [spoken(kilobyte)], `heard ${brief(kilobyte)}; goes on`],
    ['10.4 a payload of 1,025 bytes', [spoken('x'.repeat(1025))], 'error bad_frame; goes on'],
    ['10.4 an audio frame of 8,192 bytes', [spoken('x'.repeat(8176))], 'error bad_frame; goes on'],
    ['10.4 an audio frame of 8,193 bytes', [spoken('x'.repeat(8177))], 'dropped', 1009],
  ],

  'a message may come in fragments, with control frames between them': [
    ['5.4 a text in two', [text(que, part), more(stion)], 'answer 1; goes on'],
    ['5.4 a text in three', [text(que, part), more(stion, part), more(' ')], 'answer 1; goes on'],
    ['5.4 a text in 22', [text('', part), ...letters(question), more()], 'answer 1; goes on'],
    ['5.4 empty ones between', [text(que, part), more('', part), more(stion)], 'answer 1; goes on'],
    ['5.4 nothing but empty ones', [text('', part), more('', part), more()], 'error bad_message; goes on'],
    ['5.4 speech in two', [binary(ta, part), more(le)], 'heard a tale; goes on'],
    ['5.4 a ping between', [text(que, part), ping('p'), more(stion)], 'pong p; answer 1; goes on'],
    ['5.4 a pong between', [text(que, part), pong('p'), more(stion)], 'answer 1; goes on'],
    [
      '5.4 two pings',
      [binary(ta, part), ping('p'), ping('q'), more(le)],
      'pong p; pong q; heard a tale; goes on',
    ],
    ['5.4 a close between', [text(que, part), closeOf(1000), more(stion)], 'close 1000'],
    ['10.4 8,192 bytes in two', [text(question.padEnd(99), part), blanks(8093)], 'answer 1; goes on'],
    ['10.4 8,193 bytes in two', [text(question.padEnd(99), part), blanks(8094)], 'dropped', 1009],
    ['10.4 8,193 bytes and no end', [text(question.padEnd(99), part), blanks(8094, part)], 'dropped', 1009],
  ],

  'a fragment out of place ends the connection, or is joined to what does not belong to it': [
    ['5.4 a last one without a first', [more(question)], 'dropped', 1002],
    ['5.4 a middle one without a first', [more(que, part), more(stion)], 'dropped', 1002],
    ['5.4 a text inside a text', [text(que, part), text(stion)], 'dropped', 1002],
    ['5.4 a text inside speech', [binary(ta, part), text(question)], 'dropped', 1002],
    // The engine looks out for text alone, and behind a control frame for nothing. All of it is the sender's own.
    [
      '5.4 speech inside a text',
      [text('', part), binary(tale), more(question)],
      'answer 1; heard a tale; goes on',
      1002,
    ],
    [
      '5.4 speech inside speech',
      [binary(ta, part), binary(le), more(tale)],
      'heard a tale; heard a tale; goes on',
      1002,
    ],
    [
      '5.4 a text inside a text, behind a ping',
      [text(que, part), ping('p'), text(stion), more(question)],
      'pong p; answer 1; answer 1; goes on',
      1002,
    ],
  ],

  'a ping is answered with its payload, a pong with nothing; neither is long, neither comes in fragments': [
    ['5.5.2 an empty ping', [ping()], 'pong; goes on'],
    ['5.5.2 a ping of any bytes', [ping(oddBytes)], `pong ${brief(oddBytes)}; goes on`],
    ['5.5.2 a ping of 125 bytes', [ping('p'.repeat(125))], `pong ${brief('p'.repeat(125))}; goes on`],
    ['5.5.2 three pings', [ping('p'), ping('q'), ping('r')], 'pong p; pong q; pong r; goes on'],
    ['5.5.3 a pong nobody asked for', [pong('p')], 'goes on'],
    ['5.5.3 a pong of 125 bytes', [pong('p'.repeat(125))], 'goes on'],
    ['5.5 a ping of 126 bytes', [ping('p'.repeat(126))], 'dropped', 1002],
    ['5.5 a pong of 126 bytes', [pong('p'.repeat(126))], 'dropped', 1002],
    ['5.5 a close of 126 bytes', [closeOf(1000, 'r'.repeat(124))], 'dropped', 1002],
    ['5.5 a ping of 1 byte, in 16 bits', [ping('p', { lengthBytes: 2 })], 'dropped', 1002],
    ['5.5 a ping in fragments', [ping('p', part), more('p')], 'dropped', 1002],
    ['5.5 a pong in fragments', [pong('p', part), more('p')], 'dropped', 1002],
    ['5.5 a close in fragments', [close('', part), more()], 'dropped', 1002],
  ],

  'a close is answered with its own code, a wrong one with none, and nothing behind it counts': [
    ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 4000, 4999].map(
      (code): Row => [`7.4 code ${code}`, [closeOf(code, 'bye')], `close ${code} bye`],
    ),
    ...[0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].map(
      (code): Row => [`7.4 code ${code}, which must not be sent`, [closeOf(code, 'bye')], 'close', 1002],
    ),
    // The engine's list is older than 1012 to 1014, and takes 3000 to 3999 for reserved.
    ...[1012, 1013, 1014, 3000, 3999].map(
      (code): Row => [`7.4 code ${code}`, [closeOf(code, 'bye')], 'close', code],
    ),
    ['5.5.1 no code', [close()], 'close'],
    ['5.5.1 half a code', [close(Uint8Array.of(3))], 'close', 1002],
    ['5.5.1 a reason of 123 bytes', [closeOf(1000, reason123)], `close 1000 ${reason123}`],
    ['5.5.1 a reason in other letters', [closeOf(1000, 'tschüß 再见 👋')], 'close 1000 tschüß 再见 👋'],
    ['8.1 a reason that is no UTF-8', [closeOf(1000, oddBytes)], 'close', 1007],
    [
      '5.5.1 behind all else',
      [text(question), binary(tale), closeOf(1000)],
      'answer 1; close 1000; heard a tale',
    ],
    ['5.5.1 before all else', [closeOf(1000), text(question), binary(tale)], 'close 1000'],
    ['5.5.1 two', [closeOf(1001), closeOf(1000)], 'close 1001'],
    ['5.5.1 before nonsense', [closeOf(1000), text('', { reserved: 7 })], 'close 1000'],
    ['5.5.2 behind a ping', [ping('p'), closeOf(1000)], 'pong p; close 1000'],
    ['5.5.2 before a ping', [closeOf(1000), ping('p')], 'close 1000'],
    [
      '7.1.1 of the relay, before a ping',
      [...times(20, text('no JSON')), ping('p')],
      inOrder(...times(19, 'error bad_message'), 'close 1013 rate_limited'),
    ],
  ],

  'text is UTF-8 and nothing else, speech is any bytes': [
    ...['é', '€', '😀', '\u{10ffff}', '\uffff', '\ufeff'].map(
      (letter): Row => [`8.1 ${JSON.stringify(letter)}`, [asking(letter)], `answer 1 ${letter}; goes on`],
    ),
    ...Object.entries({
      'a second byte that is none': [0xc3, 0x28],
      'a second byte alone': [0x80],
      '"/" in two bytes': [0xc0, 0xaf],
      '"/" in three bytes': [0xe0, 0x80, 0xaf],
      '"/" in four bytes': [0xf0, 0x80, 0x80, 0xaf],
      'half a surrogate pair': [0xed, 0xa0, 0x80],
      'a surrogate pair': [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
      'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
      'five bytes': [0xf8, 0x88, 0x80, 0x80, 0x80],
      'byte FF': [0xff],
    }).map(([what, bytes]): Row => [`8.1 ${what}`, [asking(Uint8Array.from(bytes))], 'dropped', 1007]),
    ['8.1 an end inside a character', [text(Uint8Array.of(0x7b, 0x7d, 0xe2, 0x82))], 'dropped', 1007],
    ['8.1 a second fragment that is none', [text(question, part), more(oddBytes)], 'dropped', 1007],
    ['8.1 a character in two fragments', [...characterInTwo('€')], 'answer 1 €; goes on'],
    ['8.1 speech', [spoken(oddBytes)], `heard ${brief(oddBytes)}; goes on`],
  ],

  'frames are taken as they come, however many in one packet': [
    ['5.2 200 of speech', spokenNumbers(200), inOrder(...upTo(200).map((n) => `heard ${n}`), 'goes on')],
    [
      '5.2 of every kind',
      [text(question), ping('p'), binary(tale), pong()],
      'answer 1; pong p; heard a tale; goes on',
    ],
  ],
};

/** Longer rows would take their time, one byte in each packet. */
const SLICED_BYTES_MAX = 700;

for (const [group, rows] of Object.entries(groups)) {
  t.test(group, async (t) => {
    for (const [what, frames, expected, rfc] of rows) {
      const bytes = Buffer.concat(frames);
      const name = `${what}: ${rfc === undefined ? expected : `${expected} (the RFC: close ${rfc})`}`;
      t.equal(await s.outcome(await wire(t, s.address), [bytes]), expected, name);
      if (bytes.length > SLICED_BYTES_MAX) continue;
      const sliced = [...bytes].map((byte) => Buffer.of(byte));
      t.equal(await s.outcome(await wire(t, s.address), sliced), expected, `byte by byte, ${name}`);
    }
    t.ok(await s.isWell(), 'everybody else goes on');
  });
}

t.test('speech in any fragments and packets, pings anywhere between, is relayed byte by byte', async (t) => {
  const positions = fc.array(fc.nat(1100), { maxLength: 10 });
  const sending = fc.record({
    payload: fc.uint8Array({ minLength: 1, maxLength: 1024 }),
    fragments: positions,
    packets: positions,
    /** Whether a ping goes before the fragment of that index. */
    pings: fc.array(fc.boolean(), { maxLength: 11 }),
  });
  await fc.assert(
    fc.asyncProperty(sending, async ({ payload, fragments, packets, pings }) => {
      const pieces = cutAt(fragments, s.speech(payload));
      const frames = pieces.flatMap((piece, at) => {
        const how = { fin: at === pieces.length - 1 };
        return [...(pings[at] ? [ping(`${at}`)] : []), at === 0 ? binary(piece, how) : more(piece, how)];
      });
      const pongs = pieces.flatMap((_, at) => (pings[at] ? [`pong ${at}`] : []));
      const outcome = await s.outcome(await wire(t, s.address), cutAt(packets, Buffer.concat(frames)));
      const expected = inOrder(...pongs, `heard ${brief(payload)}`, 'goes on');
      if (outcome !== expected) throw new Error(`${outcome}, not ${expected}`);
    }),
    { numRuns: FUZZ_RUNS },
  );
  t.ok(await s.isWell());
});

t.test('a connection that ends without a close ends its session (7.1.1)', async (t) => {
  const [ended, reset] = [await wire(t, s.address), await wire(t, s.address)];
  ended.socket.end(text(question));
  t.equal(await ended.ends(), 'dropped', 'the relay ends its half too');
  t.match(ended.messages(), [{ type: 'WELCOME' }, { type: 'PONG', t: 1 }], 'what came before is answered');
  reset.socket.resetAndDestroy();
  t.ok(await s.isWell());
});

function withoutMaskBit(frame: Buffer): Buffer {
  frame.writeUInt8(frame.readUInt8(1) & 0x7f, 1);
  return frame;
}

function letters(payload: string): Buffer[] {
  return [...payload].map((letter) => more(letter, part));
}

function blanks(bytes: number, how: Partial<WireFrame> = {}): Buffer {
  return more(' '.repeat(bytes), how);
}

/** A question that carries these bytes in a string. */
function asking(inside: Payload): Buffer {
  const [before = '', behind = ''] = JSON.stringify({ ...JSON.parse(question), ref: '|' }).split('|');
  return text(Buffer.concat([Buffer.from(before), Buffer.from(inside), Buffer.from(behind)]));
}

function characterInTwo(character: string): Buffer[] {
  const bytes = Buffer.from(JSON.stringify({ ...JSON.parse(question), ref: character }));
  const inside = bytes.indexOf(character) + 1;
  return [text(bytes.subarray(0, inside), part), more(bytes.subarray(inside))];
}

/** One burst, its frames from '1' on. */
function spokenNumbers(count: number): Buffer[] {
  return upTo(count).map((n) => binary(s.speech(`${n}`, n === 1 ? START : 0)));
}

/** The bytes in order, cut at these positions. */
function cutAt(positions: readonly number[], bytes: Uint8Array): Uint8Array[] {
  const ends = [...positions.toSorted((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

function upTo(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index + 1);
}

function times<T>(n: number, value: T): T[] {
  return Array.from({ length: n }, () => value);
}
