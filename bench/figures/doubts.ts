// Decides whether the times and rates of a run can be told: on a loud machine, or behind a late generator, they are not those
// of the server.
import { ms, percent } from './figures.js';
import type { Goal } from './result.js';

/** What was around one run. */
export interface Noise {
  /** Tells one run of several. Empty: there was one. */
  readonly name: string;
  /** What left the generator, such as `frames`. */
  readonly what: string;
  /** How late it left (p99), counted into the latency. */
  readonly lateP99Ms: number;
  /** The share of a core that neither servers nor generator used. */
  readonly othersShare: number;
  /** The latency that was measured (p99). null: none was. */
  readonly measuredP99Ms: number | null;
}

interface Surroundings {
  readonly late: { readonly p99Ms: number };
  readonly othersShare: number;
}

export const noiseOf = (
  { late, othersShare }: Surroundings,
  what: string,
  measuredP99Ms: number | null,
  name = '',
): Noise => ({ name, what, lateP99Ms: late.p99Ms, othersShare, measuredP99Ms });

/** Timers of a quiet machine are as late as this (ms). */
const LATE_MS_MAX = 2;
/** A larger part of a latency that is the generator's says more of the generator. */
const LATE_SHARE_MAX = 0.2;
/** Beyond this share of a core for anything else the machine was not quiet. */
export const OTHERS_SHARE_MAX = 0.1;

/** In words, for each run. Empty: times and rates can be told. */
export function doubtsOf(noises: readonly Noise[]): string[] {
  return noises.flatMap(({ name, what, lateP99Ms, othersShare, measuredP99Ms }) => {
    const run = name === '' ? '' : `${name}: `;
    const isLate =
      measuredP99Ms !== null && lateP99Ms > LATE_MS_MAX && lateP99Ms > LATE_SHARE_MAX * measuredP99Ms;
    return [
      ...(isLate
        ? [`${run}${what} left ${ms(lateP99Ms)} late (p99), and ${ms(measuredP99Ms)} were measured`]
        : []),
      ...(othersShare > OTHERS_SHARE_MAX
        ? [`${run}all else on this machine used ${percent(othersShare)} of a core`]
        : []),
    ];
  });
}

export const linesOfDoubts = (doubts: readonly string[]): string[] =>
  doubts.map((doubt) => `DOUBTFUL: ${doubt}`);

/** Noise changes times and rates. Ratios of turns, and memory, come back within some hundredths beside it. */
export const isTimed = ({ unit }: Pick<Goal, 'unit'>): boolean => /^(µs|ms|s)$|\/s$/.test(unit);

/** With a doubt no target of a time or a rate is met or missed. */
export const withDoubts = (goals: readonly Goal[], doubts: readonly string[]): readonly Goal[] =>
  doubts.length === 0 ? goals : goals.map((goal) => (isTimed(goal) ? { ...goal, isMet: null } : goal));
