// The frame header, byte by byte: relay, client and bench all trust this one definition.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { BUNDLE_FRAMES_MAX, decodeFrames, encodeBundle } from '../../src/protocol/bundle.js';
import {
  checkFrame,
  decodeFrame,
  EMERGENCY,
  ENCRYPTED,
  END,
  encodeFrame,
  type Frame,
  HEADER_BYTES,
  PAYLOAD_BYTES_MAX,
  readBurst,
  readEpoch,
  readFlags,
  readSender,
  readSequence,
  readTalkgroup,
  START,
  stampFrame,
  unwrapSequence,
  VERSION_1,
} from '../../src/protocol/frame.js';

// Written by hand from the table in docs/protocol.md, section 2.
const HAND_WRITTEN = Uint8Array.of(
  0x4d,
  0xfe,
  0x12,
  0x34,
  0x00,
  0x01,
  0x00,
  0x02,
  0xde,
  0xad,
  0xbe,
  0xef,
  0x80,
  0x00,
  0x00,
  0x07,
  0xc0,
  0xff,
  0xee,
);
const SAME: Frame = {
  flags: START | END | ENCRYPTED,
  epoch: 0xfe,
  sequence: 0x1234,
  talkgroup: 0x00010002,
  sender: 0xdeadbeef,
  burst: 0x80000007,
  payload: Uint8Array.of(0xc0, 0xff, 0xee),
};

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

// The edges of every byte of an n-bit field, and anything in between.
const field = (bits: number) => {
  const max = 2 ** bits - 1;
  const edges = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, max];
  return fc.oneof(fc.constantFrom(...edges.filter((edge) => edge <= max)), fc.integer({ min: 0, max }));
};
const frames = fc.record<Frame>(
  {
    flags: fc.integer({ min: 0, max: 15 }),
    epoch: field(8),
    sequence: field(16),
    talkgroup: field(32),
    sender: field(32),
    burst: field(32),
    payload: fc.uint8Array({ minLength: 1, maxLength: PAYLOAD_BYTES_MAX }),
  },
  { noNullPrototype: true },
);

t.test('the layout on the wire is the hand-written one, to the byte', async (t) => {
  t.same(encodeFrame(SAME), HAND_WRITTEN);
  t.same(decodeFrame(HAND_WRITTEN), SAME);
});

t.test('a frame reads back as it was written, wherever in a buffer it lies', async (t) => {
  fc.assert(
    fc.property(frames, fc.nat({ max: 9 }), (frame, offset) => {
      const bytes = encodeFrame(frame);
      const shifted = new Uint8Array(offset + bytes.length + 3);
      shifted.set(bytes, offset);
      const view = shifted.subarray(offset, offset + bytes.length);
      assert.deepEqual(decodeFrame(view), frame);
      const at = viewOf(view);
      assert.deepEqual(
        [readFlags(at), readEpoch(at), readSequence(at), readTalkgroup(at), readSender(at), readBurst(at)],
        [VERSION_1 | frame.flags, frame.epoch, frame.sequence, frame.talkgroup, frame.sender, frame.burst],
      );
    }),
  );
  t.pass('for any of them');
});

t.test('a stamp changes the flags, the sender and the burst, and no other byte', async (t) => {
  fc.assert(
    fc.property(frames, field(8), field(32), field(32), (frame, flags, session, burst) => {
      const before = encodeFrame(frame);
      const after = before.slice();
      stampFrame(viewOf(after), flags, session, burst);
      assert.deepEqual(
        [readFlags(viewOf(after)), readSender(viewOf(after)), readBurst(viewOf(after))],
        [flags, session, burst],
      );
      assert.deepEqual(
        [...after.subarray(1, 8), ...after.subarray(16)],
        [...before.subarray(1, 8), ...before.subarray(16)],
      );
    }),
  );
  t.pass('for any of them');
});

t.test(
  'what is no frame is told by its first fault, and an empty payload is one only without END',
  async (t) => {
    const check = (bytes: Uint8Array) => checkFrame(viewOf(bytes), PAYLOAD_BYTES_MAX);
    const withFlags = (flags: number, payloadBytes: number) => {
      const bytes = new Uint8Array(HEADER_BYTES + payloadBytes);
      bytes[0] = flags;
      return bytes;
    };
    for (let length = 0; length < HEADER_BYTES; length++) t.equal(check(new Uint8Array(length)), 'too_short');
    const told: unknown[] = [];
    const due: unknown[] = [];
    for (let flags = 0; flags <= 0xff; flags++) {
      const version = flags >> 6 === 1;
      const kind = ((flags >> 4) & 3) === 0;
      const expected = version ? (kind ? null : 'bad_kind') : 'bad_version';
      told.push(check(withFlags(flags, 1)), check(withFlags(flags, 0)));
      due.push(expected, expected ?? ((flags & END) === 0 ? 'empty' : null));
    }
    t.same(told, due, 'of all first bytes, with a payload and without');
    t.equal(check(withFlags(VERSION_1 | EMERGENCY, PAYLOAD_BYTES_MAX)), null);
    t.equal(check(withFlags(VERSION_1 | EMERGENCY, PAYLOAD_BYTES_MAX + 1)), 'too_long');
  },
);

t.test('any bytes at all are a frame or a named fault, never a throw', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1100 }), (bytes) => {
      const frame = decodeFrame(bytes);
      if (typeof frame === 'string') assert.match(frame, /^(too_short|bad_version|bad_kind|empty|too_long)$/);
      else assert.deepEqual(encodeFrame(frame), bytes);
    }),
  );
  t.pass('for any of them');
});

/** Frames as one burst has them. */
const bursts = fc
  .tuple(frames, fc.array(frames, { maxLength: BUNDLE_FRAMES_MAX - 1 }))
  .map(([first, others]) => [first, ...others.map((frame) => ({ ...frame, ...burstOf(first) }))]);
const burstOf = ({ talkgroup, sender, burst }: Frame) => ({ talkgroup, sender, burst });
/** Where each frame of it ends in its bundle. */
const endsOf = (burst: readonly Frame[]) =>
  burst.map((_, index) => bundleOf(burst.slice(0, index + 1)).length);
const bundleOf = (burst: readonly Frame[]) =>
  new Uint8Array(encodeBundle(burst.map((frame) => encodeFrame(frame).buffer)));

t.test('a bundle is the first header, of another kind, and each frame behind its length', async (t) => {
  const last = encodeFrame({ ...SAME, sequence: 0x1235, flags: END, payload: new Uint8Array(0) });
  const bytes = new Uint8Array(encodeBundle([HAND_WRITTEN.buffer, last.buffer]));
  t.same([...bytes], [0x5d, ...HAND_WRITTEN.subarray(1, 16), 0, 19, ...HAND_WRITTEN, 0, 16, ...last]);
  t.same(decodeFrames(HAND_WRITTEN), [SAME]);
});

t.test('a bundle reads back as it was written, wherever in a buffer it lies, and is no frame', async (t) => {
  fc.assert(
    fc.property(bursts, fc.nat({ max: 9 }), (burst, offset) => {
      const bytes = bundleOf(burst);
      const shifted = new Uint8Array(offset + bytes.length + 3);
      shifted.set(bytes, offset);
      const view = shifted.subarray(offset, offset + bytes.length);
      assert.deepEqual(decodeFrames(view), burst);
      assert.equal(decodeFrame(view), 'bad_kind');
      assert.equal(checkFrame(viewOf(view), PAYLOAD_BYTES_MAX), 'bad_kind');
    }),
  );
  t.pass('for any of them');
});

t.test('a bundle cut short, too long, of two bursts, or with a bad frame in it is none', async (t) => {
  fc.assert(
    fc.property(bursts, frames, fc.nat(), fc.nat(), (burst, other, cut, where) => {
      const bytes = bundleOf(burst);
      const length = cut % bytes.length;
      // Behind a whole frame ends a bundle of fewer.
      if (!endsOf(burst).includes(length))
        assert.equal(
          decodeFrames(bytes.subarray(0, length)),
          length < HEADER_BYTES ? 'too_short' : 'bad_bundle',
        );
      const longer = Uint8Array.of(...bytes, ...bytes.subarray(0, cut % 40), 0);
      assert.equal(decodeFrames(longer), 'bad_bundle');
      const stranger = { ...other, burst: (burst[0] as Frame).burst ^ 1 };
      const at = where % (burst.length + 1);
      assert.equal(
        decodeFrames(bundleOf(burst.toSpliced(at, at === 0 ? 0 : 1, stranger, stranger))),
        'bad_bundle',
      );
      const full = Array.from({ length: BUNDLE_FRAMES_MAX + 1 }, () => burst[0] as Frame);
      assert.equal(decodeFrames(bundleOf(full)), 'bad_bundle');
      bytes[HEADER_BYTES + 2] = 0;
      assert.equal(decodeFrames(bytes), 'bad_bundle');
    }),
  );
  t.pass('for any of them');
});

t.test('any bytes at all are frames or a named fault, never a throw', async (t) => {
  const anything = fc.uint8Array({ maxLength: 1100 });
  const nearly = fc.tuple(bursts, fc.nat(), fc.nat({ max: 255 })).map(([burst, at, byte]) => {
    const bytes = bundleOf(burst);
    bytes[at % bytes.length] = byte;
    return bytes;
  });
  fc.assert(
    fc.property(fc.oneof(anything, nearly), (bytes) => {
      const read = decodeFrames(bytes);
      if (typeof read === 'string')
        assert.match(read, /^(too_short|bad_version|bad_kind|empty|too_long|bad_bundle)$/);
      else assert.ok(read.length >= 1 && read.length <= BUNDLE_FRAMES_MAX);
    }),
  );
  t.pass('for any of them');
});

t.test('a running sequence survives the 16-bit wrap in both directions', async (t) => {
  t.equal(unwrapSequence(0xffff, 0), 0x10000);
  t.equal(unwrapSequence(0x10000, 0xffff), 0xffff);
  t.equal(unwrapSequence(0, 3), 3);
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 40 }),
      fc.integer({ min: -0x8000, max: 0x7fff }),
      (last, step) => unwrapSequence(last, (last + step) & 0xffff) === last + step,
    ),
  );
});
