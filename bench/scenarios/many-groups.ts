// A hundred talkgroups of 50, a talker in each: in how many may be talked at once before listeners hear late?

import { type Claim, type Comparison, compare, linesOfSides } from '../experiments/comparison.js';
import { forthAndBack, playContest } from '../experiments/contest.js';
import {
  BARE,
  cast,
  type Lineup,
  QUIET_RELAY,
  RELAY,
  settingsOf,
  withLineup,
} from '../experiments/lineup.js';
import { noiseOf } from '../figures/doubts.js';
import { columns, pairedRatios, quartiles, us } from '../figures/figures.js';
import { atLeast, watchedMedian } from '../figures/goals.js';
import { faultsOfGenerator } from '../figures/judge.js';
import type { Goal, Plot, Series } from '../figures/result.js';
import type { Capacity, CapacityTask } from '../generator/loads/capacity.js';
import type { Contest } from '../generator/loads/contest.js';
import { generateTogether } from '../generator/player.js';
import { type Conditions, linesOfRuns } from '../machine/conditions.js';
import type { Bench, Report } from '../scenario.js';

interface Plan {
  readonly talkgroups: number;
  readonly members: number;
  readonly audience: CapacityTask['audience'];
  /** Before each step 200 ms that do not count. */
  readonly piece: CapacityTask['piece'];
  readonly talkersFirst: number;
  readonly repeats: number;
  /** With what else than our relays and the engine. Fewer repeats, for it is far off. */
  readonly farRepeats: number;
  /** The moderate load, at which CPU per delivery is compared. */
  readonly talkers: number;
  readonly rounds: number;
}

const AUDIENCE = { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 };
const PLAN: Plan = {
  talkgroups: 100,
  members: 50,
  audience: AUDIENCE,
  piece: { leadFrames: 10, frames: 50, isBurst: false },
  talkersFirst: 16,
  repeats: 10,
  farRepeats: 5,
  talkers: 16,
  rounds: 9,
};
/** Fewer radios at twice the rate: as many deliveries, and less to connect. */
const QUICK: Plan = {
  talkgroups: 40,
  members: 30,
  audience: { ...AUDIENCE, framesPerSecond: 100 },
  piece: { leadFrames: 20, frames: 30, isBurst: false },
  talkersFirst: 16,
  repeats: 1,
  farRepeats: 0,
  talkers: 8,
  rounds: 3,
};

/** A frame period: later than this, the frame after it comes first. */
const P99_MS_MAX = 20;
/** One process may hold 20,000 sockets where limits are what they often are: three servers at a time. */
const CLOSE = [RELAY, QUIET_RELAY, BARE];
const FAR = [RELAY, 'ws'];
const CPU_CLAIMS: readonly Claim[] = [{ of: RELAY, to: BARE, atMost: 1.1 }];
const CAPACITY_CLAIMS: readonly { readonly of: string; readonly to: string; readonly atLeast?: number }[] = [
  { of: QUIET_RELAY, to: BARE, atLeast: 0.95 },
  { of: RELAY, to: BARE, atLeast: 0.9 },
  { of: RELAY, to: 'ws' },
];

/** The default window under load is longer than the bound. */
const NEVER_HELD = { LOAD_WINDOW_MS: '0' };

export function manyGroups(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : PLAN;
  const names = bench.isQuick ? [RELAY, BARE] : [...new Set([...CLOSE, ...FAR])];
  const run = async (lineup: Lineup) => {
    bench.progress(`CPU per delivery, ${plan.talkers} talkers`);
    const moderate = await contend(bench, only(lineup, CLOSE), plan);
    bench.progress('capacity of relay and engine');
    const heats = [await findLimits(bench, only(lineup, CLOSE), plan, plan.repeats)];
    if (!bench.isQuick) {
      bench.progress('capacity of relay and ws');
      heats.push(await findLimits(bench, only(lineup, FAR), plan, plan.farRepeats));
    }
    return reportOf({ plan, lineup, moderate, heats });
  };
  return withLineup(bench, names, run, { settings: NEVER_HELD });
}

const only = (lineup: Lineup, names: readonly string[]): Lineup =>
  lineup.filter(({ name }) => names.includes(name));

const seat = (lineup: Lineup, { talkgroups, members }: Plan) =>
  cast(lineup, {
    users: talkgroups * members,
    talkgroups: Array.from({ length: talkgroups }, () => 'open' as const),
    memberOf: (user) => [Math.floor(user / members)],
  });

interface Moderate extends Comparison {
  readonly contest: Contest;
}

async function contend(bench: Bench, lineup: Lineup, plan: Plan): Promise<Moderate> {
  const names = lineup.map(({ name }) => name);
  const contest = await playContest(bench, {
    servers: await seat(lineup, plan),
    audience: plan.audience,
    piece: { ...plan.piece, talkers: plan.talkers },
    rounds: forthAndBack(names.length, plan.rounds + 1),
    warmUpRounds: 1,
  });
  return { contest, ...compare(contest, { names, claims: CPU_CLAIMS, per: 'delivery', ...plan.audience }) };
}

/** What was found in one run of a generator. */
interface Heat extends Capacity {
  readonly names: readonly string[];
}

async function findLimits(bench: Bench, lineup: Lineup, plan: Plan, repeats: number): Promise<Heat> {
  const { audience, piece, talkersFirst, talkgroups } = plan;
  const capacity = await generateTogether<CapacityTask, Capacity>(
    new URL('../generator/loads/capacity.js', import.meta.url),
    {
      servers: await seat(lineup, plan),
      audience,
      piece,
      p99MsMax: P99_MS_MAX,
      talkersMax: talkgroups,
      talkersFirst,
      repeats,
    },
    bench,
  );
  return { names: lineup.map(({ name }) => name), ...capacity };
}

/** By repeat. */
function limitsOf({ names, limits }: Heat, name: string): ReadonlyMap<number, number> {
  const server = names.indexOf(name);
  return new Map(
    limits.filter((limit) => limit.server === server).map((limit) => [limit.repeat, limit.talkers]),
  );
}

interface Told {
  readonly plan: Plan;
  readonly lineup: Lineup;
  readonly moderate: Moderate;
  readonly heats: readonly Heat[];
}

function reportOf(told: Told): Report {
  const { plan, lineup, moderate, heats } = told;
  const conditions = conditionsOf(told);
  const faults = [
    ...moderate.faults,
    ...conditions.slice(1).flatMap((run) => faultsOfGenerator(run, run.name)),
    ...heats.flatMap((heat) => faultsOfLimits(heat, plan)),
  ];
  const capacities = namesOf(heats).map((name) => capacityOf(heats, name, plan));
  const promised = [...CAPACITY_CLAIMS.flatMap((claim) => goalsOf(heats, claim, faults)), ...moderate.goals];
  const line = columns(24, 22, 20);
  return {
    lines: [
      ...capacities.slice(0, 1).map(({ value }) => `capacity, deliveries a second  ${Math.round(value)}`),
      `CPU per delivery               ${us(moderate.sides[0]?.cpuUs.median ?? Number.NaN)}`,
      '',
      line('capacity', 'deliveries a second', 'quartiles'),
      ...capacities.map(({ server, value, low = value, high = value }) =>
        line(server, `${Math.round(value)}`, `${Math.round(low)} to ${Math.round(high)}`),
      ),
      '',
      ...linesOfSides(moderate, 'delivery'),
      '',
      ...linesOfRuns(conditions, 'frames'),
    ],
    faults,
    // Capacity is where the latency reaches P99_MS_MAX.
    noise: conditions.map((run) => noiseOf(run, 'frames', P99_MS_MAX, run.name)),
    goals: [...capacities.map(({ server: _, ...goal }) => goal), ...promised],
    plots: [plotOf(heats, plan)],
    details: {
      load: { ...plan, p99MsMax: P99_MS_MAX },
      settings: settingsOf(lineup),
      heats,
      moderate: { sides: moderate.sides, turns: moderate.contest.turns },
    },
  };
}

const namesOf = (heats: readonly Heat[]) => [...new Set(heats.flatMap(({ names }) => names))];

function conditionsOf({ moderate, heats }: Told): readonly (Conditions & { readonly name: string })[] {
  return [
    { name: 'moderate load', ...moderate.contest },
    ...heats.map((heat) => ({ ...heat, name: heat.names.includes('ws') ? 'capacity, with ws' : 'capacity' })),
  ];
}

/** Of several repeats, over all heats the server was in. */
function capacityOf(
  heats: readonly Heat[],
  name: string,
  { members, audience }: Plan,
): Goal & { server: string } {
  const perTalker = (members - 1) * audience.framesPerSecond;
  const limits = heats.flatMap((heat) =>
    [...limitsOf(heat, name).values()].map((talkers) => talkers * perTalker),
  );
  return { server: name, ...watchedMedian(`capacity, ${name}`, quartiles(limits), 'deliveries/s') };
}

/** A limit that the load never reached, or that was below a single talker, is none. */
function faultsOfLimits({ names, limits }: Heat, { talkgroups }: Plan): string[] {
  return names.flatMap((name, server) => {
    const own = limits.filter((limit) => limit.server === server).map(({ talkers }) => talkers);
    if (own.includes(0)) return [`${name}: not even one talker was heard in time`];
    return own.includes(talkgroups) ? [`${name}: all talkers there are were not too many`] : [];
  });
}

function goalsOf(
  heats: readonly Heat[],
  { of, to, atLeast: least }: (typeof CAPACITY_CLAIMS)[number],
  faults: readonly string[],
): Goal[] {
  const heat = heats.find(({ names }) => names.includes(of) && names.includes(to));
  if (heat === undefined) return [];
  const ratios = quartiles(pairedRatios(limitsOf(heat, of), limitsOf(heat, to)));
  const goal = watchedMedian(`capacity, ${of} / ${to}`, ratios, '');
  return [least === undefined ? goal : atLeast(goal, least, faults)];
}

/** p99 of each number of talkers: the median of its steps. */
function plotOf(heats: readonly Heat[], { members, talkgroups }: Plan): Plot {
  const series = namesOf(heats).map((name): Series => {
    const p99Ms = new Map<number, number[]>();
    for (const { names, steps } of heats) {
      for (const step of steps) {
        if (names[step.server] !== name) continue;
        p99Ms.set(step.deliveriesPerSecond, [...(p99Ms.get(step.deliveriesPerSecond) ?? []), step.p99Ms]);
      }
    }
    const points = [...p99Ms].map(([rate, all]) => [rate, quartiles(all).median] as const);
    return { name, points: points.sort(([a], [b]) => a - b) };
  });
  return {
    kind: 'curve',
    title: `Throughput and latency: ${talkgroups} talkgroups of ${members}`,
    note: `p99 latency at what is asked of the server; beyond ${P99_MS_MAX} ms, or with a loss, it is too much.`,
    x: { label: 'deliveries asked for', unit: '/s', scale: 'linear' },
    y: { label: 'p99 relay latency', unit: 'ms', scale: 'log' },
    series,
  };
}
