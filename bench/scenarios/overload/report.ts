// Tells what the servers carried until speech broke: a line for each step, the capacities, their ratios and the plots.
import { type Ascent, isGeneratorsLimit, type Speech } from '../../experiments/ascent.js';
import { highestOf, type Rung } from '../../experiments/ladder.js';
import { BARE, type Lineup, settingsOf, windowed } from '../../experiments/lineup.js';
import { type Noise, noiseOf } from '../../figures/doubts.js';
import { columns, ms, pairedRatios, percent, quartiles, us } from '../../figures/figures.js';
import { atLeast, watched, watchedMedian } from '../../figures/goals.js';
import { mergeLatencies } from '../../figures/histogram.js';
import { faultsOfDelivery } from '../../figures/judge.js';
import type { Goal, Plot, Series } from '../../figures/result.js';
import type { Step, StepsSetup } from '../../generator/loads/steps.js';
import type { Report } from '../../scenario.js';

export interface Plan {
  /** At most. There are as many as the largest load needs. */
  readonly talkgroups: number;
  readonly members: number;
  readonly audience: StepsSetup['audience'];
  readonly piece: StepsSetup['piece'];
  readonly windowsMs: readonly number[];
  /** The search for the capacity of the bare engine begins with so many. */
  readonly talkersFirst: number;
  /** Each load of the search is so many times the one before, first coarse and then fine. 1: there is no fine search. */
  readonly coarse: number;
  readonly fine: number;
  /** Loads, in multiples of that capacity. */
  readonly multiples: readonly number[];
  /** Of a core: the load at which a window must make no difference, because the relay holds nothing. */
  readonly calmShare: number;
  readonly calmRounds: number;
}

/** A step, and what the relay says about it. null: it is no relay. */
export interface Played extends Step {
  /** How often it paused the audio of a receiver meanwhile. */
  readonly lagged: number | null;
  /** The window at the end of it. */
  readonly windowMs: number | null;
}

/** A step below the load, in turns. */
export interface Round {
  readonly round: number;
  readonly name: string;
  readonly step: Played;
}

/** What the bare engine carried when it played alone. */
export interface Search {
  readonly talkers: number;
  readonly rungs: readonly Rung<Played>[];
}

export interface Told {
  readonly plan: Plan;
  readonly speech: Speech;
  readonly lineup: Lineup;
  readonly search: Search;
  readonly calm: readonly Round[];
  readonly ascents: readonly Ascent<Played>[];
}

/** Of the relay over the bare engine. 2.5 is wanted. */
const RATIO_MIN = 2;
const JUDGED = [windowed(60), windowed(100)];

export function reportOf(told: Told): Report {
  const { plan, speech, lineup, search, ascents, calm } = told;
  const { talkers } = search;
  const faults = faultsOf(told);
  const goals = [
    ...ascents.map(({ name }) => watched(`capacity, ${name}`, capacityOf(told, name), 'deliveries/s')),
    promptOf(told),
    ...ascents.flatMap((ascent) => ratiosOf(told, ascent, faults)),
    ...costGoalsOf(told),
    ...calmGoalsOf(calm),
    ...earGoalsOf(told),
  ];
  return {
    lines: [
      ...linesOfCapacities(told),
      '',
      `1 is ${talkers} talkgroups with a talker: ${talkers * speech.perTalker} deliveries/s${isBroken(told) ? '' : ', at least: no larger load could be made'}. Speech breaks with a lost frame, or a p99 above ${speech.p99MsMax} ms.`,
      ...ascents.flatMap((ascent) => ['', ...linesOf(told, ascent)]),
    ],
    faults,
    noise: noiseOfAll(told),
    goals,
    plots: [plotOfLatency(told), plotOfEars(told)],
    details: {
      load: { ...plan, ...speech, talkers },
      settings: settingsOf(lineup),
      ...{ search, ascents, calm },
    },
  };
}

/** What is lost ends an ascent and makes no run invalid. What comes twice does. */
function faultsOf({ ascents, calm, search }: Told): string[] {
  const steps = [
    ...search.rungs.map(({ played }) => ({ name: BARE, step: played })),
    ...ascents.flatMap(({ name, rungs }) => rungs.map(({ played }) => ({ name, step: played }))),
    ...calm,
  ];
  return [
    ...steps.flatMap(({ name, step }) => faultsOfDelivery({ ...step, lost: 0 }, name)),
    ...calm.flatMap(({ name, step }) => (step.lost > 0 ? faultsOfDelivery(step, `${name}, calm`) : [])),
  ];
}

/** Deliveries per second. That of the bare engine was also searched for. */
function capacityOf({ ascents, search, speech }: Told, name: string): number {
  const climbed = highestOf(ascents.find((ascent) => ascent.name === name)?.rungs ?? []);
  return name === BARE ? Math.max(climbed, search.talkers * speech.perTalker) : climbed;
}

function ratiosOf(told: Told, { name, end }: Ascent<Played>, faults: readonly string[]): Goal[] {
  if (name === BARE) return [];
  const value = capacityOf(told, name) / capacityOf(told, BARE);
  const goal = watched(`capacity, ${name} / ${BARE}`, value, '');
  if (!JUDGED.includes(name)) return [goal];
  // Where the server was not at its end, less than the target says nothing. Where the engine was not, nothing does.
  const isOpen = !isBroken(told) || (end !== 'speech' && value < RATIO_MIN);
  return [atLeast(goal, RATIO_MIN, isOpen ? null : faults)];
}

/** Whether a load was found that the bare engine does not carry. Else its capacity is at least what was found. */
const isBroken = ({ search, speech }: Told): boolean =>
  search.rungs.some(({ isGood, played }) => !isGood && !isGeneratorsLimit(played, speech));

const periodMsOf = ({ audience }: Plan) => 1000 / audience.framesPerSecond;

/**
 * Deliveries per second that the bare engine carries while a frame is heard before the next one is due, and so mostly leaves
 * alone. 0: not even those of the first step.
 */
export const promptestOf = ({ search, plan }: Pick<Told, 'search' | 'plan'>): number =>
  highestOf(search.rungs.filter(({ isGood, played }) => isGood && played.latency.p99Ms <= periodMsOf(plan)));

const promptOf = (told: Told): Goal =>
  watched(`${BARE} with p99 at most ${periodMsOf(told.plan)} ms`, promptestOf(told), 'deliveries/s');

/** Of the default window, at what the bare engine carries. */
function costGoalsOf(told: Told): Goal[] {
  const costAt1 = (name: string) => {
    const rungs = told.ascents.find((ascent) => ascent.name === name)?.rungs ?? [];
    const rung = rungs.find(({ perSecond }) => multipleOf(told, perSecond) === 1);
    return rung === undefined ? Number.NaN : costOf(rung.played);
  };
  const ratio = costAt1(windowed(60)) / costAt1(BARE);
  return [watched(`CPU per delivery at load 1, ${windowed(60)} / ${BARE}`, ratio, '')];
}

function calmGoalsOf(calm: readonly Round[]): Goal[] {
  const of = (name: string, value: (step: Played) => number) =>
    new Map(calm.filter((one) => one.name === name).map(({ round, step }) => [round, value(step)]));
  const ratioOf = (value: (step: Played) => number) =>
    quartiles(pairedRatios(of(windowed(60), value), of(windowed(0), value)));
  const holding = calm.filter(({ step }) => (step.windowMs ?? 0) > 0);
  return [
    watched('rounds below load with a window', holding.length, ''),
    watchedMedian('CPU per delivery below load, window 60 ms / 0 ms', ratioOf(costOf), ''),
    watchedMedian(
      'p99 below load, window 60 ms / 0 ms',
      ratioOf(({ latency }) => latency.p99Ms),
      '',
    ),
  ];
}

/** CPU microseconds for each delivery. */
export const costOf = ({ cpuUs, delivered }: Step) => cpuUs / delivered;

/** Of the default window, with little load and with the most that is heard. */
function earGoalsOf({ ascents }: Told): Goal[] {
  const rungs = ascents.find(({ name }) => name === windowed(60))?.rungs.filter(({ isGood }) => isGood) ?? [];
  const ear = (rung: Rung<Played> | undefined) => rung?.played.mouthToEarMs ?? Number.NaN;
  return [
    watched('mouth to ear at the least load, window 60 ms', ear(rungs[0]), 'ms'),
    watched('mouth to ear at capacity, window 60 ms', ear(rungs.at(-1)), 'ms'),
  ];
}

function linesOfCapacities(told: Told): string[] {
  const line = columns(24, 22, 12);
  return [
    line('capacity', 'deliveries a second', 'of engine'),
    ...told.ascents.map(({ name, end }) => {
      const capacity = capacityOf(told, name);
      const share = (capacity / capacityOf(told, BARE)).toFixed(2);
      return `${line(name, `${capacity}`, share)}${ENDS[end]}`;
    }),
  ];
}

const ENDS = {
  speech: '',
  generator: '  at least: the generator was the limit',
  load: '  at least: there was no larger load',
} as const;

function linesOf(told: Told, { name, rungs }: Ascent<Played>): string[] {
  const line = columns(6, 12, 8, 12, 12, 10, 8, 8, 8, 14, 15, 11);
  return [
    name,
    line(
      'load',
      ...['deliveries', 'lost', 'p50', 'p99', 'CPU each', 'server', 'window', 'lagged'],
      ...['mouth to ear', 'underruns/min', 'generator'],
    ),
    ...rungs.map(({ perSecond, played, isGood }) => {
      const { lost, latency, windowMs, lagged, mouthToEarMs, underrunsPerMinute, generatorShare } = played;
      const word = isGood
        ? ''
        : isGeneratorsLimit(played, told.speech)
          ? '  the generator was the limit, not counted'
          : '  too much';
      const cells = [
        ...[`${perSecond}`, `${lost}`, ms(latency.p50Ms), ms(latency.p99Ms), us(costOf(played))],
        percent(played.cpuUs / 1000 / played.durationMs),
        ...[windowMs === null ? '' : `${windowMs} ms`, lagged === null ? '' : `${lagged}`],
        mouthToEarMs === null ? '' : `${Math.round(mouthToEarMs)} ms`,
        ...[underrunsPerMinute === null ? '' : underrunsPerMinute.toFixed(1), percent(generatorShare)],
      ];
      return line(multipleOf(told, perSecond).toFixed(2), ...cells) + word;
    }),
  ];
}

const multipleOf = ({ search, speech }: Told, perSecond: number): number =>
  perSecond / speech.perTalker / search.talkers;

/** Of each server, over the steps that count. Capacity is where the latency reaches its bound. */
function noiseOfAll({ ascents, speech }: Told): Noise[] {
  return ascents.map(({ name, rungs }) => {
    const counted = rungs.filter(({ isGood, played }) => isGood || !isGeneratorsLimit(played, speech));
    const steps = counted.map(({ played }) => played);
    const late = mergeLatencies(steps.map((step) => step.late));
    const othersShare = quartiles(steps.map((step) => step.othersShare)).median;
    return noiseOf({ late, othersShare }, 'frames', speech.p99MsMax, name);
  });
}

function plotOfLatency(told: Told): Plot {
  const { speech, plan } = told;
  const series = seriesOf(told, ({ latency }) => latency.p99Ms);
  const loads = series.flatMap(({ points }) => points.map(([load]) => load));
  const edge: Series = {
    name: 'speech breaks',
    points: [Math.min(...loads), Math.max(...loads)].map((load) => [load, speech.p99MsMax]),
  };
  return {
    kind: 'curve',
    title: `Delay under load, up to where speech breaks: talkgroups of ${plan.members} on one core`,
    note: `p99 from when a frame should have left the talker to when a listener had it. A line ends with the first load at which a frame is lost or p99 is above ${speech.p99MsMax} ms, or before the generator was the limit.`,
    x: LOAD,
    y: { label: 'p99 relay latency', unit: 'ms', scale: 'log' },
    series: [...series, edge],
  };
}

const LOAD = {
  label: 'load, in multiples of what the bare engine carries',
  unit: '',
  scale: 'linear',
} as const;

function plotOfEars(told: Told): Plot {
  return {
    kind: 'curve',
    title: 'Speech from mouth to ear under load',
    note: 'The frame itself, the way through the server, and the jitter buffer of the client, which began with 60 ms. Encoder, network and sound devices come on top. Median of the listeners that play.',
    x: LOAD,
    y: { label: 'mouth to ear', unit: 'ms', scale: 'linear' },
    series: seriesOf(told, ({ mouthToEarMs }) => mouthToEarMs ?? Number.NaN),
  };
}

function seriesOf(told: Told, value: (played: Played) => number): Series[] {
  return told.ascents.map(({ name, rungs }) => ({
    name,
    points: rungs
      .filter(({ played }) => !isGeneratorsLimit(played, told.speech))
      .map(({ perSecond, played }) => [multipleOf(told, perSecond), value(played)] as const)
      .filter(([, one]) => Number.isFinite(one)),
  }));
}
