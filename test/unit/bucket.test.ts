// The token bucket against its definition, counted token by token.
import fc from 'fast-check';
import t from 'tap';
import { Bucket } from '../../src/relay/limits/bucket.js';

/** In thousandths of a token, so that nothing is rounded: times are whole milliseconds, rates whole numbers. */
function counted(perSecond: number, burst: number, nowMs: number) {
  let tokens = burst * 1000;
  let at = nowMs;
  return (now: number) => {
    tokens = Math.min(burst * 1000, tokens + (now - at) * perSecond);
    at = now;
    if (tokens < 1000) return false;
    tokens -= 1000;
    return true;
  };
}

t.test('a full bucket gives its burst at one moment, and not one more', async (t) => {
  for (const [perSecond, burst] of [
    [110, 220],
    [20, 60],
    [2, 5],
    [7, 21],
  ] as const) {
    const bucket = new Bucket(perSecond, burst, 12_345.678);
    const taken = Array.from({ length: burst + 1 }, () => bucket.take(12_345.678));
    t.equal(taken.filter(Boolean).length, burst, `${burst} at once`);
  }
});

t.test('with one token left a bucket gives many, and then none until they are paid back', async (t) => {
  const bucket = new Bucket(100, 200, 0);
  t.ok(bucket.take(0, 199));
  t.ok(bucket.takeOwing(0, 51), '50 of them are owed');
  t.notOk(bucket.takeOwing(500, 1));
  t.notOk(bucket.takeOwing(509, 0), 'not even for nothing');
  t.ok(bucket.takeOwing(510, 1));
});

t.test('whatever the rate and whenever it is asked, it answers like one that counts tokens', async (t) => {
  const waits = fc.array(
    fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 }), fc.integer({ max: 5000, min: 0 })),
    {
      maxLength: 300,
    },
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1, max: 300 }),
      waits,
      (rate, burst, steps) => {
        const bucket = new Bucket(rate, burst, 1_000_000);
        const take = counted(rate, burst, 1_000_000);
        let now = 1_000_000;
        return steps.every((wait) => {
          now += wait;
          return bucket.take(now) === take(now);
        });
      },
    ),
    { numRuns: 300 },
  );
  t.pass('300 histories');
});

t.test('several tokens at a time are spent like as many one by one, and may be given back', async (t) => {
  const step = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 50 }), fc.boolean());
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1, max: 300 }),
      fc.array(step, { maxLength: 300 }),
      (rate, burst, steps) => {
        const bucket = new Bucket(rate, burst, 1_000_000);
        let tokens = burst * 1000;
        let now = 1_000_000;
        return steps.every(([wait, count, isUsed]) => {
          now += wait;
          tokens = Math.min(burst * 1000, tokens + wait * rate);
          const has = tokens >= count * 1000;
          if (bucket.take(now, count) !== has) return false;
          if (has && isUsed) tokens -= count * 1000;
          if (has && !isUsed) bucket.giveBack(count);
          return true;
        });
      },
    ),
    { numRuns: 300 },
  );
  t.pass('300 histories');
});
