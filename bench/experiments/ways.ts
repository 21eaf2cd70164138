// The same audio given live and held (docs/protocol.md, section 2), in turns on one relay: what a delivery costs, and
// how late it is.

import { noiseOf } from '../figures/doubts.js';
import { columns, ms, pairedRatios, quartiles, us } from '../figures/figures.js';
import { atMost, watched, watchedMedian } from '../figures/goals.js';
import { faultsOfDelivery, faultsOfGenerator } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { WaysPlayed, WaysTask, WayTurn } from '../generator/loads/ways.js';
import { sumOf } from '../generator/stage.js';
import { linesOfConditions } from '../machine/conditions.js';
import type { Audience } from '../radios/channel.js';
import type { Heard } from '../radios/listeners.js';
import type { Bench, Report } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import { enlist } from '../servers/users.js';
import { forthAndBack } from './contest.js';

export interface Plan {
  readonly title: string;
  /** What SUBSCRIBE says beside ids and mode, by the name of the way. The first is what the others are compared with. */
  readonly ways: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Of each way, each with one talker. Every listener hears all of them. */
  readonly talkgroups: number;
  readonly listeners: number;
  readonly audience: Audience;
  readonly leadFrames: number;
  readonly frames: number;
  readonly rounds: number;
  readonly warmUpRounds: number;
  /** Of the ways behind the first, by name. */
  readonly ratioAtMost: Readonly<Record<string, number>>;
  readonly p99MsAtMost: Readonly<Record<string, number>>;
}

const SETTINGS = { LOG_LEVEL: 'warn' };

export function playWays(bench: Bench, plan: Plan): Promise<Report> {
  return bench.withRelay(SETTINGS, async (relay) => {
    bench.progress(`${plan.title}: ${Object.keys(plan.ways).join(', ')}`);
    const load = new URL('../generator/loads/ways.js', import.meta.url);
    const task = await taskOf(relay, plan);
    const played = await bench.generate<WaysTask, WaysPlayed>(load, task);
    return reportOf(plan, played);
  });
}

async function taskOf(relay: Relay, plan: Plan): Promise<WaysTask> {
  const { ways, talkgroups, listeners, audience, leadFrames, frames, rounds, warmUpRounds } = plan;
  const names = Object.keys(ways);
  const each = talkgroups + listeners;
  const all = Array.from({ length: talkgroups }, (_, talkgroup) => talkgroup);
  const users = await enlist(relay, {
    users: names.length * each,
    talkgroups: names.flatMap(() => all.map(() => 'open' as const)),
    memberOf(user) {
      const first = Math.floor(user / each) * talkgroups;
      const place = user % each;
      return place < talkgroups ? [first + place] : all.map((talkgroup) => first + talkgroup);
    },
  });
  const { url, dialect, pid } = relay;
  return {
    target: { url, dialect },
    pid,
    ways: names.map((name, way) => ({
      talkers: users.slice(way * each, way * each + talkgroups),
      listeners: users.slice(way * each + talkgroups, (way + 1) * each),
      subscribe: ways[name] ?? {},
    })),
    ...{ audience, leadFrames, frames, warmUpRounds },
    rounds: forthAndBack(names.length, warmUpRounds + rounds),
  };
}

/** One way over all its turns. */
interface Side {
  readonly name: string;
  /** CPU microseconds for each delivered frame, by round. */
  readonly costs: ReadonlyMap<number, number>;
  readonly sum: Heard;
}

function sideOf(name: string, turns: readonly WayTurn[]): Side {
  const costs = new Map(turns.map(({ round, cpuUs, delivered }) => [round, cpuUs / delivered]));
  return { name, costs, sum: sumOf(turns) };
}

function reportOf(plan: Plan, played: WaysPlayed): Report {
  const names = Object.keys(plan.ways);
  const sides = names.map((name, way) =>
    sideOf(
      name,
      played.turns.filter((turn) => turn.way === way),
    ),
  );
  const faults = [
    ...sides.flatMap(({ name, sum }) => faultsOfDelivery(sum, name)),
    ...faultsOfGenerator(played),
  ];
  const goals = sides.slice(1).flatMap((side) => goalsOf(plan, sides, side, faults));
  const { title, ...load } = plan;
  return {
    lines: [...linesOfSides(sides), '', ...linesOfConditions(played, 'frames')],
    faults,
    noise: [noiseOf(played, 'frames', sides[0]?.sum.latency.p99Ms ?? null)],
    goals,
    plots: plotsOf(title, sides),
    details: {
      load,
      settings: SETTINGS,
      turns: played.turns.map(({ latency: _, ...turn }) => ({ ...turn, way: names[turn.way] })),
      latencies: Object.fromEntries(sides.map(({ name, sum }) => [name, sum.latency])),
    },
  };
}

function goalsOf(plan: Plan, [first]: readonly Side[], side: Side, faults: readonly string[]): Goal[] {
  const { name, costs, sum } = side;
  const ratios = quartiles(pairedRatios(costs, first?.costs ?? new Map()));
  const ratio = watchedMedian(`CPU per delivered frame, ${name} / ${first?.name}`, ratios, '');
  const p99 = watched(`p99 relay latency, ${name}`, sum.latency.p99Ms, 'ms');
  const judged = (goal: Goal, most: number | undefined) =>
    most === undefined ? goal : atMost(goal, most, faults);
  return [judged(ratio, plan.ratioAtMost[name]), judged(p99, plan.p99MsAtMost[name])];
}

function linesOfSides(sides: readonly Side[]): string[] {
  const line = columns(24, 16, 12);
  return [
    line('', 'CPU / delivery', 'p50', 'p99', 'p99.9', 'longest'),
    ...sides.map(({ name, costs, sum: { latency } }) => {
      const { p50Ms, p99Ms, p999Ms, maxMs } = latency;
      return line(name, us(quartiles([...costs.values()]).median), ...[p50Ms, p99Ms, p999Ms, maxMs].map(ms));
    }),
  ];
}

const plotsOf = (title: string, sides: readonly Side[]): Plot[] => [
  {
    kind: 'bars',
    title: `CPU per delivered frame: ${title}`,
    note: 'CPU time of the server, kernel included, for each frame that a listener received: median of the turns, and quartiles.',
    unit: 'µs',
    bars: sides.map(({ name, costs }) => {
      const { low, median, high } = quartiles([...costs.values()]);
      return { name, value: median, low, high };
    }),
  },
  percentilesOf(
    `Relay latency: ${title}`,
    'From when a frame should have left the talker to when a listener had it in hand; what is held waits for its window, or for the rest of its bundle.',
    sides.map(({ name, sum }) => [name, sum.latency]),
  ),
];
