// What the bench says of several relays: which threads relay, what a forwarded frame costs, and what is estimated of it.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { mediansOf, placesOf, pricesOf } from '../../bench/experiments/hops.js';
import { type FramePrices, speedUpOf, threadCostsOf } from '../../bench/experiments/thread-times.js';
import type { HopTurn, SideName } from '../../bench/generator/loads/hop.js';
import { cpuUs, threadTimes, timesBetween } from '../../bench/machine/processes.js';
import { homeAmong, relayOf } from '../../bench/radios/homes.js';
import { homeOf } from '../../src/relay/shared-floor/home.js';

/** Of a turn with 100 deliveries. */
const threadTurn = (round: number, threadsUs: Record<string, number>, isWhole = true) => ({
  ...{ round, threadsUs, isWhole },
  delivered: 100,
});

t.test('the relay threads are those that used the most over all turns', async (t) => {
  const turns = [
    threadTurn(0, { main: 5, 'one thread': 400, 'another thread': 600, collector: 90 }),
    // Once the other one is the busiest, and once the collector has more to do than either.
    threadTurn(1, { main: 5, 'one thread': 500, 'another thread': 450, collector: 550 }),
  ];
  const { all, busiest } = threadCostsOf(turns, 2);
  t.strictSame(
    [...all],
    [
      [0, 10],
      [1, 9.5],
    ],
  );
  t.strictSame(
    [...busiest],
    [
      [0, 6],
      [1, 4.5],
    ],
    'the same thread in each turn, not the busiest of each',
  );
  t.strictSame([...threadCostsOf(turns, 1).all], [...busiest]);
});

t.test('a turn that was not over in time is in no cost of threads', async (t) => {
  const turns = [threadTurn(0, { a: 200 }), threadTurn(1, { a: 100, late: 9_000 }, false)];
  t.strictSame([...threadCostsOf(turns, 1).all], [[0, 2]]);
});

/** 10 frames in each side of a round. To each of them `noise` is added, as the housekeeping of a process is. */
function hopTurns(
  round: number,
  price: FramePrices,
  names = { talkers: 'near', listeners: 'far' },
  noise = 0,
) {
  const { inbound, delivery, publish, receive } = price;
  const frames = 10;
  const turn = (side: SideName, near: number, far: number): HopTurn => ({
    ...{ side, round, frames, lost: 0 },
    cpuUs: {
      [names.talkers]: frames * (near + noise),
      [names.listeners]: frames * (far + noise),
      main: noise,
    },
  });
  return [
    turn('unheard', inbound, 0),
    turn('local', inbound + delivery, 0),
    turn('forwarded', inbound + delivery + publish, receive + delivery),
  ];
}

const prices = fc.record({
  inbound: fc.integer({ min: 1, max: 50 }),
  delivery: fc.integer({ min: 1, max: 50 }),
  publish: fc.integer({ min: 1, max: 50 }),
  receive: fc.integer({ min: 1, max: 50 }),
});

t.test('prices of a forwarded frame come out as they were put in', async () => {
  fc.assert(
    fc.property(prices, fc.nat(100), (price, noise) => {
      const [found] = pricesOf(hopTurns(1, price, undefined, noise), { talkers: 'near', listeners: 'far' });
      const { of: _, ...rest } = found ?? { of: null };
      // What the process does anyway is in the first alone, which no other turn is taken from.
      assert.deepEqual(rest, { ...price, inbound: price.inbound + noise });
    }),
  );
});

t.test('turns are compared within their round, and a median is of rounds', async (t) => {
  const turns = [1, 2, 9].flatMap((publish, at) =>
    hopTurns(at + 1, { inbound: 5, delivery: 10, publish, receive: 7 - at }),
  );
  const found = pricesOf(turns, { talkers: 'near', listeners: 'far' });
  t.strictSame(mediansOf(found), { inbound: 5, delivery: 10, publish: 2, receive: 6 });
  t.strictSame(
    found.map((round) => round.of('near')),
    [1, 2, 9],
  );
});

t.test('threads are told apart by what they do, not by their numbers', async () => {
  fc.assert(
    fc.property(prices, fc.boolean(), (price, isTurned) => {
      const names = isTurned ? { talkers: '12', listeners: '7' } : { talkers: '7', listeners: '12' };
      assert.deepEqual(placesOf(hopTurns(1, price, names)), names);
    }),
  );
});

t.test('an estimate is at most the number of nodes, and grows with the talkgroup', async (t) => {
  fc.assert(
    fc.property(
      prices,
      fc.integer({ min: 1, max: 16 }),
      fc.integer({ min: 2, max: 500 }),
      (price, nodes, members) => {
        const gain = speedUpOf(price, { nodes, members });
        assert.ok(gain < nodes && gain > 0, `${gain}`);
        assert.ok(speedUpOf(price, { nodes, members: members + 1 }) > gain);
      },
    ),
  );
  // One frame out and two in for 49 deliveries of 8 µs: 3 / (1 + 23 / 397).
  const price = { inbound: 5, delivery: 8, publish: 5, receive: 9 };
  t.equal(speedUpOf(price, { nodes: 3, members: 50 }).toFixed(3), '2.836');
  t.equal(speedUpOf({ ...price, publish: 0, receive: 0 }, { nodes: 3, members: 50 }), 3);
});

t.test('the CPU time of a process is that of its threads', async (t) => {
  const before = threadTimes(process.pid);
  for (let sum = 0; threadTimes(process.pid).get(`${process.pid}`) === before.get(`${process.pid}`); sum++)
    if (sum > 1e6) throw new Error('no time passes');
  const spent = timesBetween(before, threadTimes(process.pid));
  t.ok((spent[process.pid] ?? 0) > 0, 'the main thread has the number of its process');
  const mainUs = threadTimes(process.pid).get(`${process.pid}`) ?? Number.NaN;
  t.ok(cpuUs(process.pid) >= mainUs);
  t.strictSame(
    timesBetween(
      new Map([
        ['ended', 5],
        ['stays', 1],
      ]),
      new Map([
        ['stays', 3],
        ['new', 2],
      ]),
    ),
    {
      stays: 2,
      new: 2,
    },
  );
});

t.test('the bench knows the home of a talkgroup as the relays do', async (t) => {
  t.strictSame([1024, 2047, 2048].map(relayOf), [1024, 1024, 2048], 'sessions of one block are of one relay');
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 0x3fffff }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 0xffffffff }), (blocks, talkgroup) => {
      const relays = blocks.map((block) => block * 1024);
      assert.equal(relays[homeAmong(relays, talkgroup)], homeOf(relays, talkgroup));
    }),
  );
});
