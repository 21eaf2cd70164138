// The load of a relay, by a clock of the test's own: when live audio is held, for how long, and when no longer.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { EMERGENCY, END, START } from '../../src/protocol/frame.js';
import { Feed, flushHeld } from '../../src/relay/delivery/feed.js';
import { createHolding } from '../../src/relay/delivery/holding.js';
import { createLoad, LOAD_STEPS, type LoadStep } from '../../src/relay/delivery/load.js';
import type { Peer, Voice } from '../../src/relay/delivery/peer.js';
import type { Source } from '../../src/relay/delivery/source.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { virtualClock } from '../helpers/relay/clocks.js';

/** A thread that is measured every 100 ms. `at` answers the window (ms) after each measurement. */
function thread({ windowMsMax = 100, busyFrom = 0.85 } = {}) {
  let nowMs = 1000;
  let idleMs = 0;
  let held: LoadStep | null = null;
  const load = createLoad({
    clock: { nowMs: () => nowMs, idleMs: () => idleMs },
    ...{ windowMsMax, busyFrom },
    hold(step) {
      held = step;
    },
  });
  return {
    figures: load.figures,
    held: () => held,
    /** It is busy for this share of the time, `times` times. */
    at(busy: number, times = 1, lateMs = 0): number[] {
      return Array.from({ length: times }, () => {
        nowMs += 100;
        idleMs += 100 * (1 - busy);
        load.measure(lateMs);
        return held?.ms ?? 0;
      });
    },
  };
}

t.test('under load the window grows by a step with each third measurement', async (t) => {
  const { at, held, figures } = thread();
  t.same(at(0.9, 12), [0, 0, 40, 40, 40, 60, 60, 60, 100, 100, 100, 100]);
  t.same(held(), { ms: 100, frames: 5 });
  t.equal(figures.windowMs, 100);
});

t.test('below the load that begins it nothing is held, however long', async (t) => {
  const { at } = thread();
  t.same(new Set(at(0.84, 600)), new Set([0]));
});

t.test('two measurements under load are a stall of the machine', async (t) => {
  const { at } = thread();
  for (let time = 0; time < 20; time++) t.same([...at(1, 2), ...at(0.5)], [0, 0, 0]);
});

t.test('a thread that is not given its core is late, not busy, and is under load as well', async (t) => {
  const { at } = thread();
  t.same(at(0.1, 6, 100), [0, 0, 40, 40, 40, 60]);
  t.same(at(0.1, 9, 99).at(-1), 60);
});

t.test('5 s below half of that load take it back by a step, and 5 s more by the next', async (t) => {
  const { at } = thread();
  at(0.9, 9);
  t.same(at(0.4, 49).at(-1), 100);
  t.same(at(0.4), [60]);
  t.same(at(0.4, 49).at(-1), 60);
  at(0.43); // more than half of it, so that the 5 s begin again
  t.same(at(0.4, 49).at(-1), 60);
  t.same(at(0.4), [40]);
  t.same(at(0.4, 50).at(-1), 0);
});

t.test('the longest window is that of the setting, with the frames that come within it', async (t) => {
  const steps = (windowMsMax: number) => {
    const { at, held } = thread({ windowMsMax });
    return [at(1, 20).at(-1), held()?.frames];
  };
  t.same(steps(0), [0, undefined]);
  t.same(steps(30), [30, 2]);
  t.same(steps(40), [40, 2]);
  t.same(steps(50), [50, 3]);
  t.same(steps(99), [99, 5]);
});

t.test('at 0 percent it is held from the start, and never sent at once again', async (t) => {
  const { at, held } = thread({ busyFrom: 0 });
  t.same(held(), { ms: 100, frames: 5 });
  t.same(at(0, 200).at(-1), 100);
});

t.test('the time in each window is counted', async (t) => {
  const { at, figures } = thread();
  at(0.9, 3); // 40 from here on
  at(0.9, 3); // 60
  at(0.9, 3); // 100
  at(0.4, 51);
  const seconds = Object.fromEntries(
    Object.entries(figures.seconds).map(([ms, value]) => [ms, Number(value.toFixed(3))]),
  );
  t.same(seconds, { 40: 0.3, 60: 0.4, 100: 5 });
});

/** A talkgroup whose live receivers note what is published to them, by a clock of the test's own. */
function heldTalkgroup(t: Test) {
  const clock = virtualClock();
  const feed = new Feed(1);
  const heard: { sender: number; frame: number; lateMs: number }[] = [];
  const saidAtMs = new Map<number, number>();
  const note = (sender: number, frame: ArrayBuffer) => {
    const number = new DataView(frame).getUint32(12);
    heard.push({ sender, frame: number, lateMs: clock.nowMs() - (saidAtMs.get(number) ?? 0) });
  };
  const fanout = {
    absent: { publish: () => true },
    audio: (from: Voice, _feed: Feed, frame: ArrayBuffer) =>
      note((from as unknown as { sender: number }).sender, frame),
    ...{ held() {}, hearers: () => 0, sendsToEach: () => false },
  };
  const counts = newCounts();
  const holding = createHolding({
    ...{ fanout, counts, clock },
    ...{ behindFrame() {}, left() {} },
    log: { error: (_fields, message) => t.fail(message) },
  });
  for (const number of [101, 102]) feed.enter({ number, give() {}, arrive() {}, askBehindFrame() {} });
  const talkers = [0, 1, 2].map((sender) => {
    const socket = { sender, publish: () => true } as unknown as Peer;
    return { sender, socket, mayTalk: () => true };
  });
  let said = 0;
  return {
    heard,
    counts,
    holding,
    feed,
    pass: clock.pass,
    /** false: the frame waits. */
    says(sender: number, flags: number): boolean {
      const talker = talkers[sender] as Source & { socket: Peer };
      const message = new ArrayBuffer(16);
      new DataView(message).setUint32(12, said);
      saidAtMs.set(said++, clock.nowMs());
      return holding.live(talker.socket, feed, talker, message, flags, clock.nowMs());
    },
    said: () => said,
  };
}

t.test(
  'the frame that completes a group does not wait, and neither do the first and the last one',
  async (t) => {
    const { holding, counts, says, heard } = heldTalkgroup(t);
    holding.follow(LOAD_STEPS[1] ?? null);
    t.same(
      [START, 0, 0, 0, 0, END].map((flags) => says(0, flags)),
      [true, false, false, true, false, true],
    );
    t.same(
      heard.map(({ frame }) => frame),
      [0, 1, 2, 3, 4, 5],
    );
    t.equal(counts.framesHeld, 3);
    holding.close();
  },
);

const STEPS: readonly (LoadStep | null)[] = [null, ...LOAD_STEPS];
const happenings = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        says: fc.nat({ max: 2 }),
        flags: fc.constantFrom(0, 0, 0, 0, START, END, EMERGENCY),
      }),
    },
    { weight: 6, arbitrary: fc.record({ passMs: fc.nat({ max: 30 }) }) },
    { weight: 1, arbitrary: fc.record({ step: fc.nat({ max: 3 }) }) },
    { weight: 1, arbitrary: fc.constant('event' as const) },
  ),
  { maxLength: 120, size: 'max' },
);

t.test('however the load changes, each frame is heard once, in order, and in time', async (t) => {
  fc.assert(
    fc.property(happenings, (all) => {
      const { heard, holding, feed, pass, says, said } = heldTalkgroup(t);
      for (const one of all) {
        if (one === 'event') flushHeld(feed);
        else if ('passMs' in one) pass(one.passMs);
        else if ('step' in one) holding.follow(STEPS[one.step] ?? null);
        else says(one.says, one.flags);
      }
      pass(110);
      holding.close();
      const numbers = heard.map(({ frame }) => frame);
      assert.deepEqual(
        [...numbers].sort((a, b) => a - b),
        Array.from({ length: said() }, (_, index) => index),
      );
      for (const sender of [0, 1, 2]) {
        const own = heard.filter((one) => one.sender === sender).map(({ frame }) => frame);
        assert.deepEqual(
          own,
          [...own].sort((a, b) => a - b),
          'in the order of each talker',
        );
      }
      for (const { lateMs } of heard) assert.ok(lateMs <= 105, `${lateMs} ms late`);
    }),
    { numRuns: 300 },
  );
  t.pass('for any history');
});
