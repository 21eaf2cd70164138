// A hundred talkgroups of 50, all talked in at once: what do the lag pings add to latency and to CPU time?

import { type Claim, type Comparison, compare, linesOfSides, plotsOf } from '../experiments/comparison.js';
import { forthAndBack, playContest } from '../experiments/contest.js';
import {
  BARE,
  cast,
  type Lineup,
  PINGING,
  QUIET_RELAY,
  RELAY,
  settingsOf,
  withLineup,
} from '../experiments/lineup.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, ms, pairedRatios, quartiles, ratio, us } from '../figures/figures.js';
import { atMost, watchedMedian } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import type { Goal } from '../figures/result.js';
import type { Contest, ContestTask, Played } from '../generator/loads/contest.js';
import type { Contender } from '../generator/stage.js';
import { type Conditions, linesOfRuns } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';

interface Plan {
  readonly talkgroups: number;
  readonly members: number;
  readonly audience: ContestTask['audience'];
  /** For p99, with and without pings: two seconds of talk, behind 1.2 s that do not count. In more, a machine stalls. */
  readonly tailPiece: ContestTask['piece'];
  readonly tailRounds: number;
  /** For CPU time: eight seconds. In turns of two the relay costs some hundredths more than in one of thirty. */
  readonly piece: ContestTask['piece'];
  readonly rounds: number;
  /** Of the relay against the engine that pings: of its own, for one process holds no more than 20,000 sockets. */
  readonly pingingRounds: number;
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
  tailPiece: { talkers: 100, leadFrames: 12, frames: 20, isBurst: false },
  tailRounds: 15,
  piece: { talkers: 100, leadFrames: 12, frames: 80, isBurst: false },
  rounds: 5,
  pingingRounds: 5,
  freshPiece: { talkers: 100, leadFrames: 10, frames: 10, isBurst: false },
  freshRounds: 7,
};
const QUICK: Plan = {
  ...PLAN,
  talkgroups: 30,
  tailRounds: 3,
  piece: PLAN.tailPiece,
  rounds: 3,
  pingingRounds: 0,
  freshRounds: 0,
};

/** Who plays in which contest, in the order of the lineup. */
const TAIL = [RELAY, QUIET_RELAY];
const STEADY = [RELAY, QUIET_RELAY, BARE];
const BESIDE = [RELAY, PINGING];

/** A ping and its pong cost the engine itself as much as one and a half to two deliveries. */
const CPU_CLAIMS: readonly Claim[] = [
  { of: QUIET_RELAY, to: BARE, atMost: 1.1 },
  { of: RELAY, to: BARE },
];
const PINGING_CLAIMS: readonly Claim[] = [{ of: RELAY, to: PINGING, atMost: 1.1 }];
/** p99 as shipped over p99 without the pings. */
const P99_RATIO_MAX = 1.5;
/**
 * A turn in which a frame left later than this is in no ratio of p99: the generator stood still, or the machine did. On
 * a shared machine that is every third turn, and its p99 tells how long.
 */
const LATE_MS_MAX = 10;
/** Pairs with both turns calm. Fewer cannot tell. */
const PAIRS_MIN = 3;

export function lagPings(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : PLAN;
  return withLineup(bench, [...STEADY, PINGING], async (lineup) => {
    const servers = await cast(lineup, {
      users: plan.talkgroups * plan.members,
      talkgroups: Array.from({ length: plan.talkgroups }, () => 'open' as const),
      memberOf: (user) => [Math.floor(user / plan.members)],
    });
    bench.progress(`${plan.talkgroups} talkgroups of ${plan.members}, a talker in each`);
    const playing = (names: readonly string[]) =>
      servers.filter((_, server) => names.includes(lineup[server]?.name ?? ''));
    const turns = (names: readonly string[], piece: ContestTask['piece'], rounds: number) =>
      contend(bench, plan, playing(names), inTurns(piece, names.length, rounds));
    const tail = await turns(TAIL, plan.tailPiece, plan.tailRounds);
    const steady = await turns(STEADY, plan.piece, plan.rounds);
    const beside = plan.pingingRounds === 0 ? null : await turns(BESIDE, plan.piece, plan.pingingRounds);
    const fresh = await connectAnew(bench, plan, servers);
    return reportOf({ plan, lineup, tail, steady, beside, fresh });
  });
}

/** Forth and back, behind one round to warm up. */
function inTurns(piece: ContestTask['piece'], servers: number, rounds: number): Order {
  return { piece, rounds: forthAndBack(servers, rounds + 1), warmUpRounds: 1 };
}

type Order = Pick<ContestTask, 'piece' | 'rounds' | 'warmUpRounds'>;

const contend = (bench: Bench, { audience }: Plan, servers: readonly Contender[], order: Order) =>
  playContest(bench, { servers, audience, ...order });

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
  readonly tail: Contest;
  readonly steady: Contest;
  /** The relay against the engine that pings. */
  readonly beside: Contest | null;
  readonly fresh: readonly Fresh[];
}

function reportOf({ plan, lineup, tail, steady, beside, fresh }: Told): Report {
  const compared = compare(steady, { names: STEADY, claims: CPU_CLAIMS, per: 'delivery', ...plan.audience });
  const pinging =
    beside && compare(beside, { names: BESIDE, claims: PINGING_CLAIMS, per: 'delivery', ...plan.audience });
  const conditions = conditionsOf({ tail, steady, beside, fresh });
  const faults = [
    ...compared.faults,
    ...(pinging?.faults ?? []),
    ...conditions.slice(1).flatMap((run) => faultsOfGenerator(run, run.name)),
  ];
  const late = [
    p99Goal('p99, with lag pings / without', p99Of(tail.turns), faults),
    ...(fresh.length === 0 ? [] : [p99Goal('p99 just connected, with / without', freshP99(fresh), faults)]),
  ];
  const goals = [...late, ...compared.goals, ...(pinging?.goals ?? [])];
  const title = `${plan.talkgroups} talkgroups of ${plan.members}, all talked in`;
  return {
    lines: [
      `p99 relay latency  ${ms(compared.sides[0]?.latency.p99Ms ?? Number.NaN)}`,
      `CPU per delivery   ${us(compared.sides[0]?.cpuUs.median ?? Number.NaN)}`,
      '',
      ...linesOfSides(compared, 'delivery'),
      ...(pinging === null ? [] : ['', ...linesOfSides(pinging, 'delivery')]),
      '',
      lineOfLeftOut(tail.turns),
      ...linesOfFresh(fresh),
      ...linesOfRuns(conditions, 'frames'),
    ],
    faults,
    noise: conditions.map((run) =>
      noiseOf(run, 'frames', compared.sides[0]?.latency.p99Ms ?? null, run.name),
    ),
    goals,
    plots: plotsOf(compared, title),
    details: {
      load: plan,
      settings: settingsOf(lineup),
      sides: compared.sides satisfies Comparison['sides'],
      turns: steady.turns,
      tail: tail.turns,
      ...(beside !== null && { pinging: { sides: pinging?.sides, turns: beside.turns } }),
      fresh: fresh.map(({ name, round, contest }) => ({ name, round, turns: contest.turns })),
    },
  };
}

function conditionsOf({
  tail,
  steady,
  beside,
  fresh,
}: Pick<Told, 'tail' | 'steady' | 'beside' | 'fresh'>): (Conditions & { readonly name: string })[] {
  return [
    { name: 'steady', ...steady },
    { name: 'for p99', ...tail },
    ...(beside === null ? [] : [{ name: 'beside the engine that pings', ...beside }]),
    ...fresh.map(({ name, round, contest }) => ({
      ...contest,
      name: `just connected ${round + 1}, ${name}`,
    })),
  ];
}

const isCalm = ({ lateMs, isWhole }: Played): boolean => isWhole && lateMs <= LATE_MS_MAX;

function lineOfLeftOut(turns: readonly Played[]): string {
  const of = (name: string) => turns.filter(({ server }) => TAIL[server] === name);
  const leftOut = [RELAY, QUIET_RELAY].map(
    (name) => `${of(name).filter((turn) => !isCalm(turn)).length} of ${of(name).length} (${name})`,
  );
  return `turns left out of p99, for a frame left more than ${LATE_MS_MAX} ms late: ${leftOut.join(', ')}`;
}

/** p99 of each calm turn of a server, by round. */
type ByRound = ReadonlyMap<number, number>;

/** With pings, and without. */
type Pair = readonly [ByRound, ByRound];

function p99Of(turns: readonly Played[]): Pair {
  const of = (name: string) =>
    new Map(
      turns
        .filter((turn) => TAIL[turn.server] === name && isCalm(turn))
        .map(({ round, p99Ms }) => [round, p99Ms]),
    );
  return [of(RELAY), of(QUIET_RELAY)];
}

function freshP99(fresh: readonly Fresh[]): Pair {
  const of = (wanted: string) =>
    new Map(
      fresh
        .filter(({ name }) => name === wanted)
        .flatMap(({ round, contest }) =>
          contest.turns.filter(isCalm).map(({ p99Ms }) => [round, p99Ms] as const),
        ),
    );
  return [of(RELAY), of(QUIET_RELAY)];
}

function p99Goal(name: string, [withPings, without]: Pair, faults: readonly string[]): Goal {
  const ratios = pairedRatios(withPings, without);
  const goal = watchedMedian(name, quartiles(ratios), '');
  return atMost(goal, P99_RATIO_MAX, ratios.length < PAIRS_MIN ? null : faults);
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
