// Plays the same loads on one and on two relay threads in turns: what a delivery costs, and the share of the busiest thread.
import { type Claim, type Comparison, compare, linesOfSides } from '../../experiments/comparison.js';
import { forthAndBack, playContest } from '../../experiments/contest.js';
import { cast, type Lineup, RELAY, settingsOf, TWO_THREADS, withLineup } from '../../experiments/lineup.js';
import { threadCostsOf } from '../../experiments/thread-times.js';
import { type Noise, noiseOf } from '../../figures/doubts.js';
import { pairedRatios, quartiles } from '../../figures/figures.js';
import { atMost, watchedMedian } from '../../figures/goals.js';
import type { Goal } from '../../figures/result.js';
import type { Contest } from '../../generator/loads/contest.js';
import type { Piece } from '../../generator/stage.js';
import { linesOfConditions } from '../../machine/conditions.js';
import type { Bench } from '../../scenario.js';
import type { FleetOptions } from '../../servers/users.js';

/** Played by one and by two threads in turns. */
interface Load {
  readonly title: string;
  readonly fleet: FleetOptions;
  readonly piece: Piece;
  readonly rounds: number;
  /** CPU time of a delivery on two threads over one. Without it the ratio is only watched. */
  readonly ratioAtMost?: number;
  /** Share of the busiest thread. Only with so many connections that chance deals them out evenly. */
  readonly shareAtMost?: number;
}

const AUDIENCE = { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 };
const WARM_UP = 2;
const RATIO_MAX = 1.1;
const SHARE_MAX = 0.57;

const groupsOf = (members: number, groups: number): FleetOptions => ({
  users: groups * members,
  talkgroups: Array.from({ length: groups }, () => 'open' as const),
  memberOf: (user) => [Math.floor(user / members)],
});

const LOADS: readonly Load[] = [
  {
    title: '1 talker, 1,000 listeners',
    fleet: { users: 1_001 },
    piece: { talkers: 1, leadFrames: 10, frames: 20, isBurst: true },
    rounds: 40,
    ratioAtMost: RATIO_MAX,
    shareAtMost: SHARE_MAX,
  },
  {
    title: '16 talkers in talkgroups of 50',
    fleet: groupsOf(50, 40),
    piece: { talkers: 16, leadFrames: 10, frames: 50, isBurst: false },
    rounds: 20,
    ratioAtMost: RATIO_MAX,
  },
  {
    title: '100 talkers in talkgroups of 5',
    fleet: groupsOf(5, 100),
    piece: { talkers: 100, leadFrames: 10, frames: 50, isBurst: false },
    rounds: 10,
  },
];
const QUICK_LOADS: readonly Load[] = LOADS.slice(0, 2).map((load) => ({
  ...load,
  piece: { ...load.piece, leadFrames: 10, frames: 10 },
  rounds: 4,
}));

export interface Outcome extends Comparison {
  readonly load: Load;
  readonly contest: Contest;
}

export interface Contests {
  readonly outcomes: readonly Outcome[];
  /** Of the servers, for the file. */
  readonly settings: object;
}

export function contendThreads(bench: Bench): Promise<Contests> {
  return withLineup(bench, [TWO_THREADS, RELAY], async (lineup) => {
    const outcomes: Outcome[] = [];
    for (const load of bench.isQuick ? QUICK_LOADS : LOADS) outcomes.push(await contend(bench, lineup, load));
    return { outcomes, settings: settingsOf(lineup) };
  });
}

export const linesOfContests = ({ outcomes }: Contests): string[] =>
  outcomes.flatMap(({ load, contest, ...comparison }) => [
    load.title,
    ...linesOfSides(comparison, 'delivery'),
    ...linesOfConditions(contest, 'frames'),
    '',
  ]);

export const noiseOfContests = ({ outcomes }: Contests): Noise[] =>
  outcomes.map(({ load, contest, sides }) =>
    noiseOf(contest, 'frames', sides[0]?.latency.p99Ms ?? null, load.title),
  );

async function contend(bench: Bench, lineup: Lineup, load: Load): Promise<Outcome> {
  bench.progress(load.title);
  const names = lineup.map(({ name }) => name);
  const servers = await cast(lineup, load.fleet);
  const contest = await playContest(bench, {
    servers: servers.map((server) => ({ ...server, tellsThreads: true })),
    audience: AUDIENCE,
    piece: load.piece,
    rounds: forthAndBack(names.length, load.rounds + WARM_UP),
    warmUpRounds: WARM_UP,
  });
  const claim: Claim = {
    of: TWO_THREADS,
    to: RELAY,
    ...(load.ratioAtMost !== undefined && { atMost: load.ratioAtMost }),
  };
  const compared = compare(contest, { names, claims: [claim], per: 'delivery', ...AUDIENCE });
  const goals = [...compared.goals, ...goalsOfThreads(contest, load, compared.faults)];
  return {
    ...{ load, contest },
    ...compared,
    goals: goals.map((goal) => ({ ...goal, name: `${goal.name}: ${load.title}` })),
  };
}

function goalsOfThreads({ turns }: Contest, load: Load, faults: readonly string[]): Goal[] {
  const [two, one] = [2, 1].map((threads, server) =>
    threadCostsOf(
      turns.filter((turn) => turn.server === server),
      threads,
    ),
  );
  if (two === undefined || one === undefined) throw new RangeError('two servers play');
  const share = watchedMedian(
    'share of the busiest thread',
    quartiles(pairedRatios(two.busiest, two.all)),
    '',
  );
  const gain = quartiles(pairedRatios(one.all, two.busiest));
  return [
    load.shareAtMost === undefined ? share : atMost(share, load.shareAtMost, faults),
    watchedMedian('estimate: deliveries per second, 2 threads / 1', gain, ''),
  ];
}
