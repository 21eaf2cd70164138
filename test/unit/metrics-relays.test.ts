// The figures of several relay threads as those of one: what is added up, and what is not.
import fc from 'fast-check';
import t from 'tap';
import { newHistogram, observe } from '../../src/histogram.js';
import { addUp, ownOf, sumOf } from '../../src/metrics/relays.js';
import type { Reach } from '../../src/protocol/codes.js';
import { newClusterCounts } from '../../src/relay/cluster/counts.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { newBusCounts } from '../../src/relay/nodes/bus.js';
import type { OwnFigures, RelayFigures } from '../../src/relay/relay-side.js';

const BOUNDS = [1, 10];

/** Of one relay whose every number is made by `next`. */
function figures(next: () => number): RelayFigures {
  const cluster = {
    bus: newBusCounts(),
    counts: newClusterCounts(),
    delay: newHistogram(BOUNDS),
    reach: { whole: 0, partial: 0, alone: 0 },
    homes: { here: 0, elsewhere: 0 },
    floors: { unanswered: 0, collisions: 0, rebuilt: 0, viewsDiffer: 0 },
    ...{
      isUp: true,
      joinsNodes: true,
      isSettled: true,
      relays: 1,
      peers: 0,
      siblings: 0,
      otherKeys: 0,
      unencrypting: 0,
      unrecording: 0,
      talkgroups: 0,
      shared: 0,
      elsewhere: 0,
    },
  };
  const zeros: RelayFigures = {
    counts: newCounts(),
    sampled: { latency: newHistogram(BOUNDS), framesOut: 0, bytesIn: 0, bytesOut: 0 },
    pulse: { delay: newHistogram(BOUNDS), lagMsMax: 0 },
    load: { windowMs: 0, seconds: { 40: 0, 60: 0, 100: 0 } },
    present: { sessions: 0, parked: 0, users: 0, talkgroups: 0, bursts: 0, queued: 0, watchers: 0 },
    cluster,
    connections: { open: 0, max: 0, dropped: 0 },
    fixes: { stored: 0, unknown: 0, failed: 0 },
    own: { thread: {}, database: {}, mainDelay: newHistogram(BOUNDS) } as unknown as OwnFigures,
  };
  return JSON.parse(JSON.stringify(zeros), (key, value) =>
    typeof value === 'number' && !/^\d$/.test(key) ? next() : value,
  );
}

/** Every number in it, by the names on the way to it. */
function leaves(value: unknown, path = ''): Map<string, number> {
  if (typeof value === 'number') return new Map([[path, value]]);
  if (value === null || typeof value !== 'object') return new Map();
  return new Map(Object.entries(value).flatMap(([key, each]) => [...leaves(each, `${path}.${key}`)]));
}

const notSums = [
  '.connections.max',
  '.pulse.lagMsMax',
  '.load.windowMs',
  '.cluster.peers',
  '.cluster.siblings',
  '.cluster.otherKeys',
  '.cluster.unencrypting',
  '.cluster.unrecording',
];
const isSum = (path: string) =>
  !notSums.includes(path) &&
  !['.boundsMs.', '.cluster.reach.'].some((name) => path.includes(name)) &&
  !path.startsWith('.own');

t.test('each number is the sum of those of the threads, whatever they are', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.infiniteStream(fc.nat(1_000_000)), { minLength: 2, maxLength: 5 }), (streams) => {
      const relays = streams.map((stream) => figures(() => stream.next().value));
      const sum = leaves(addUp(relays));
      const each = relays.map((relay) => leaves(relay));
      const paths = [...(each[0]?.keys() ?? [])].filter(isSum);
      return (
        paths.length > 80 &&
        paths.every((path) => sum.get(path) === each.reduce((total, one) => total + (one.get(path) ?? 0), 0))
      );
    }),
    { numRuns: 20 },
  );
  t.pass();
});

t.test('what is of the whole process, or of the worst thread, is no sum', async (t) => {
  const [a, b] = [figures(() => 1), figures(() => 7)];
  const both = addUp([a, { ...b, cluster: b.cluster && { ...b.cluster, isUp: false } }]);
  t.match(both, {
    connections: { open: 8, max: 7 },
    pulse: { lagMsMax: 7, delay: { boundsMs: BOUNDS } },
    load: { windowMs: 7 },
    cluster: { peers: 1, otherKeys: 7, isUp: false, delay: { boundsMs: BOUNDS } },
    own: null,
  });
});

t.test('the reach is that of the thread that reaches least', async (t) => {
  const reaching = (...reaches: readonly Reach[]) => {
    const relays = reaches.map((reach) => {
      const one = figures(() => 0);
      const all = { whole: 0, partial: 0, alone: 0, [reach]: 1 };
      return { ...one, cluster: one.cluster && { ...one.cluster, reach: all } };
    });
    return addUp(relays)?.cluster?.reach;
  };
  t.same(reaching('whole', 'whole'), { whole: 1, partial: 0, alone: 0 });
  t.same(reaching('whole', 'partial'), { whole: 0, partial: 1, alone: 0 });
  t.same(reaching('alone', 'partial', 'whole'), { whole: 0, partial: 0, alone: 1 });
});

t.test('a count that only one thread has is its own, and times add up by their buckets', async (t) => {
  const [a, b] = [figures(() => 0), figures(() => 0)];
  b.counts.closed.other = 3;
  delete a.counts.closed.other;
  for (const [relay, ms] of [
    [a, 5],
    [b, 5],
    [b, 50],
  ] as const)
    observe(relay.pulse.delay, ms);
  const both = addUp([a, b]);
  t.equal(both?.counts.closed.other, 3);
  t.same(both?.pulse.delay, { boundsMs: BOUNDS, counts: [0, 2, 1], sumMs: 60 });
  t.same(sumOf([a.pulse.delay, b.pulse.delay]), both?.pulse.delay);
  t.same(a.pulse.delay.counts, [0, 1, 0], 'the figures of a thread stay as they are');
});

t.test('one relay is shown as it is, and the name of its thread has no number', async (t) => {
  const only = figures(() => 2);
  t.equal(addUp([only]), only);
  t.strictSame(
    [[only], [only, only], null, [{ ...only, own: null }]].map((relays) =>
      ownOf(relays).map(([name]) => name),
    ),
    [['relay'], ['relay-1', 'relay-2'], [], []],
  );
});
