// The load of a relay, by a clock of the test's own: when live audio is held, for how long, and when no longer.
import t from 'tap';
import { createLoad, type LoadStep } from '../../src/relay/delivery/load.js';

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
