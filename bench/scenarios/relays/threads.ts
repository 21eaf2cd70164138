// What do two relay threads cost beside one, how is the work dealt out between them, and how much later is a frame heard?
import { type AccessRun, faultsOfAccess, measureAccess } from '../../experiments/access.js';
import {
  faultsOfHops,
  goalsOfHops,
  type HopLoad,
  type HopRun,
  linesOfHops,
  placesOf,
  playHops,
  plotOfHops,
} from '../../experiments/hops.js';
import { noiseOf } from '../../figures/doubts.js';
import { columns, percent, quartiles } from '../../figures/figures.js';
import { atMost, watched, watchedMedian } from '../../figures/goals.js';
import { type Latency, mergeLatencies } from '../../figures/histogram.js';
import type { Goal } from '../../figures/result.js';
import type { DealingTask, Dealt } from '../../generator/loads/dealing.js';
import { linesOfRuns } from '../../machine/conditions.js';
import type { Bench, Report } from '../../scenario.js';
import { enlist } from '../../servers/users.js';
import { contendThreads, linesOfContests, noiseOfContests } from './thread-contests.js';

const WORDS = { near: 'thread of the talkers', far: 'other thread' };
const HOPS: readonly HopLoad[] = [
  { talkgroups: 20, frames: 75, rounds: 8 },
  { talkgroups: 100, frames: 75, rounds: 8, targets: { p50Ms: 0.2, p99Ms: 1.5 } },
];
const QUICK_HOPS: readonly HopLoad[] = [{ talkgroups: 20, frames: 50, rounds: 3 }];

/** Forth and back, each a server of its own. */
const ACCESS_THREADS = [1, 2, 2, 1];
/** As over two nodes: half the rate of floor-access, and two seconds between two bursts of a talkgroup. */
const ACCESS = {
  talkgroups: 200,
  members: 4,
  burstsPerSecond: 100,
  bursts: 1200,
  warmUpBursts: 400,
  payloadBytes: 60,
};
/** As for one thread. */
const ACCESS_MS_MAX = 10;

/** Relay threads over which connections are dealt out, each time by a new server. */
const DEALINGS = [2, 4, 2, 4, 2, 4];
const CONNECTIONS = 1_000;

const LOG_SETTINGS = { LOG_LEVEL: 'warn' };
const settingsOfThreads = (threads: number) => ({ ...LOG_SETTINGS, RELAY_THREADS: `${threads}` });

export async function threads(bench: Bench): Promise<Report> {
  const contests = await contendThreads(bench);
  const hops: HopRun[] = [];
  for (const load of bench.isQuick ? QUICK_HOPS : HOPS) hops.push(await measureHops(bench, load));
  const access: AccessRun[] = [];
  const dealings: Dealing[] = [];
  if (!bench.isQuick) {
    for (const count of ACCESS_THREADS) access.push(await measureFloor(bench, count));
    for (const count of DEALINGS) dealings.push(await deal(bench, count));
  }
  const faults = [
    ...contests.outcomes.flatMap((outcome) => outcome.faults),
    ...hops.flatMap((run) => faultsOfHops(run, placesOf(run.turns))),
    ...access.flatMap(faultsOfAccess),
  ];
  return {
    lines: [
      ...linesOfContests(contests),
      ...linesOfHops(hops, { words: WORDS, placesIn: ({ turns }) => placesOf(turns) }),
      ...linesOfDealings(dealings),
      '',
      ...linesOfRuns([...hops, ...access], 'frames and bursts'),
      '',
      'estimates are reckoned from the CPU of the busiest thread, and were not measured',
    ],
    limits: 'with pinning all relay threads share a core, so no figure is a capacity of several threads',
    faults,
    noise: [
      ...noiseOfContests(contests),
      ...hops.map((run) => noiseOf(run, 'frames', null, run.name)),
      ...access.map((run) => noiseOf(run, 'bursts', run.access.p99Ms, run.name)),
    ],
    goals: [
      ...contests.outcomes.flatMap(({ goals }) => goals),
      ...hops.flatMap((run) => goalsOfHops(run, { places: placesOf(run.turns), words: WORDS, faults })),
      ...goalsOfAccess(access, faults),
      ...goalsOfDealings(dealings),
    ],
    plots: [plotOfHops(hops, WORDS)],
    details: {
      load: {
        contests: contests.outcomes.map(({ load }) => load),
        hops: hops.map(({ load }) => load),
        access: ACCESS,
      },
      settings: contests.settings,
      contests: contests.outcomes.map(({ load, contest: { heard: _, ...contest }, sides }) => ({
        ...{ title: load.title, sides },
        ...contest,
      })),
      ...{ hops, access, dealings },
    },
  };
}

function measureHops(bench: Bench, load: HopLoad): Promise<HopRun> {
  bench.progress(`${load.talkgroups} talkgroups on two threads`);
  // Of those who look for a thread nothing is kept.
  return bench.withRelay({ ...settingsOfThreads(2), RESUME_MS: '0' }, (relay) => {
    const target = { url: relay.url, dialect: relay.dialect };
    const cpuOf = { threadsOf: relay.pid };
    return playHops(bench, { database: relay, near: target, far: target, cpuOf, sharePort: true }, load);
  });
}

const nameOf = (count: number) => (count === 1 ? '1 thread' : `${count} threads`);

const measureFloor = (bench: Bench, count: number): Promise<AccessRun> =>
  measureAccess(bench, {
    name: `floor, ${nameOf(count)}`,
    load: ACCESS,
    settings: settingsOfThreads(count),
  });

/** The target is that of one thread. Of two, about 44 in 100 requests are decided on the other one. */
function goalsOfAccess(runs: readonly AccessRun[], faults: readonly string[]): Goal[] {
  return [...new Set(runs.map(({ name }) => name))].flatMap((name) => {
    const merged = (of: (run: AccessRun) => Latency) =>
      mergeLatencies(runs.filter((run) => run.name === name).map(of));
    const goal = (what: string, { p99Ms }: Latency) =>
      atMost(watched(`${what} p99, ${name}`, p99Ms, 'ms'), ACCESS_MS_MAX, faults);
    return [
      goal(
        'access time',
        merged(({ access }) => access),
      ),
      goal(
        'first frame',
        merged(({ firstFrame }) => firstFrame),
      ),
    ];
  });
}

interface Dealing {
  readonly threads: number;
  readonly dealt: Dealt;
}

function deal(bench: Bench, count: number): Promise<Dealing> {
  bench.progress(`${CONNECTIONS} connections to ${nameOf(count)}`);
  return bench.withRelay(settingsOfThreads(count), async (relay) => {
    const users = await enlist(relay, { users: CONNECTIONS, talkgroups: [], memberOf: () => [] });
    const dealt = await bench.generate<DealingTask, Dealt>(
      new URL('../../generator/loads/dealing.js', import.meta.url),
      { target: { url: relay.url, dialect: relay.dialect }, users },
    );
    return { threads: count, dealt };
  });
}

const fullestOf = ({ dealt }: Dealing) => (dealt[0] ?? Number.NaN) / CONNECTIONS;

const goalsOfDealings = (dealings: readonly Dealing[]): Goal[] =>
  [...new Set(dealings.map((dealing) => dealing.threads))].map((count) =>
    watchedMedian(
      `share of ${CONNECTIONS.toLocaleString('en')} connections on the fullest of ${nameOf(count)}`,
      quartiles(dealings.filter((dealing) => dealing.threads === count).map(fullestOf)),
      '',
    ),
  );

function linesOfDealings(dealings: readonly Dealing[]): string[] {
  const line = columns(36, 24, 12);
  return [
    '',
    line(`${CONNECTIONS.toLocaleString('en')} connections`, 'on each thread', 'fullest'),
    ...dealings.map((dealing) =>
      line(nameOf(dealing.threads), dealing.dealt.join(' '), percent(fullestOf(dealing))),
    ),
  ];
}
