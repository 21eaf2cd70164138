// Makes the goals of a result, in one line each: a figure that is watched, or one with a target.
import type { Quartiles } from './figures.js';
import { judge } from './judge.js';
import type { Goal } from './result.js';

/** A figure without a target. */
export const watched = (name: string, value: number, unit: string): Goal => ({
  name,
  value,
  unit,
  isMet: null,
});

/** The median of several figures and their quartiles, without a target. */
export const watchedMedian = (name: string, { low, median, high }: Quartiles, unit: string): Goal => ({
  ...watched(name, median, unit),
  low,
  high,
});

/** The figure with a target. null in place of `faults`: the load was too small to tell. */
export const atMost = (goal: Goal, most: number, faults: readonly string[] | null): Goal => ({
  ...goal,
  atMost: most,
  isMet: faults === null ? null : judge(faults, goal.value <= most),
});

/** The same with a target from below. */
export const atLeast = (goal: Goal, least: number, faults: readonly string[] | null): Goal => ({
  ...goal,
  atLeast: least,
  isMet: faults === null ? null : judge(faults, goal.value >= least),
});
