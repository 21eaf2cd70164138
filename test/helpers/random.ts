// Numbers that a seed determines, so that a schedule of faults can be had again.
import { randomInt } from 'node:crypto';
import type { Test } from 'tap';

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** So many of the list, each at most once, in a random order. */
  some<T>(list: readonly T[], count: number): T[];
}

/** Mulberry32 (Tommy Ettinger, public domain): 32 bits of state are plenty for a schedule. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));

  return {
    next,
    whole,
    pick: (list) => list[whole(0, list.length - 1)] ?? list[0],
    some(list, count) {
      const left = [...list];
      const taken: typeof left = [];
      while (taken.length < count && left.length > 0) {
        taken.push(...left.splice(whole(0, left.length - 1), 1));
      }
      return taken;
    },
  };
}

/** Of the seed in this variable of the environment, else of any. The test's output names it. */
export function randomOf(t: Test, variable: string): Random {
  const seed = Number(process.env[variable] ?? randomInt(2 ** 31));
  t.comment(`${variable}=${seed}`);
  return randomFrom(seed);
}
