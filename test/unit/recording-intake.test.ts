// Recorded speech on its way to a store that refuses, fails, answers late or says nothing of what it has stored.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { AppError } from '../../src/errors.js';
import {
  type Batch,
  bytesOf,
  type Part,
  type RecordingHead,
  type RecordingTail,
} from '../../src/protocol/recording-batch.js';
import { createIntake, type Stored } from '../../src/recordings/intake/intake.js';
import { eventually } from '../helpers/eventually.js';
import { batch, type Deed, head, intakeInto, isIdle, keyOf, part, tail } from '../helpers/recorded-intake.js';

t.setTimeout(120_000);

/** Recordings of so many parts, some of which cannot be stored. They come in pieces, the end with the last part. */
const recordings = fc.array(
  fc.record({
    parts: fc.integer({ min: 0, max: 6 }),
    culprit: fc.option(fc.nat({ max: 7 }), { freq: 4 }),
    isRowCulprit: fc.boolean(),
    isShort: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12, size: 'max' },
);
const deeds = fc.array(fc.constantFrom<Deed>('stores', 'stores', 'late', 'refuses', 'unsaid'), {
  maxLength: 30,
  size: 'max',
});

t.test('nothing but what cannot be stored is lost, and each byte is acknowledged once', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      recordings,
      deeds,
      fc.array(fc.nat({ max: 3 }), { maxLength: 30 }),
      async (given, deeds, pauses) => {
        const badParts = new Set<string>();
        const badRows = new Set<string>();
        for (const [index, { culprit, isRowCulprit }] of given.entries())
          if (culprit !== null)
            if (isRowCulprit) badRows.add(`r${index}`);
            else badParts.add(`r${index} ${culprit + 1}`);
        const world = intakeInto({ deeds, culprits: new Set([...badParts, ...badRows]) });
        let sum = 0;
        const batches = batchesOf(given);
        for (const [index, one] of batches.entries()) {
          let left = bytesOf(one);
          world.intake.take(one, (bytes) => {
            left -= bytes;
            assert.ok(left >= 0);
            sum += bytes;
          });
          if (pauses[index] !== undefined && pauses[index] > 0)
            await new Promise((resolve) => setTimeout(resolve, pauses[index]));
        }
        await isIdle(world);
        const all = batches.flatMap(({ parts }) => parts);
        assert.equal(
          sum,
          all.reduce((bytes, part) => bytes + part.bytes.byteLength, 0),
        );
        assert.deepEqual(world.faults, []);
        const isGood = (one: Part) => !badParts.has(keyOf(one)) && !badRows.has(one.id);
        assert.deepEqual([...world.parts.keys()].sort(), all.filter(isGood).map(keyOf).sort());
        const { frames, burstsLost } = world.intake.figures();
        const count = (parts: readonly Part[]) => parts.reduce((sum, { frames }) => sum + frames, 0);
        assert.equal(frames.stored, count(all.filter(isGood)));
        assert.equal(frames.failed, count(all.filter((one) => !isGood(one))));
        assert.equal(burstsLost, badRows.size);
        for (const [index] of given.entries()) {
          const id = `r${index}`;
          const row = world.rows.get(id);
          if (badRows.has(id)) assert.equal(row, undefined);
          else {
            assert.ok(row !== undefined && 'code' in row, 'the end is stored');
            const failed = Object.values(row.lost).reduce((sum, lost) => sum + (lost.failed ?? 0), 0);
            assert.equal(
              failed,
              count(all.filter((one) => one.id === id && !isGood(one))),
              'its end says what failed',
            );
          }
        }
      },
    ),
    { numRuns: 60 },
  );
  t.pass('in any history');
});

/** One batch a part, the recordings in turns. */
function batchesOf(given: readonly { readonly parts: number; readonly isShort: boolean }[]): Batch[] {
  const steps: { readonly heads: Batch['heads']; readonly parts: Part[] }[][] = given.map(
    ({ parts, isShort }, index) => {
      const id = `r${index}`;
      const all = Array.from({ length: parts }, (_, at) => part(id, at + 1, 1 + (at % 3), 10 + at));
      const end = tail(
        id,
        all.reduce((sum, { frames }) => sum + frames, 0),
      );
      if (isShort) return [{ heads: [end], parts: all }];
      return [
        { heads: [head(id)], parts: all.slice(0, 1) },
        ...all.slice(1).map((one) => ({ heads: [], parts: [one] })),
        { heads: [end], parts: [] },
      ];
    },
  );
  const batches: Batch[] = [];
  for (let at = 0; steps.some((one) => at < one.length); at++)
    batches.push(
      batch({
        heads: steps.flatMap((one) => one[at]?.heads ?? []),
        parts: steps.flatMap((one) => one[at]?.parts ?? []),
      }),
    );
  return batches;
}

t.test('the end that comes while its head is being stored is stored behind it', async (t) => {
  const world = intakeInto({ deeds: ['late'] });
  world.intake.take(batch({ heads: [head('a')] }), () => {});
  world.intake.take(batch({ heads: [tail('a', 3)] }), () => {});
  await isIdle(world);
  t.match(world.rows.get('a'), { code: 'released', frames: 3 });
});

t.test('one row that cannot be stored takes no other along when the database was slow before', async (t) => {
  // Ten refusals: a statement has one part left, and all rows still.
  const world = intakeInto({ deeds: Array<Deed>(10).fill('refuses'), culprits: new Set(['r50']) });
  const heads = Array.from({ length: 100 }, (_, index) => tail(`r${index}`, 0));
  world.intake.take(batch({ heads }), () => {});
  await isIdle(world);
  t.equal(world.rows.size, 99);
  t.equal(world.intake.figures().burstsLost, 1);
});

t.test('behind a refusal among single steps statements are small, and the wait does not grow', async (t) => {
  const againMs = 1_007;
  const waits: number[] = [];
  const real = globalThis.setTimeout;
  t.teardown(() => {
    globalThis.setTimeout = real;
  });
  // A pause of the intake ends at once. Only its length counts.
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    if (ms >= againMs) waits.push(ms);
    return real(run, ms >= againMs ? 0 : ms);
  }) as typeof setTimeout;
  const sizes: number[] = [];
  const rows = new Set<string>();
  let steps = 0;
  const intake = createIntake({
    async store(given) {
      const size = given.rows.length + given.parts.length;
      sizes.push(size);
      if (given.rows.some(({ id }) => id === 'r90')) throw new Error('not storable');
      if (size === 1 && rows.size < 60 && ++steps % 10 === 0) throw new AppError('database_unavailable');
      if (size > 8 && rows.size < 90) throw new Error('not whole');
      for (const { id } of given.rows) rows.add(id);
    },
    ...{ isFull: () => false, log: { info() {}, warn() {}, error() {} }, gatherMs: 0, againMs },
  });
  const heads = Array.from({ length: 100 }, (_, index) => tail(`r${index}`, 0));
  intake.take(batch({ heads }), () => {});
  await eventually(() => {
    if (intake.figures().rowsWaiting > 0) throw new Error('they wait');
  });
  t.equal(rows.size, 99);
  t.equal(intake.figures().burstsLost, 1);
  t.equal(sizes[0], 100);
  t.equal(sizes[11], 8, 'behind nine steps and a refusal');
  t.ok(waits.length > 0);
  t.same(new Set(waits), new Set([againMs]));
});

t.test('what each relay of a moved burst lost is kept beside that of the other', async (t) => {
  const world = intakeInto({ deeds: ['late'], culprits: new Set(['a 9']) });
  world.intake.take(batch({ heads: [head('other')] }), () => {});
  const left: RecordingHead = { ...head('a'), lost: { 1: { memory_full: 2 } } };
  world.intake.take(batch({ heads: [left], parts: [part('a', 3)] }), () => {});
  const end: RecordingTail = { ...tail('a', 12), lost: { 7: { memory_full: 1 } }, epoch: 4 };
  world.intake.take(batch({ heads: [end], parts: [part('a', 9, 4)] }), () => {});
  await isIdle(world);
  t.match(world.rows.get('a'), { code: 'released', epoch: 0 });
  t.same(world.rows.get('a')?.lost, { 1: { memory_full: 2 }, 7: { memory_full: 1 }, 9: { failed: 4 } });
});

t.test('at the cap rows are stored, and their ends say that the speech is not', async (t) => {
  let isFull = true;
  const world = intakeInto({ isFull: () => isFull });
  let bytes = 0;
  const done = (count: number) => {
    bytes += count;
  };
  world.intake.take(batch({ heads: [head('a')], parts: [part('a', 1, 5)] }), done);
  await isIdle(world);
  isFull = false;
  world.intake.take(batch({ heads: [tail('a', 7)], parts: [part('a', 6, 2)] }), done);
  await isIdle(world);
  t.same([...world.parts.keys()], ['a 6']);
  t.match(world.rows.get('a'), { frames: 7, lost: { 1: { storage_full: 5 } } });
  t.match(world.intake.figures().frames, { stored: 2, storage_full: 5, failed: 0 });
  t.equal(bytes, 20);
});

t.test('beyond 20,000 rows that wait whole bursts are lost, and what had begun may end', async (t) => {
  let isAway = true;
  const rows = new Set<string>();
  const ends = new Set<string>();
  const speech = new Set<string>();
  const intake = createIntake({
    async store(stored) {
      if (isAway) throw new AppError('database_unavailable');
      for (const row of stored.rows) rows.add(row.id);
      for (const row of stored.rows) if ('code' in row) ends.add(row.id);
      for (const { id } of stored.parts) speech.add(id);
    },
    ...{ isFull: () => false, log: { info() {}, warn() {}, error() {} }, gatherMs: 0, againMs: 1 },
  });
  const ids = Array.from({ length: 20_010 }, (_, index) => `r${index}`);
  intake.take(batch({ heads: ids.map(head), parts: [part('r3', 1), part('r20005', 1, 7)] }), () => {});
  intake.take(batch({ heads: [tail('r3', 1), tail('r20005', 7)], parts: [part('r20005', 8)] }), () => {});
  t.match(intake.figures(), { burstsLost: 10, frames: { failed: 8 } });
  isAway = false;
  await eventually(() => {
    if (intake.figures().rowsWaiting > 0) throw new Error('they wait');
  });
  t.equal(rows.size, 20_000);
  t.same([...ends], ['r3']);
  t.same([...speech], ['r3']);
});

t.test('no end is stored before the speech that it counts', async (t) => {
  const world = intakeInto({ deeds: Array<Deed>(9).fill('refuses') });
  const parts = Array.from({ length: 500 }, (_, index) => part('a', index + 1, 1, 7_984));
  world.intake.take(batch({ heads: [head('a')], parts }), () => {});
  world.intake.take(batch({ heads: [tail('a', 500), tail('b', 1)], parts: [part('b', 1)] }), () => {});
  let seen = 0;
  while (world.intake.figures().rowsWaiting > 0 || world.intake.figures().waitingBytes > 0) {
    const row = world.rows.get('a');
    if (row !== undefined && 'code' in row) t.ok(world.parts.has('a 500'));
    if (world.rows.has('b')) t.ok(world.parts.has('b 1'));
    if (row !== undefined && !('code' in row)) seen++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.ok(seen > 0, 'it was listed before as one that runs');
  t.match(world.rows.get('a'), { code: 'released' });
});

/** How long `close` took. */
async function closed(t: Test, intake: ReturnType<typeof createIntake>, ms: number): Promise<void> {
  const startedAtMs = performance.now();
  await intake.close(ms);
  t.ok(performance.now() - startedAtMs < ms + 1000, 'within its time');
}

t.test('close stores what waits, and names what the database did not take in time', async (t) => {
  const good = intakeInto({ deeds: ['late', 'late'] });
  good.intake.take(batch({ heads: [tail('a', 1)], parts: [part('a', 1)] }), () => {});
  await closed(t, good.intake, 5000);
  t.equal(good.parts.size, 1);
  t.same(good.told, []);
  const bad = intakeInto({ deeds: Array<Deed>(10_000).fill('refuses') });
  bad.intake.take(batch({ heads: [tail('a', 3)], parts: [part('a', 1, 3)] }), () => {});
  await closed(t, bad.intake, 50);
  t.match(bad.told.at(-1), { message: 'recorded frames lost', fields: { frames: 3, recordings: 1 } });
});

t.test('close does not sleep through the pause behind a refusal', async (t) => {
  const stored: Stored[] = [];
  let isAway = true;
  const intake = createIntake({
    async store(given) {
      if (isAway) throw new AppError('database_unavailable');
      stored.push(given);
    },
    ...{ isFull: () => false, log: { info() {}, warn() {}, error() {} }, againMs: 60_000 },
  });
  intake.take(batch({ heads: [tail('a', 1)] }), () => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  isAway = false;
  await closed(t, intake, 5000);
  t.equal(stored.length, 1);
});
