// Raises a rate step by step until the server no longer keeps up.
import type { Series } from '../figures/result.js';

export interface Rung<Played> {
  readonly perSecond: number;
  readonly played: Played;
  readonly isGood: boolean;
}

export interface LadderOptions<Played> {
  readonly perSecond: readonly number[];
  readonly play: (perSecond: number) => Promise<Played>;
  readonly isGood: (played: Played) => boolean;
  /** So often a rate may fail before it is too much: a machine that stalls for a moment is not a full server. */
  readonly triesMax?: number;
}

/** Each about a quarter more than the one before: the numbers that standards prefer (ISO 3, series R10). */
export const RATES: readonly number[] = [
  100, 125, 160, 200, 250, 315, 400, 500, 630, 800, 1000, 1250, 1600, 2000, 2500, 3150, 4000, 5000,
];

/** Up to the first rate that is not good, however often it is tried. */
export async function climb<Played>({
  perSecond,
  play,
  isGood,
  triesMax = 2,
}: LadderOptions<Played>): Promise<readonly Rung<Played>[]> {
  const rungs: Rung<Played>[] = [];
  const step = async (rate: number) => {
    const played = await play(rate);
    return { perSecond: rate, played, isGood: isGood(played) };
  };
  for (const rate of perSecond) {
    let rung = await step(rate);
    for (let tries = 1; !rung.isGood && tries < triesMax; tries++) rung = await step(rate);
    rungs.push(rung);
    if (!rung.isGood) break;
  }
  return rungs;
}

/** The highest rate that was good. 0: none was. */
export const highestOf = (rungs: readonly Rung<unknown>[]): number =>
  Math.max(0, ...rungs.filter(({ isGood }) => isGood).map(({ perSecond }) => perSecond));

/** One of them, for a first look: a few large steps. */
export const every = (nth: number, rates: readonly number[]): readonly number[] =>
  rates.filter((_, i) => i % nth === 0);

/** For the number: `1250`, or `at least 5000` when nothing was too much. */
export const wordsOf = (rungs: readonly Rung<unknown>[]): string =>
  `${rungs.every(({ isGood }) => isGood) ? 'at least ' : ''}${highestOf(rungs)}`;

/** Of one value against the rate. */
export const seriesOf = <Played>(
  name: string,
  rungs: readonly Rung<Played>[],
  value: (played: Played) => number,
): Series => ({ name, points: rungs.map(({ perSecond, played }) => [perSecond, value(played)]) });
