// What does a frame cost that goes to another node, and how much later is it heard there? Two nodes, one nats-server.
import { type AccessRun, faultsOfAccess, measureAccessOn } from '../../experiments/access.js';
import {
  estimateOf,
  faultsOfHops,
  goalsOfHops,
  type HopLoad,
  type HopRun,
  linesOfHops,
  type Pair,
  type Places,
  playHops,
  plotOfHops,
} from '../../experiments/hops.js';
import { noiseOf } from '../../figures/doubts.js';
import { atMost, watched } from '../../figures/goals.js';
import type { Latency } from '../../figures/histogram.js';
import type { Goal } from '../../figures/result.js';
import { linesOfRuns } from '../../machine/conditions.js';
import type { Bench, Report } from '../../scenario.js';
import { withCluster } from '../../servers/cluster.js';

const LOADS: readonly HopLoad[] = [
  { talkgroups: 20, frames: 100, rounds: 8 },
  {
    talkgroups: 100,
    frames: 100,
    rounds: 8,
    targets: { publishUs: 7, receiveUs: 12, natsUs: 20, p50Ms: 0.5, p99Ms: 3 },
  },
];
const QUICK_LOADS: readonly HopLoad[] = [{ talkgroups: 20, frames: 50, rounds: 3 }];
/**
 * Half the rate of floor-access, because both nodes share a core, and two seconds between two bursts of a talkgroup: after
 * a pause of the machine the next press must find the floor free. As long as the end before is under way it is denied.
 */
const FLOORS = {
  talkgroups: 200,
  members: 4,
  burstsPerSecond: 100,
  bursts: 2000,
  warmUpBursts: 400,
  payloadBytes: 60,
};
/** p50 and p99: one round trip more. */
const FLOOR_MS_MAX = [1, 5] as const;
const SETTINGS = { LOG_LEVEL: 'warn' };

const PLACES: Places = { talkers: 'talkers', listeners: 'listeners' };
const NATS = 'nats';
const WORDS = { near: 'node of the talkers', far: 'other node' };
/** Of what is estimated: one machine with two cores cannot show it. */
const ESTIMATED = [
  { nodes: 3, members: 50 },
  { nodes: 3, members: 5 },
];

export async function cluster(bench: Bench): Promise<Report> {
  const loads = bench.isQuick ? QUICK_LOADS : LOADS;
  const runs: HopRun[] = [];
  for (const load of loads) runs.push(await measure(bench, load));
  const access = await measureFloors(bench);
  const faults = [...runs.flatMap((run) => faultsOfHops(run, PLACES)), ...faultsOfAccess(access)];
  const last = runs.slice(-1);
  return {
    lines: [
      ...linesOfHops(runs, { words: WORDS, placesIn: () => PLACES, nats: NATS }),
      '',
      ...linesOfRuns([...runs, access], 'frames and bursts'),
      '',
      'estimates are reckoned from the CPU of a frame at the highest rate, and were not measured',
    ],
    limits:
      'one machine: nodes, nats-server and database share a core, so no figure is a capacity of a cluster',
    faults,
    noise: [
      ...runs.map((run) => noiseOf(run, 'frames', null, run.name)),
      noiseOf(access, 'bursts', access.access.p99Ms, access.name),
    ],
    goals: [
      ...runs.flatMap((run) => goalsOfHops(run, { places: PLACES, words: WORDS, nats: NATS, faults })),
      ...goalsOfFloors(access, faults),
      ...last.flatMap((run) => ESTIMATED.map((size) => estimateOf(run, PLACES, size))),
    ],
    plots: [plotOfHops(runs, WORDS)],
    details: { load: { hops: loads, access: access.load }, settings: SETTINGS, runs, access },
  };
}

/** Two members of each talkgroup on each node, so that either may decide. */
const measureFloors = (bench: Bench): Promise<AccessRun> =>
  withCluster({ cores: bench.cores.server, signal: bench.signal, settings: SETTINGS }, (servers) => {
    bench.progress('floor');
    const load = bench.isQuick ? { ...FLOORS, bursts: 400 } : FLOORS;
    return measureAccessOn(bench, { name: 'floor', load }, servers, servers.nodes);
  });

function goalsOfFloors({ access, firstFrame, remote }: AccessRun, faults: readonly string[]): Goal[] {
  const goal = (
    what: string,
    far: Latency | undefined,
    near: Latency,
    [p50, p99]: readonly [number, number],
  ) => [
    atMost(
      watched(`${what}, decided on the other node less own, p50`, later(far?.p50Ms, near.p50Ms), 'ms'),
      p50,
      faults,
    ),
    atMost(
      watched(`${what}, decided on the other node less own, p99`, later(far?.p99Ms, near.p99Ms), 'ms'),
      p99,
      faults,
    ),
  ];
  return [
    ...goal('first frame', remote?.firstFrame, firstFrame, FLOOR_MS_MAX),
    ...goal('access time', remote?.access, access, FLOOR_MS_MAX),
  ];
}

const later = (far: number | undefined, near: number): number => (far ?? Number.NaN) - near;

function measure(bench: Bench, load: HopLoad): Promise<HopRun> {
  bench.progress(`${load.talkgroups} talkgroups`);
  const { cores, signal } = bench;
  return withCluster({ cores: cores.server, signal, settings: SETTINGS }, (servers) => {
    const [near, far] = servers.nodes;
    const pair: Pair = {
      database: servers,
      near: { url: near.url, dialect: near.dialect },
      far: { url: far.url, dialect: far.dialect },
      cpuOf: { processes: { talkers: near.pid, listeners: far.pid, [NATS]: servers.natsPid } },
      sharePort: false,
    };
    return playHops(bench, pair, load);
  });
}
