// Ids of recordings: what is put in is read back, they sort by time, and no other text is taken for one.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { lowestIdFrom, PIECE_MAX, readRecordingId, recordingIdOf } from '../../src/protocol/recording-id.js';

const u32 = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc.constantFrom(0, 1, 2 ** 20 - 1, 2 ** 20, 2 ** 31, 2 ** 32 - 1),
);
const names = fc.record({
  startedAt: fc.oneof(fc.integer({ min: 0, max: 2 ** 48 - 1 }), fc.constantFrom(0, 2 ** 48 - 1)),
  session: u32,
  burst: u32,
  piece: fc.integer({ min: 0, max: PIECE_MAX }),
});

t.test('an id is a UUID of version 7 and gives back what it was made of', async (t) => {
  fc.assert(
    fc.property(names, (name) => {
      const id = recordingIdOf(name);
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), name.startedAt);
      assert.deepEqual(readRecordingId(id), { ...name });
    }),
  );
  t.pass('for any burst');
});

t.test('each id of version 7 is the id of what is read from it', async (t) => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), (id) => {
      const name = readRecordingId(id);
      assert.ok(name !== null);
      assert.equal(recordingIdOf(name), id);
    }),
  );
  t.pass('for any UUID');
});

t.test('ids sort as their times, then as session, burst and piece', async (t) => {
  const near = fc.record({
    startedAt: fc.integer({ min: 1000, max: 1002 }),
    session: fc.constantFrom(0, 2 ** 20 - 1, 2 ** 20, 2 ** 32 - 1),
    burst: fc.constantFrom(0, 1, 2 ** 32 - 1),
    piece: fc.constantFrom(0, 1, PIECE_MAX),
  });
  const sign = (one: string, other: string) => (one < other ? -1 : Number(one > other));
  fc.assert(
    fc.property(fc.oneof(fc.tuple(names, names), fc.tuple(near, near)), ([one, other]) => {
      const differences = (['startedAt', 'session', 'burst', 'piece'] as const).map(
        (field) => one[field] - other[field],
      );
      const expected = Math.sign(differences.find((difference) => difference !== 0) ?? 0);
      assert.equal(sign(recordingIdOf(one), recordingIdOf(other)), expected);
      assert.equal(recordingIdOf(one) >= lowestIdFrom(other.startedAt), one.startedAt >= other.startedAt);
    }),
  );
  t.pass('for any two bursts');
});

t.test('a text that is no id of version 7 is read as null', async (t) => {
  const id = recordingIdOf({ startedAt: 1_700_000_000_000, session: 7, burst: 3, piece: 1 });
  for (const text of [
    '',
    'x',
    ` ${id}`,
    `${id}\n`,
    `{${id}}`,
    id.toUpperCase(),
    id.replaceAll('-', ''),
    id.slice(1),
    `${id}0`,
    id.replace('-7', '-4'),
    `${id.slice(0, 19)}c${id.slice(20)}`,
    `g${id.slice(1)}`,
  ])
    t.equal(readRecordingId(text), null, JSON.stringify(text));
  fc.assert(
    fc.property(fc.uuid({ version: [1, 2, 3, 4, 5, 6, 8] }), (other) => readRecordingId(other) === null),
  );
  fc.assert(fc.property(fc.string(), (text) => readRecordingId(text) === null));
});
