// Turns a contest into figures: the cost of a delivery on each server, compared turn by turn.
import { columns, ms, pairedRatios, percent, type Quartiles, quartiles, us } from '../figures/figures.js';
import { faultsOfDelivery, faultsOfGenerator, judge } from '../figures/judge.js';
import { percentilesOf } from '../figures/plots.js';
import type { Goal, Plot } from '../figures/result.js';
import type { Contest, Played } from '../generator/loads/contest.js';
import type { Heard } from '../radios/listeners.js';

/** The ratio of CPU time that one server may need at most of what another needs, both by name. */
export interface Claim {
  readonly of: string;
  readonly to: string;
  /** What the ratio is divided by: the ratio that this server has to the same other one in the same run. */
  readonly over?: string;
  /** Without it the ratio is only watched. */
  readonly atMost?: number;
}

export interface ComparisonOptions {
  /** Of the servers, in the order of the contest. Ours, by which the run stands and falls, is the first. */
  readonly names: readonly string[];
  /** Those of servers that did not play are left out. */
  readonly claims: readonly Claim[];
  /** What is paid for: `delivery` to a listener, or `inbound frame` that no listener hears. */
  readonly per: 'delivery' | 'inbound frame';
  readonly framesPerSecond: number;
}

/** One server over all its turns. */
export interface Side extends Heard {
  readonly name: string;
  /** CPU microseconds per delivery or frame, over the turns. */
  readonly cpuUs: Quartiles;
  /** Of a core, while it relays: at 1 and more it cannot keep up, and its listeners hear later and later. */
  readonly coreShare: number;
  /** Turns whose frames did not all arrive in time. They are in no ratio. */
  readonly unfinished: number;
  readonly faults: readonly string[];
}

export interface Comparison {
  readonly sides: readonly Side[];
  readonly goals: readonly Goal[];
  /** Of the run. What went wrong on a peer is in its side, and leaves only its own ratios open. */
  readonly faults: readonly string[];
}

export function compare(contest: Contest, options: ComparisonOptions): Comparison {
  const { names, claims, per } = options;
  const cost = per === 'delivery' ? costOfDelivery : costOfFrame;
  const sides = names.map((name, server) => sideOf(contest, { ...options, name, server, cost }));
  const faults = [...(sides[0]?.faults ?? []), ...faultsOfGenerator(contest)];
  const costs = (name: string) => costsOf(contest.turns, names.indexOf(name), cost);
  const ratioOf = (of: string, to: string) => quartiles(pairedRatios(costs(of), costs(to)));
  const goals = claims.flatMap(({ of, to, over, ...target }): Goal[] => {
    const playing = [of, to, over ?? of].map((name) => sides.find((side) => side.name === name));
    if (playing.includes(undefined)) return [];
    const { low, median, high } = ratioOf(of, to);
    const unit = over === undefined ? 1 : ratioOf(over, to).median;
    const { atMost } = target;
    const faultsOfThese = [...faults, ...playing.flatMap((side) => side?.faults ?? [])];
    const isMet = atMost === undefined ? null : judge(faultsOfThese, median / unit <= atMost);
    const name = `CPU per ${per}, ${of} / ${to}${over === undefined ? '' : `, over ${over} / ${to}`}`;
    return [{ name, value: median / unit, low: low / unit, high: high / unit, unit: '', ...target, isMet }];
  });
  return { sides, goals, faults };
}

type Cost = (turn: Played) => number;
const costOfDelivery: Cost = ({ cpuUs, delivered }) => cpuUs / delivered;
const costOfFrame: Cost = ({ cpuUs, frames }) => cpuUs / frames;

interface SideOptions extends Pick<ComparisonOptions, 'framesPerSecond'> {
  readonly name: string;
  readonly server: number;
  readonly cost: Cost;
}

function sideOf({ turns, heard }: Contest, options: SideOptions): Side {
  const { name, server, cost, framesPerSecond } = options;
  const own = turns.filter((turn) => turn.server === server);
  const whole = own.filter(({ isWhole }) => isWhole);
  const sum = heard[server];
  if (sum === undefined) throw new RangeError(`nothing was heard of ${name}`);
  const unfinished = own.length - whole.length;
  return {
    name,
    cpuUs: quartiles(whole.map(cost)),
    // As much as it would need each second, were a turn to go on for ever.
    coreShare: quartiles(
      whole.map(({ cpuUs, frames, talkers }) => (cpuUs / frames) * talkers * framesPerSecond * 1e-6),
    ).median,
    unfinished,
    faults: [
      ...faultsOfDelivery(sum, name),
      ...(unfinished > 0 ? [`${name}: ${unfinished} turns were not over in time`] : []),
    ],
    ...sum,
  };
}

/** Of the turns that were over in time, by round. */
function costsOf(turns: readonly Played[], wanted: number, cost: Cost): ReadonlyMap<number, number> {
  const whole = turns.filter(({ server, isWhole }) => server === wanted && isWhole);
  return new Map(whole.map((turn) => [turn.round, cost(turn)]));
}

/** A line for each server. */
export function linesOfSides({ sides }: Comparison, per: ComparisonOptions['per']): string[] {
  const line = columns(24, 16, 12);
  return [
    line('', `CPU / ${per === 'delivery' ? per : 'frame'}`, 'of a core', 'p50', 'p99', 'p99.9', 'longest'),
    ...sides.map(({ name, cpuUs, coreShare, latency }) => {
      const { count, p50Ms, p99Ms, p999Ms, maxMs } = latency;
      const late = count === 0 ? [] : [p50Ms, p99Ms, p999Ms, maxMs].map(ms);
      return line(name, us(cpuUs.median), percent(coreShare), ...late);
    }),
  ];
}

export function plotsOf({ sides }: Comparison, title: string): Plot[] {
  return [
    percentilesOf(
      `Relay latency: ${title}`,
      'From when a frame should have left the talker to when a listener had it in hand. A server that needs more than a core shows here only how far it fell behind within a turn.',
      sides.map(({ name, latency }) => [name, latency]),
    ),
    {
      kind: 'bars',
      title: `CPU per delivery: ${title}`,
      note: 'CPU time of the server process, kernel included, for each frame that a listener received: median of the turns, and quartiles.',
      unit: 'µs',
      bars: sides.map(({ name, cpuUs }) => ({ name, value: cpuUs.median, low: cpuUs.low, high: cpuUs.high })),
    },
  ];
}
