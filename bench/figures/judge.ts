// Decides whether a run is valid and whether a target is met.
import { percent } from './figures.js';
import type { Goal } from './result.js';
import { spreadOf, targetOf, withUnit } from './wording.js';

/** A generator busier than this share of a core may be what is measured. */
const GENERATOR_SHARE_MAX = 0.85;

/** What makes a run say nothing about speed. `name` tells one run or server from another. */
export function faultsOfGenerator(
  { generatorShare }: { readonly generatorShare: number },
  name?: string,
): string[] {
  if (generatorShare <= GENERATOR_SHARE_MAX) return [];
  return [`${name === undefined ? '' : `${name}: `}the generator used ${percent(generatorShare)} of a core`];
}

/** What became of all deliveries of a run. */
interface Received {
  readonly lost: number;
  /** Heard twice, or never sent. */
  readonly duplicated: number;
  readonly outOfOrder: number;
}

export function faultsOfDelivery({ lost, duplicated, outOfOrder }: Received, name: string): string[] {
  if (lost + duplicated + outOfOrder === 0) return [];
  return [
    `${name}: ${lost} deliveries lost, ${duplicated} heard twice or never sent, ${outOfOrder} out of order`,
  ];
}

export const linesOfFaults = (faults: readonly string[]) => faults.map((fault) => `INVALID: ${fault}`);

/** null: a run with faults cannot tell. */
export const judge = (faults: readonly string[], isGood: boolean): boolean | null =>
  faults.length > 0 ? null : isGood;

const wordOf = (isMet: boolean | null): string =>
  isMet === null ? 'cannot be told' : isMet ? 'met' : 'NOT met';

/** One line for each, its figures written as on the page: what it came to, what was promised, and whether that is kept. */
export function linesOfGoals(goals: readonly Goal[]): string[] {
  const widest = Math.max(...goals.map(({ name }) => name.length));
  return goals.map((goal) => {
    const [spread, target] = [spreadOf(goal), targetOf(goal)];
    const figure = withUnit(goal.value, goal.unit) + (spread === '' ? '' : ` (${spread})`);
    return `${goal.name.padEnd(widest)}  ${figure}${target === '' ? '' : `; target ${target}: ${wordOf(goal.isMet)}`}`;
  });
}
