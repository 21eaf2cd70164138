// Compares this build of the relay with others in one run: what an inbound frame and a delivery cost.

import { basename } from 'node:path';
import { type Claim, type Comparison, compare, linesOfSides } from '../experiments/comparison.js';
import { forthAndBack, playContest } from '../experiments/contest.js';
import { cast, type Lineup, RELAY, withLineup } from '../experiments/lineup.js';
import { noiseOf } from '../figures/doubts.js';
import type { Contest } from '../generator/loads/contest.js';
import type { Piece } from '../generator/stage.js';
import { linesOfConditions } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';
import type { FleetOptions } from '../servers/users.js';

/** One load that all builds play in turns. */
interface Load {
  readonly title: string;
  readonly per: 'delivery' | 'inbound frame';
  readonly fleet: FleetOptions;
  readonly piece: Piece;
  readonly rounds: number;
}

const AUDIENCE = { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 };
/** Rounds in which code is compiled and heaps grow. */
const WARM_UP = 2;
const FRAMES = { leadFrames: 10, frames: 25, isBurst: true };
const GROUPS = 40;
const MEMBERS = 50;

const LOADS: readonly Load[] = [
  {
    title: '400 talkers, no listeners',
    per: 'inbound frame',
    fleet: { users: 400, talkgroups: Array.from({ length: 400 }, () => 'open'), memberOf: (user) => [user] },
    piece: { ...FRAMES, talkers: 400 },
    rounds: 20,
  },
  {
    title: '1 talker, 1,000 listeners',
    per: 'delivery',
    fleet: { users: 1_001 },
    piece: { ...FRAMES, talkers: 1 },
    rounds: 30,
  },
  {
    title: '16 talkers in talkgroups of 50',
    per: 'delivery',
    fleet: {
      users: GROUPS * MEMBERS,
      talkgroups: Array.from({ length: GROUPS }, () => 'open'),
      memberOf: (user) => [Math.floor(user / MEMBERS)],
    },
    piece: { talkers: 16, leadFrames: 10, frames: 50, isBurst: false },
    rounds: 15,
  },
];

export async function builds(bench: Bench): Promise<Report> {
  if (bench.against.length === 0)
    throw new RangeError('AGAINST names no other checkout; separate several with commas');
  const others = Object.fromEntries(
    bench.against.map((folder, index) => [`build ${index + 1}, ${basename(folder)}`, folder]),
  );
  const names = [RELAY, ...Object.keys(others)];
  const claims = names.slice(1).map((to): Claim => ({ of: RELAY, to }));
  return withLineup(
    bench,
    names,
    async (lineup) => {
      const outcomes = [];
      for (const load of LOADS) outcomes.push(await contend(bench, lineup, load, claims));
      return {
        lines: outcomes.flatMap(({ load, contest, ...comparison }) => [
          load.title,
          ...linesOfSides(comparison, load.per),
          ...linesOfConditions(contest, 'frames'),
          '',
        ]),
        faults: outcomes.flatMap(({ faults }) => faults),
        noise: outcomes.map(({ load, contest, sides }) =>
          noiseOf(contest, 'frames', sides[0]?.latency.p99Ms ?? null, load.title),
        ),
        goals: outcomes.flatMap(({ load, goals }) =>
          goals.map((goal) => ({ ...goal, name: `${goal.name}: ${load.title}` })),
        ),
        plots: [],
        details: { load: LOADS, against: others },
      };
    },
    { builds: others },
  );
}

interface Outcome extends Comparison {
  readonly load: Load;
  readonly contest: Contest;
}

async function contend(bench: Bench, lineup: Lineup, load: Load, claims: readonly Claim[]): Promise<Outcome> {
  bench.progress(load.title);
  const names = lineup.map(({ name }) => name);
  const contest = await playContest(bench, {
    servers: await cast(lineup, load.fleet),
    audience: AUDIENCE,
    piece: load.piece,
    rounds: forthAndBack(names.length, load.rounds + WARM_UP),
    warmUpRounds: WARM_UP,
  });
  return { load, contest, ...compare(contest, { names, claims, per: load.per, ...AUDIENCE }) };
}
