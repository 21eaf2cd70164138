// `make bench-compare A=... B=...`: what changed between two results or folders of results, and what of it is no noise.
import { fileURLToPath } from 'node:url';
import { isTimed } from '../figures/doubts.js';
import { columns } from '../figures/figures.js';
import type { Goal } from '../figures/result.js';
import { figure, withUnit } from '../figures/wording.js';
import { conditionsOf, factsOf } from './facts.js';
import { type Result, type Results, readResults, type Verdict, verdictOf } from './results.js';

export interface Change {
  readonly name: string;
  readonly a: Goal;
  readonly b: Goal;
  /** From A to B, of A. null where A is zero, one was not measured, or the two do not compare. */
  readonly percent: number | null;
  readonly judgement: Judgement;
  /** By quartiles, or by CHANGE_MIN where one of the two has none. */
  readonly rule: 'quartiles' | 'share';
  readonly verdicts: readonly [Verdict, Verdict];
}

/**
 * `untold`: one of the runs says nothing. `changed`: which way is better is not said. `not comparable`: a time or a rate of two
 * machines, or of a doubtful run.
 */
export type Judgement = 'better' | 'worse' | 'changed' | 'within the noise' | 'untold' | 'not comparable';

/** A figure without quartiles counts as changed from this on: of one run, less is seldom repeated. */
const CHANGE_MIN = 0.1;

/** Goals of the same name in two runs of one scenario. */
export function changesBetween(a: Result, b: Result): readonly Change[] {
  return a.goals.flatMap((before) => {
    const after = b.goals.find(({ name }) => name === before.name);
    if (after === undefined) return [];
    const change = changeOf(before, after, [verdictOf(before, a), verdictOf(after, b)]);
    return isTimed(before) && doTimesDiffer(a, b) && change.judgement !== 'untold'
      ? [{ ...change, percent: null, judgement: 'not comparable' as const }]
      : [change];
  });
}

/** Their times and rates differ, also when nothing was changed in between. */
const doTimesDiffer = (a: Result, b: Result): boolean =>
  a.doubts.length + b.doubts.length > 0 || factsOf(a).get('machine') !== factsOf(b).get('machine');

function changeOf(a: Goal, b: Goal, verdicts: readonly [Verdict, Verdict]): Change {
  const share = (b.value - a.value) / Math.abs(a.value);
  const hasQuartiles = [a.low, a.high, b.low, b.high].every((quartile) => quartile !== undefined);
  const isNoise = hasQuartiles ? overlap(a, b) : a.value === b.value || Math.abs(share) <= CHANGE_MIN;
  return {
    name: a.name,
    a,
    b,
    percent: Number.isFinite(share) ? 100 * share : null,
    judgement: verdicts.includes('invalid') ? 'untold' : isNoise ? 'within the noise' : directionOf(a, b),
    rule: hasQuartiles ? 'quartiles' : 'share',
    verdicts,
  };
}

const overlap = (a: Goal, b: Goal) => rangeOf(a).low <= rangeOf(b).high && rangeOf(b).low <= rangeOf(a).high;

const rangeOf = ({ value, low = value, high = value }: Goal) => ({ low, high });

/** A target says which way is better. */
function directionOf(a: Goal, b: Goal): Judgement {
  const { atMost, atLeast } = b;
  if (atMost === undefined && atLeast === undefined) return 'changed';
  return b.value < a.value === (atMost !== undefined) ? 'better' : 'worse';
}

/** For the terminal, scenario by scenario. What only one side has is said last. */
export function linesOfComparison(a: Results, b: Results): string[] {
  const pairs = a.results.flatMap((before) => {
    const after = b.results.find(({ scenario }) => scenario === before.scenario);
    return after === undefined ? [] : [{ before, after }];
  });
  const onlyIn = (side: string, these: Results, those: Results) =>
    these.results
      .filter(({ scenario }) => those.results.every((other) => other.scenario !== scenario))
      .map(({ scenario }) => `only in ${side}: ${scenario}`);
  return [
    ...pairs.flatMap(({ before, after }) => linesOfPair(before, after)),
    ...(pairs.length === 0 ? ['no scenario is in both'] : RULES),
    ...onlyIn('A', a, b),
    ...onlyIn('B', b, a),
    ...[...a.unreadable, ...b.unreadable].map(({ file, why }) => `left out: ${file}: ${why}`),
  ];
}

const RULES = [
  'Noise: quartile ranges overlap. * without quartiles: a change of at most 10 %, whatever its cause.',
  'Quartiles are of one run; two runs on a busy machine differ by more. Repeat what matters.',
];

function linesOfPair(a: Result, b: Result): string[] {
  const changes = changesBetween(a, b);
  const longest = Math.max(30, ...changes.map(({ name }) => name.length));
  const line = columns(longest + 2, 24, 24, 10);
  return [
    `${a.scenario}: A of ${a.startedAt}, B of ${b.startedAt}`,
    ...linesOfConditions(a, b),
    line('', 'A', 'B', 'change'),
    ...changes.map((change) => line(change.name, ...cellsOf(change)) + endOf(change)),
    ...missing('B', a, b),
    ...missing('A', b, a),
    '',
  ];
}

/** What makes two runs hard to compare, before any figure. */
function linesOfConditions(a: Result, b: Result): string[] {
  const [before, after] = [conditionsOf(a), conditionsOf(b)];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  const runs = [
    ['A', a],
    ['B', b],
  ] as const;
  return [
    ...runs.flatMap(([side, { faults }]) => faults.map((fault) => `  ${side} is INVALID: ${fault}`)),
    ...runs.flatMap(([side, { doubts }]) => doubts.map((doubt) => `  ${side} is DOUBTFUL: ${doubt}`)),
    ...runs.flatMap(([side, { isQuick }]) =>
      isQuick ? [`  ${side} is a quick look, with a small load`] : [],
    ),
    ...names
      .filter((name) => before.get(name) !== after.get(name))
      .map((name) => `  DIFFERENT ${name}: A ${before.get(name) ?? 'none'}, B ${after.get(name) ?? 'none'}`),
  ];
}

function cellsOf({ a, b, percent }: Change): string[] {
  const cell = ({ value, low, high, unit }: Goal) =>
    low === undefined || high === undefined
      ? withUnit(value, unit)
      : `${withUnit(value, unit)} (${figure(low, unit)}..${figure(high, unit)})`;
  const sign = percent !== null && percent > 0 ? '+' : '';
  return [cell(a), cell(b), percent === null ? '' : `${sign}${percent.toFixed(1)} %`];
}

function endOf({ judgement, rule, verdicts: [before, after] }: Change): string {
  const mark = rule === 'share' && judgement !== 'not comparable' ? '*' : '';
  return `  ${judgement}${mark}${before === after ? '' : `, ${before} -> ${after}`}`;
}

function missing(side: string, of: Result, other: Result): string[] {
  const { length } = of.goals.filter(({ name }) => other.goals.every((goal) => goal.name !== name));
  return length === 0 ? [] : [`  not in ${side}: ${length} ${length === 1 ? 'number' : 'numbers'}`];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , a = process.env.A, b = process.env.B] = process.argv;
  console.log(
    a === undefined || b === undefined
      ? 'two results, or two folders of results, are compared: make bench-compare A=bench/results B=bench/results/own'
      : linesOfComparison(await readResults(a), await readResults(b)).join('\n'),
  );
}
