// A hundred talkgroups of 50, all talked in at once: what do the lag pings add to latency and to CPU time?
import { type Claim, type Comparison, compare, linesOfSides, plotsOf } from '../comparison.js';
import { type Conditions, linesOfRuns } from '../conditions.js';
import { columns, ms, pairedRatios, quartiles, ratio, us } from '../figures.js';
import { generateTogether } from '../generator.js';
import { BARE, cast, type Lineup, QUIET_RELAY, RELAY, settingsOf, withLineup } from '../lineup.js';
import type { Contest, ContestTask, Played } from '../loads/contest.js';
import type { Goal } from '../result.js';
import type { Bench, Report } from '../scenario.js';
import type { Contender } from '../stage.js';
import { faultsOfGenerator, judge, linesOfFaults, linesOfGoals } from '../verdict.js';

interface Plan {
  readonly talkgroups: number;
  readonly members: number;
  readonly audience: ContestTask['audience'];
  /** Two seconds of talk, behind 1.2 s that do not count. */
  readonly piece: ContestTask['piece'];
  readonly rounds: number;
  /** The second second of talk, by radios that have all connected just before. */
  readonly freshPiece: ContestTask['piece'];
  readonly freshRounds: number;
}

/** Every listener reads at once: what sinks that read five times a second do to the generator is 40 ms of latency here. */
const AUDIENCE = { probeEvery: 1, framesPerSecond: 10, payloadBytes: 60, phases: 20 };
const PLAN: Plan = {
  talkgroups: 100,
  members: 50,
  audience: AUDIENCE,
  piece: { talkers: 100, leadFrames: 12, frames: 20, isBurst: false },
  rounds: 11,
  freshPiece: { talkers: 100, leadFrames: 10, frames: 10, isBurst: false },
  freshRounds: 7,
};
const QUICK: Plan = { ...PLAN, talkgroups: 30, rounds: 3, freshRounds: 0 };

const CPU_CLAIMS: readonly Claim[] = [
  { of: RELAY, to: BARE, atMost: 1.1 },
  { of: QUIET_RELAY, to: BARE },
];
/** p99 as shipped over p99 without the pings. */
const P99_RATIO_MAX = 1.5;

export function lagPings(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : PLAN;
  return withLineup(bench, [RELAY, QUIET_RELAY, BARE], async (lineup) => {
    const servers = await cast(lineup, {
      users: plan.talkgroups * plan.members,
      talkgroups: Array.from({ length: plan.talkgroups }, () => 'open' as const),
      memberOf: (user) => [Math.floor(user / plan.members)],
    });
    bench.progress(`${plan.talkgroups} talkgroups of ${plan.members}, a talker in each`);
    const forth = [...servers.keys()];
    const steady = await contend(bench, plan, servers, {
      piece: plan.piece,
      rounds: Array.from({ length: plan.rounds + 1 }, (_, i) => (i % 2 === 0 ? forth : forth.toReversed())),
      warmUpRounds: 1,
    });
    return reportOf({ plan, lineup, steady, fresh: await connectAnew(bench, plan, servers) });
  });
}

type Order = Pick<ContestTask, 'piece' | 'rounds' | 'warmUpRounds'>;

const contend = (bench: Bench, { audience }: Plan, servers: readonly Contender[], order: Order) =>
  generateTogether<ContestTask, Contest>(
    new URL('../loads/contest.js', import.meta.url),
    { servers, audience, ...order },
    bench,
  );

/** What one server's radios heard right after all of them had connected. */
interface Fresh {
  readonly name: string;
  readonly round: number;
  readonly contest: Contest;
}

/** With and without pings in turns, each time by a generator of its own, whose radios have only just connected. */
async function connectAnew(
  bench: Bench,
  plan: Plan,
  [relay, quiet]: readonly Contender[],
): Promise<readonly Fresh[]> {
  const played: Fresh[] = [];
  const order = { piece: plan.freshPiece, rounds: [[0]], warmUpRounds: 0 };
  for (let round = 0; round < plan.freshRounds; round++) {
    bench.progress(`just connected, ${round + 1} of ${plan.freshRounds}`);
    for (const [name, server] of [
      [RELAY, relay],
      [QUIET_RELAY, quiet],
    ] as const) {
      if (server !== undefined)
        played.push({ name, round, contest: await contend(bench, plan, [server], order) });
    }
  }
  return played;
}

interface Told {
  readonly plan: Plan;
  readonly lineup: Lineup;
  readonly steady: Contest;
  readonly fresh: readonly Fresh[];
}

function reportOf({ plan, lineup, steady, fresh }: Told): Report {
  const names = lineup.map(({ name }) => name);
  const compared = compare(steady, { names, claims: CPU_CLAIMS, per: 'delivery', ...plan.audience });
  const conditions = conditionsOf(steady, fresh);
  const faults = [
    ...compared.faults,
    ...conditions.slice(1).flatMap((run) => faultsOfGenerator(run, run.name)),
  ];
  const late = [
    p99Goal('p99, with lag pings / without', p99Of(steady.turns, names), faults),
    ...(fresh.length === 0 ? [] : [p99Goal('p99 just connected, with / without', freshP99(fresh), faults)]),
  ];
  const goals = [...late, ...compared.goals];
  const title = `${plan.talkgroups} talkgroups of ${plan.members}, all talked in`;
  return {
    lines: [
      `p99 relay latency  ${ms(compared.sides[0]?.latency.p99Ms ?? Number.NaN)}`,
      `CPU per delivery   ${us(compared.sides[0]?.cpuUs.median ?? Number.NaN)}`,
      '',
      ...linesOfFaults(faults),
      ...linesOfSides(compared, 'delivery'),
      '',
      ...linesOfFresh(fresh),
      ...linesOfGoals(goals),
      '',
      ...linesOfRuns(conditions, 'frames'),
      'limits raised: none',
    ],
    faults,
    goals,
    plots: plotsOf(compared, title),
    details: {
      load: plan,
      settings: settingsOf(lineup),
      sides: compared.sides satisfies Comparison['sides'],
      turns: steady.turns,
      fresh: fresh.map(({ name, round, contest }) => ({ name, round, turns: contest.turns })),
    },
  };
}

function conditionsOf(steady: Contest, fresh: readonly Fresh[]): (Conditions & { readonly name: string })[] {
  return [
    { name: 'steady', ...steady },
    ...fresh.map(({ name, round, contest }) => ({
      ...contest,
      name: `just connected ${round + 1}, ${name}`,
    })),
  ];
}

/** p99 of each turn of a server, by round. */
type ByRound = ReadonlyMap<number, number>;

/** With pings, and without. */
type Pair = readonly [ByRound, ByRound];

function p99Of(turns: readonly Played[], names: readonly string[]): Pair {
  const of = (name: string) =>
    new Map(
      turns
        .filter(({ server, isWhole }) => names[server] === name && isWhole)
        .map(({ round, p99Ms }) => [round, p99Ms]),
    );
  return [of(RELAY), of(QUIET_RELAY)];
}

function freshP99(fresh: readonly Fresh[]): Pair {
  const of = (wanted: string) =>
    new Map(
      fresh
        .filter(({ name }) => name === wanted)
        .flatMap(({ round, contest }) => contest.turns.map(({ p99Ms }) => [round, p99Ms] as const)),
    );
  return [of(RELAY), of(QUIET_RELAY)];
}

function p99Goal(name: string, [withPings, without]: Pair, faults: readonly string[]): Goal {
  const { low, median, high } = quartiles(pairedRatios(withPings, without));
  const isMet = judge(faults, median <= P99_RATIO_MAX);
  return { name, value: median, low, high, unit: '', atMost: P99_RATIO_MAX, isMet };
}

function linesOfFresh(fresh: readonly Fresh[]): string[] {
  if (fresh.length === 0) return [];
  const line = columns(24, 16);
  const [withPings, without] = freshP99(fresh);
  const medianOf = (all: ByRound) => ms(quartiles([...all.values()]).median);
  return [
    line('just connected', 'p99, median'),
    line(RELAY, medianOf(withPings)),
    line(QUIET_RELAY, medianOf(without)),
    `ratio of pairs: ${ratio(quartiles(pairedRatios(withPings, without)))}`,
    '',
  ];
}
