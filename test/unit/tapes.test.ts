// Tapes of running bursts over generated histories: what is recorded is what was relayed, or is counted as lost.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { type Batch, isTail, type RecordingTail, type Shares } from '../../src/protocol/recording-batch.js';
import { readRecordingId } from '../../src/protocol/recording-id.js';
import { type Burst, burstAt, framesOf, tapedOf, tapingRelays } from '../helpers/relay/taped-bursts.js';

t.setTimeout(120_000);

const PART_BYTES = 7_984;
const TAPE_BYTES = 8_192;
const BURSTS = 4;

type World = ReturnType<typeof tapingRelays>;

const deeds = fc.array(
  fc.record({
    act: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('frames' as const) },
      { weight: 4, arbitrary: fc.constantFrom('tick' as const) },
      { weight: 2, arbitrary: fc.constantFrom('begins' as const, 'stored' as const, 'moves' as const) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          'ends' as const,
          'may not go on' as const,
          'switch' as const,
          'emergency' as const,
        ),
      },
    ),
    burst: fc.nat({ max: BURSTS - 1 }),
    bytes: fc.oneof(fc.integer({ min: 0, max: 1024 }), fc.constantFrom(0, 1024)),
    count: fc.integer({ min: 1, max: 40 }),
    afterMs: fc.oneof(fc.nat({ max: 3000 }), fc.constantFrom(0, 100, 2500, 600_000)),
  }),
  { maxLength: 80, size: 'max' },
);

t.test('each frame is recorded byte for byte and once, or counted as lost', async (t) => {
  fc.assert(
    fc.property(deeds, fc.constantFrom(3, 6, 20, 10_000), fc.nat({ max: 5 }), (history, memory, crowd) => {
      const memoryBytes = memory * TAPE_BYTES;
      const world = tapingRelays(2, memoryBytes);
      const running = new Map<number, Burst>();
      const all: Burst[] = [];
      // In some histories each user has the most bursts at once before it begins, so that others wait.
      const isCrowded = crowd === 0;
      for (const relay of isCrowded ? world.relays : [])
        for (let index = 0; index < 30; index++) all.push(burstAt(relay, world.clock, all.length));
      const others = [...all];
      for (const { act, burst: index, bytes, count, afterMs } of history) {
        world.pass(afterMs);
        const burst = running.get(index);
        const other = world.relays.find((relay) => relay !== burst?.relay());
        if (act === 'tick') world.tick();
        else if (act === 'stored') world.store();
        else if (act === 'switch' && isCrowded) continue;
        else if (act === 'begins' && burst === undefined) {
          const begun = burstAt(world.relays[index % 2] as World['relays'][0], world.clock, all.length);
          all.push(begun);
          running.set(index, begun);
        } else if (act === 'switch') {
          const relay = world.relays[index % 2] as World['relays'][0];
          relay.talkgroup.recordingDays = relay.talkgroup.recordingDays === 0 ? 30 : 0;
          relay.tapes.follow(relay.talkgroup);
        } else if (burst === undefined) continue;
        else if (act === 'frames') for (let frame = 0; frame < count; frame++) burst.frame(bytes);
        else if (act === 'emergency') burst.inEmergency();
        else if (act === 'moves') burst.move(other as World['relays'][0], true);
        else {
          if (act === 'ends') burst.end();
          else burst.move(other as World['relays'][0], false);
          running.delete(index);
        }
        for (const { tapes } of world.relays)
          assert.ok(tapes.waitingBytes() <= memoryBytes, 'memory is bounded');
      }
      for (const burst of [...running.values(), ...others]) burst.end();
      world.tick();
      world.store();
      judge(world, all);
    }),
    { numRuns: 300 },
  );
  t.pass('in any history');
});

function judge({ relays }: World, bursts: readonly Burst[]): void {
  for (const { tapes, batches } of relays) {
    assert.equal(tapes.waitingBytes(), 0);
    const known = new Set<string>();
    for (const { heads, parts } of batches) {
      for (const { id } of heads) known.add(id);
      for (const { id } of parts) assert.ok(known.has(id), 'a head comes before its parts, or with them');
    }
  }
  const batches = relays.flatMap(({ batches }) => batches);
  const heads = batches.flatMap(({ heads }) => heads);
  const lostInAll = batches.reduce(
    (sum, { lost }) => sum + (lost.memory_full ?? 0) + (lost.too_many ?? 0),
    0,
  );
  let told = 0;
  for (const id of new Set(heads.map(({ id }) => id))) {
    const of = heads.filter((head) => head.id === id);
    const tails = of.filter(isTail);
    assert.equal(tails.length, 1, `${tails.length} ends`);
    const tail = tails[0] as RecordingTail;
    const lost = lostIn(of);
    told += lost;
    const name = readRecordingId(id);
    const burst = bursts.find(({ session }) => session === name?.session) as Burst;
    assert.deepEqual([name?.burst, name?.startedAt], [burst.session + 100, tail.started_at]);
    assert.ok(tail.duration_ms >= 0);
    let next = tail.first_frame;
    let stored = 0;
    const parts = batches.flatMap(({ parts }) => parts).filter((part) => part.id === id);
    for (const part of parts.sort((one, other) => one.from - other.from)) {
      assert.ok(part.from >= next, 'parts do not overlap');
      assert.ok(part.bytes.byteLength <= PART_BYTES);
      const frames = framesOf(part);
      assert.equal(frames.length, part.frames);
      const relayed = burst.frames.slice(part.from - 1, part.from - 1 + part.frames).map(tapedOf);
      assert.deepEqual(frames, relayed);
      next = part.from + part.frames;
      stored += part.frames;
    }
    assert.ok(next <= tail.first_frame + tail.frames, 'nothing is stored behind the end');
    assert.equal(tail.frames - stored, lost, 'what is missing is counted');
  }
  const recorded = new Set(heads.map(({ id }) => readRecordingId(id)?.session));
  const unrecorded = bursts.filter(({ session, isTaped }) => isTaped && !recorded.has(session));
  assert.equal(
    batches.reduce((sum, { burstsLost }) => sum + burstsLost, 0),
    unrecorded.length,
  );
  assert.equal(lostInAll, told + unrecorded.reduce((sum, { frames }) => sum + frames.length, 0));
  for (const burst of bursts) if (!unrecorded.includes(burst)) judgePieces(burst, heads.filter(isTail));
}

/** Pieces of a burst follow each other, and the last of them ends with it unless recording was switched off. */
function judgePieces(burst: Burst, tails: readonly RecordingTail[]): void {
  const own = tails
    .filter(({ id }) => readRecordingId(id)?.session === burst.session)
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  assert.equal(own.length > 0, burst.isTaped);
  let next = 1;
  for (const [index, tail] of own.entries()) {
    assert.equal(readRecordingId(tail.id)?.piece, index);
    assert.equal(tail.first_frame, next);
    assert.equal(tail.code === 'continues', index < own.length - 1);
    next += tail.frames;
  }
  const last = own.at(-1);
  if (last !== undefined && last.code !== 'switched_off') assert.equal(next, burst.frames.length + 1);
}

/** What the relays lost of one recording, as it will be stored: the same share of a later message wins. */
function lostIn(heads: Batch['heads']): number {
  const shares = Object.values(Object.assign({}, ...heads.map(({ lost }) => lost)) as Shares);
  return shares.reduce((sum, { memory_full = 0, too_many = 0 }) => sum + memory_full + too_many, 0);
}

function tailsOf({ relays }: World): RecordingTail[] {
  return relays.flatMap(({ batches }) => batches.flatMap(({ heads }) => heads.filter(isTail)));
}

t.test('a user has 10 bursts recorded at once, and 120 within a minute', async (t) => {
  const world = tapingRelays(1, 1e9);
  const [relay] = world.relays as [World['relays'][0]];
  const begins = (session: number) => burstAt(relay, world.clock, session * 3);
  const first = Array.from({ length: 12 }, (_, index) => begins(index));
  t.same(
    first.map((burst) => burst.isStored()),
    [...Array(10).fill(true), false, false],
  );
  t.ok(burstAt(relay, world.clock, 1).isStored(), 'another user is recorded');
  for (const burst of first) {
    burst.frame(60);
    burst.end();
  }
  for (let index = 0; index < 110; index++) {
    const burst = begins(100 + index);
    if (!burst.isStored()) t.fail(`burst ${index}`);
    burst.end();
  }
  const beyond = (session: number) => {
    const burst = begins(session);
    t.notOk(burst.isStored());
    burst.end();
  };
  beyond(300);
  world.pass(59_999);
  beyond(301);
  world.pass(1);
  t.ok(begins(302).isStored());
  world.tick();
  t.equal(burstsLostOf(relay), 4);
  t.match(relay.batches, [{ lost: { too_many: 2 } }]);
});

const burstsLostOf = ({ batches }: World['relays'][0]) =>
  batches.reduce((sum, { burstsLost }) => sum + burstsLost, 0);

/** A relay where the user of each third session has 10 bursts. */
function crowded(count = 1) {
  const world = tapingRelays(count, 1e9);
  const [relay] = world.relays as [World['relays'][0]];
  const begins = (session: number, isUrgent = false) => burstAt(relay, world.clock, session * 3, isUrgent);
  const others = Array.from({ length: 10 }, (_, index) => begins(index));
  return { world, relay, begins, others };
}

t.test('a burst beyond the limit is recorded when it has lasted 1 s', async (t) => {
  const { world, relay, begins } = crowded();
  const burst = begins(50);
  for (let frame = 0; frame < 17; frame++) burst.frame(60);
  world.pass(999);
  world.tick();
  t.notOk(burst.isStored());
  world.pass(1);
  world.tick();
  t.ok(burst.isStored());
  for (let frame = 0; frame < 5; frame++) burst.frame(60);
  burst.end();
  world.tick();
  const [tail] = tailsOf(world);
  t.match(tail, { first_frame: 1, frames: 22, duration_ms: 1000, code: 'released' });
  t.same(tail?.lost, { 1: { too_many: 17 } });
  const parts = relay.batches.flatMap(({ parts }) => parts).filter(({ id }) => id === tail?.id);
  t.match(parts, [{ from: 18, frames: 5 }]);
  const lost = relay.batches.map(({ lost }) => lost.too_many ?? 0);
  t.equal(
    lost.reduce((sum, frames) => sum + frames, 0),
    17,
    'counted once',
  );
  t.equal(burstsLostOf(relay), 0);
  t.same(relay.told, []);
});

t.test('a user who presses often and then speaks is recorded', async (t) => {
  const world = tapingRelays(1, 1e9);
  const [relay] = world.relays as [World['relays'][0]];
  for (let index = 0; index < 128; index++) {
    const short = burstAt(relay, world.clock, index * 3);
    short.frame(60);
    short.end();
  }
  const speech = burstAt(relay, world.clock, 600);
  world.pass(1000);
  world.tick();
  t.ok(speech.isStored());
  t.equal(burstsLostOf(relay), 8);
  t.match(relay.told, [{ bursts: 8, user: /./, talkgroup: relay.talkgroup.id }]);
});

t.test('a user has 30 bursts recorded at once, and the log has one line a minute', async (t) => {
  const { world, relay, begins } = crowded();
  const more = Array.from({ length: 22 }, (_, index) => begins(20 + index));
  world.pass(1000);
  world.tick();
  t.equal(more.filter((burst) => burst.isStored()).length, 20);
  t.match(relay.told, [{ bursts: 2 }]);
  for (let second = 1; second < 60; second++) {
    world.pass(1000);
    begins(100 + second).end();
    world.tick();
  }
  t.equal(relay.told.length, 1);
  more[0]?.end();
  world.pass(1000);
  world.tick();
  t.ok(more[20]?.isStored(), 'it takes the place of one that ended');
  t.match(relay.told, [{ bursts: 2 }, { bursts: 59 }]);
});

t.test('a burst in an open emergency is recorded beyond the limit', async (t) => {
  const { world, begins } = crowded();
  t.ok(begins(50, true).isStored());
  const raised = begins(51);
  t.notOk(raised.isStored());
  raised.inEmergency();
  world.tick();
  t.ok(raised.isStored(), 'at the next tick');
});

t.test('a burst that moves is recorded where it goes on, beyond the limit too', async (t) => {
  const { world, relay, begins, others } = crowded(2);
  const there = world.relays[1] as World['relays'][0];
  for (let session = 0; session < 10; session++) burstAt(there, world.clock, 3 * (80 + session));
  const [known] = others as [Burst];
  const unknown = begins(50);
  for (const burst of [known, unknown]) {
    burst.frame(60);
    burst.move(there, true);
    t.ok(burst.isStored());
    burst.frame(60);
    burst.end();
  }
  world.tick();
  t.match(tailsOf(world), [{ frames: 2 }, { frames: 2 }]);
  const lost = relay.batches.flatMap(({ heads }) => heads.flatMap(({ lost }) => (lost ? [lost] : [])));
  t.same(lost, [{}, { 1: { too_many: 1 } }]);
  t.match(relay.batches, [{ lost: { too_many: 1 }, burstsLost: 0 }]);
});

t.test('a burst beyond the limit ends its waiting when recording is switched off', async (t) => {
  const { world, relay, begins } = crowded();
  const burst = begins(50);
  burst.frame(60);
  relay.talkgroup.recordingDays = 0;
  relay.tapes.follow(relay.talkgroup);
  burst.frame(60);
  world.pass(1000);
  world.tick();
  t.notOk(burst.isStored());
  t.equal(burst.talk().tape?.moving(), null);
  burst.end();
  world.tick();
  t.match(relay.batches, [{ lost: { too_many: 1 }, burstsLost: 1 }]);
});

t.test('a piece ends after 10 minutes or 4 MiB, and the next one begins with the next frame', async (t) => {
  const world = tapingRelays(1, 1e9);
  const burst = burstAt(world.relays[0] as World['relays'][0], world.clock, 1);
  burst.frame(60);
  world.pass(599_999);
  world.tick();
  t.same(tailsOf(world), []);
  world.pass(1);
  world.tick();
  t.match(tailsOf(world), [{ code: 'continues', frames: 1, duration_ms: 600_000 }]);
  for (let bytes = 0; bytes < 4 * 1024 * 1024; bytes += 1030) burst.frame(1024);
  const frames = burst.frames.length - 1;
  world.pass(100);
  world.tick();
  t.match(tailsOf(world)[1], { code: 'continues', first_frame: 2, frames, duration_ms: 100 });
  burst.end();
  world.tick();
  t.match(tailsOf(world)[2], { code: 'released', first_frame: frames + 2, frames: 0 });
});

t.test('behind the last piece of a burst frames are counted as too long', async (t) => {
  const world = tapingRelays(1, 1e9);
  const [relay] = world.relays as [World['relays'][0]];
  const burst = burstAt(relay, world.clock, 1);
  for (let piece = 0; piece < 1024; piece++) {
    world.pass(600_000);
    world.tick();
  }
  burst.frame(1);
  burst.frame(1);
  t.equal(burst.talk().tape?.moving(), null);
  burst.end();
  world.tick();
  t.equal(tailsOf(world).length, 1024);
  t.match(relay.batches.at(-1), { heads: [], parts: [], lost: { too_long: 2 } });
});

t.test('the last eighth of the memory is for bursts in an emergency', async (t) => {
  // Two tapes, and one part that waits. With the second one seven eighths are exceeded.
  const world = tapingRelays(1, 32_000);
  const [relay] = world.relays as [World['relays'][0]];
  const [calm, urgent] = [burstAt(relay, world.clock, 1), burstAt(relay, world.clock, 2)];
  urgent.inEmergency();
  for (let frame = 0; frame < 24; frame++) urgent.frame(1024);
  for (let frame = 0; frame < 3; frame++) calm.frame(1024);
  for (const burst of [calm, urgent]) burst.end();
  world.tick();
  const lost = tailsOf(world).map((tail) => [
    readRecordingId(tail.id)?.session,
    tail.emergency,
    lostIn([tail]),
  ]);
  t.same(lost, [
    [1, false, 3],
    [2, true, 3],
  ]);
});

t.test('a burst whose recording was switched off is not recorded again where it moves to', async (t) => {
  const world = tapingRelays(2, 1e9);
  const [here, there] = world.relays as [World['relays'][0], World['relays'][0]];
  const burst = burstAt(here, world.clock, 1);
  burst.frame(1);
  here.talkgroup.recordingDays = 0;
  here.tapes.follow(here.talkgroup);
  here.talkgroup.recordingDays = 30;
  burst.frame(1);
  burst.move(there, true);
  burst.frame(1);
  burst.end();
  world.tick();
  t.match(tailsOf(world), [{ code: 'switched_off', frames: 1 }]);
  t.same(there.batches, []);
});
