// Result files as the page and the comparison read them, also those of an earlier bench and of a run that was cut.
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Noise } from '../figures/doubts.js';
import type { Goal, Plot } from '../figures/result.js';

export interface Result {
  readonly scenario: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly isQuick: boolean;
  readonly faults: readonly string[];
  /** Why no time and no rate of it can be told. */
  readonly doubts: readonly string[];
  readonly noise: readonly Noise[];
  /** A value that could not be measured is NaN. */
  readonly goals: readonly Goal[];
  readonly plots: readonly Plot[];
  /** All else in the file: machine, versions, commit, cores, settings, load and what the scenario adds. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** A file that says nothing, and why, in words for the caller. */
export interface Unreadable {
  readonly file: string;
  readonly why: string;
}

export interface Results {
  /** By the name of the scenario. */
  readonly results: readonly Result[];
  readonly unreadable: readonly Unreadable[];
}

/** Reads one file, or all `*.json` of a folder. A path that is not there is one of the unreadable. */
export async function readResults(path: string): Promise<Results> {
  const files = await filesAt(path);
  const read = await Promise.all(files.map(readResult));
  const results = read.filter((one) => 'goals' in one);
  return {
    results: results.sort((a, b) => (a.scenario < b.scenario ? -1 : 1)),
    unreadable: read.filter((one) => 'why' in one),
  };
}

async function filesAt(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (at) => at.isDirectory(),
    () => false, // expected: nothing there, which readResult will say
  );
  if (!isFolder) return [path];
  return (await readdir(path)).filter((name) => name.endsWith('.json')).map((name) => join(path, name));
}

async function readResult(file: string): Promise<Result | Unreadable> {
  const text = await readFile(file, 'utf8').catch(() => null); // expected: nothing there
  if (text === null) return { file, why: 'there is no such file' };
  try {
    return parseResult(JSON.parse(text), file);
  } catch {
    // Expected: a file that a killed run left half written.
    return { file, why: 'it is no JSON' };
  }
}

function parseResult(json: unknown, file: string): Result | Unreadable {
  if (json === null || typeof json !== 'object') return { file, why: 'it holds no result' };
  const { scenario, startedAt, isQuick, faults, doubts, noise, goals, plots, ...rest } = json as Record<
    string,
    unknown
  >;
  if (!Array.isArray(goals)) return { file, why: 'it was written by an earlier bench, which named no goals' };
  return {
    scenario: typeof scenario === 'string' ? scenario : basename(file, '.json'),
    startedAt: typeof startedAt === 'string' ? startedAt : 'unknown',
    isQuick: isQuick === true,
    faults: Array.isArray(faults) ? faults.map(String) : [],
    // Files of an earlier bench have neither.
    doubts: Array.isArray(doubts) ? doubts.map(String) : [],
    noise: Array.isArray(noise) ? (noise as Noise[]) : [],
    goals: (goals as Goal[]).map(parseGoal), // as `Report` has them, and so the plots
    plots: Array.isArray(plots) ? (plots as Plot[]) : [],
    rest,
  };
}

/** JSON has no NaN, but null. */
function parseGoal({ value, low, high, ...goal }: Goal): Goal {
  const hasQuartiles = typeof low === 'number' && typeof high === 'number';
  return { ...goal, value: value ?? Number.NaN, ...(hasQuartiles && { low, high }) };
}

/** `watched`: a figure without a target. `cannot be told`: with one, but noise, a quick run or a peer that failed keeps it open. */
export type Verdict = 'met' | 'NOT met' | 'invalid' | 'cannot be told' | 'watched';

/** With a fault in its run no figure says anything. */
export function verdictOf({ isMet, value, ...goal }: Goal, { faults }: Pick<Result, 'faults'>): Verdict {
  if (faults.length > 0 || Number.isNaN(value)) return 'invalid';
  if (isMet !== null) return isMet ? 'met' : 'NOT met';
  return goal.atMost === undefined && goal.atLeast === undefined ? 'watched' : 'cannot be told';
}
