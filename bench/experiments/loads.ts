// Three loads that show the cost of a frame to a relay: frames that no listener hears, one talker, many talkgroups.

import { noiseOf } from '../figures/doubts.js';
import type { Goal } from '../figures/result.js';
import type { Contest } from '../generator/loads/contest.js';
import type { Piece } from '../generator/stage.js';
import { linesOfConditions } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';
import type { FleetOptions } from '../servers/users.js';
import { type Claim, type Comparison, compare, linesOfSides } from './comparison.js';
import { forthAndBack, playContest } from './contest.js';
import { cast, type Lineup } from './lineup.js';

/** One load that all servers play in turns. */
export interface Load {
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

export const UNHEARD: Load = {
  title: '400 talkers, no listeners',
  per: 'inbound frame',
  fleet: { users: 400, talkgroups: Array.from({ length: 400 }, () => 'open'), memberOf: (user) => [user] },
  piece: { ...FRAMES, talkers: 400 },
  rounds: 20,
};

export const ONE_TALKER: Load = {
  title: '1 talker, 1,000 listeners',
  per: 'delivery',
  fleet: { users: 1_001 },
  piece: { ...FRAMES, talkers: 1 },
  rounds: 30,
};

export const TALKGROUPS: Load = {
  title: '16 talkers in talkgroups of 50',
  per: 'delivery',
  fleet: {
    users: GROUPS * MEMBERS,
    talkgroups: Array.from({ length: GROUPS }, () => 'open'),
    memberOf: (user) => [Math.floor(user / MEMBERS)],
  },
  piece: { talkers: 16, leadFrames: 10, frames: 50, isBurst: false },
  rounds: 15,
};

export interface Outcome extends Comparison {
  readonly load: Load;
  readonly contest: Contest;
}

/** All servers play the load in turns, forth and back. The first is ours, by which the run stands and falls. */
export async function playLoad(
  bench: Bench,
  lineup: Lineup,
  { load, claims }: { readonly load: Load; readonly claims: readonly Claim[] },
): Promise<Outcome> {
  bench.progress(load.title);
  const names = lineup.map(({ name }) => name);
  const contest = await playContest(bench, {
    servers: await cast(lineup, load.fleet),
    audience: AUDIENCE,
    piece: load.piece,
    rounds: forthAndBack(names.length, (bench.isQuick ? 2 : load.rounds) + WARM_UP),
    warmUpRounds: WARM_UP,
  });
  return { load, contest, ...compare(contest, { names, claims, per: load.per, ...AUDIENCE }) };
}

/** What a report says of all loads that were played. */
export function reportOfLoads(outcomes: readonly Outcome[]): Required<
  Pick<Report, 'lines' | 'faults' | 'noise'>
> & {
  readonly goals: readonly Goal[];
} {
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
  };
}
