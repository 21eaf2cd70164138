// What the bench's figures rest on: histograms of several processes become one, and turns are compared in pairs.
import fc from 'fast-check';
import t from 'tap';
import { compare } from '../../bench/experiments/comparison.js';
import { climb, highestOf } from '../../bench/experiments/ladder.js';
import { pairedRatios } from '../../bench/figures/figures.js';
import { atLeast, atMost, watched, watchedMedian } from '../../bench/figures/goals.js';
import { createRecorder, mergeLatencies, percentilePoints } from '../../bench/figures/histogram.js';
import { allocatedBytes, createCollectionLog } from '../../bench/machine/collections.js';
import { selfTimes } from '../../bench/machine/profile.js';
import { callsIn } from '../../bench/machine/system-calls.js';

const latencyOf = (values: readonly number[]) => {
  const recorder = createRecorder();
  for (const ms of values) recorder.record(ms);
  return recorder.latency();
};
const latencies = fc.array(fc.double({ min: 0.001, max: 50_000, noNaN: true }), { maxLength: 50 });

t.test('latencies that several processes recorded are as if one had recorded them all', (t) => {
  fc.assert(
    fc.property(fc.array(latencies, { maxLength: 4 }), (parts) => {
      t.strictSame(mergeLatencies(parts.map(latencyOf)), latencyOf(parts.flat()));
    }),
    { numRuns: 50 },
  );
  t.end();
});

t.test('the curve of a histogram only rises, and ends with the longest', (t) => {
  fc.assert(
    fc.property(latencies, (values) => {
      const latency = latencyOf(values);
      const points = percentilePoints(latency);
      t.ok(points.every(([, ms], i) => ms >= (points[i - 1]?.[1] ?? 0)));
      t.strictSame(points.at(-1), [100, latency.maxMs]);
    }),
    { numRuns: 50 },
  );
  t.end();
});

t.test('only rounds in which both were measured make a ratio, in whichever order they were', (t) => {
  const own = new Map([
    [0, 3],
    [1, 5],
    [3, 8],
    [4, 1],
  ]);
  const others = new Map([
    [4, 0],
    [3, 4],
    [2, 1],
    [0, 2],
  ]);
  t.strictSame(pairedRatios(own, others), [1.5, 2]);
  t.end();
});

t.test('collections are read from lines that come in pieces, and told apart by heap and kind', (t) => {
  const log = createCollectionLog();
  const text = `WebSocket  ws://127.0.0.1:1/ws
[7:0x2bb0d860]      104 ms: Scavenge 3.8 (4.0) -> 3.4 (5.0) MB, 9.04 / 0.00 ms  (average mu = 1.000) task;
[7:0x7f4f10000f00]      65 ms: Scavenge 8.0 (9.2) -> 2.8 (4.2) MB, 0.86 / 0.00 ms  (average mu = 1.000) task;
[7:0x2bb0d860]     1194 ms: Mark-Compact (reduce) 22.1 (53.6) -> 2.6 (36.0) MB, 4.24 / 0.00 ms  (+ 0.0 ms in 1 steps)
`;
  for (const piece of text.match(/[\s\S]{1,37}/g) ?? []) log.take(piece);
  t.match(log.collections, [
    { thread: 0, kind: 'minor', beforeMib: 3.8, afterMib: 3.4, pauseMs: 9.04 },
    { thread: 1, kind: 'minor', beforeMib: 8, afterMib: 2.8 },
    { thread: 0, kind: 'major', isReducing: true, beforeMib: 22.1, afterMib: 2.6 },
  ]);
  const own = log.collections.filter(({ thread }) => thread === 0);
  t.equal(Math.round(allocatedBytes(own) / 2 ** 20), 19, 'from 3.4 to 22.1 MiB');
  t.end();
});

t.test('a rate that fails now and then is not too much, one that always fails ends the climb', async (t) => {
  const tried: number[] = [];
  const rungs = await climb({
    perSecond: [1, 2, 3, 4, 5],
    triesMax: 3,
    isGood: (isGood: boolean) => isGood,
    async play(rate) {
      tried.push(rate);
      return rate === 2 ? tried.length === 4 : rate < 4;
    },
  });
  t.strictSame(tried, [1, 2, 2, 2, 3, 4, 4, 4]);
  t.equal(highestOf(rungs), 3);
});

t.test('of profiles only functions seen within the span count, each until the next look', (t) => {
  const node = (id: number, functionName: string, url: string) => ({ id, callFrame: { functionName, url } });
  const profile = {
    startTime: 1_000_000,
    nodes: [
      node(1, '(program)', ''),
      node(2, 'stampFrame', 'file:///somewhere/dist/src/protocol/frame.js'),
      node(3, 'publish', ''),
      node(4, 'handle', 'file:///somewhere/node_modules/postgres/src/connection.js'),
    ],
    samples: [2, 1, 2, 3, 4, 2],
    timeDeltas: [0, 1_000, 2_000, 3_000, 4_000, 5_000],
  };
  const times = selfTimes([profile, profile], { fromMs: 1_001, toMs: 1_010.5 });
  t.strictSame(
    [...times].map(([name, seconds]) => [name, Math.round(seconds * 1000)]),
    [
      ['handle, postgres', 10],
      ['publish, native', 8],
      ['stampFrame, protocol/frame', 6],
    ],
  );
  t.end();
});

t.test('of what strace prints the calls are read, with and without errors, and not their sum', (t) => {
  const table = `strace: Process 7 attached with 11 threads
strace: Process 7 detached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ------------------
 88.14    0.104210          10     10021           sendto
  9.86    0.011658           5      2203        12 recvfrom
  2.00    0.000120           3        40           epoll_wait
------ ----------- ----------- --------- --------- ------------------
100.00    0.115988           9     12264        12 total
`;
  const calls = { sendto: 10_021, recvfrom: 2_203, epoll_wait: 40 };
  t.strictSame(Object.fromEntries(callsIn(table)), calls);
  t.strictSame([...callsIn('strace: attach: ptrace(PTRACE_SEIZE, 7): Operation not permitted')], []);
  t.end();
});

t.test('a claim over another server divides by the ratio that server has in the same run', async (t) => {
  const latency = latencyOf([1]);
  const heard = { received: 1, lost: 0, duplicated: 0, outOfOrder: 0, latency };
  const costs = [6, 5, 10]; // CPU of ours, of the engine, of a third
  const turns = [0, 1].flatMap((round) =>
    costs.map((cpuUs, server) => ({
      ...{ server, round, cpuUs, talkers: 1, atMs: 0, durationMs: 1, frames: 1, delivered: 1 },
      ...{ isWhole: true, lateMs: 0, generatorShare: 0, p99Ms: 1 },
      ...heard,
    })),
  );
  const contest = {
    turns,
    heard: costs.map(() => heard),
    ...{ late: latency, serverShare: 0, generatorShare: 0, generatorShares: [0], othersShare: 0 },
  };
  const { goals } = compare(contest, {
    names: ['ours', 'engine', 'third'],
    claims: [
      { of: 'ours', to: 'third', over: 'engine', atMost: 1.1 },
      { of: 'ours', to: 'third' },
      { of: 'ours', to: 'third', over: 'absent', atMost: 1 },
    ],
    per: 'delivery',
    framesPerSecond: 50,
  });
  t.match(goals, [
    { name: 'CPU per delivery, ours / third, over engine / third', value: 1.2, isMet: false },
    { name: 'CPU per delivery, ours / third', value: 0.6, isMet: null },
  ]);
  t.equal(goals.length, 2, 'what did not play is left out');
});

t.test(
  'a goal is met up to its target, and cannot be told with faults or with too small a load',
  async (t) => {
    const figure = watched('longest answer', 3, 'ms');
    t.strictSame(figure, { name: 'longest answer', value: 3, unit: 'ms', isMet: null });
    const verdicts = (most: number, faults: readonly string[] | null) => [
      atMost(figure, most, faults).isMet,
      atLeast(figure, most, faults).isMet,
    ];
    t.strictSame(verdicts(3, []), [true, true]);
    t.strictSame(verdicts(4, []), [true, false]);
    t.strictSame(verdicts(2, []), [false, true]);
    t.strictSame(verdicts(4, ['a delivery was lost']), [null, null]);
    t.strictSame(verdicts(4, null), [null, null]);
    const median = watchedMedian('CPU', { low: 1, median: 2, high: 4 }, 'µs');
    t.match(atMost(median, 3, []), { value: 2, low: 1, high: 4, unit: 'µs', atMost: 3, isMet: true });
  },
);
