// Axes of our own: where a value stands on one, and which values are written beside it.

/** `place` gives positions on a plain linear axis from `min` to `max`. */
export interface Scale {
  place(value: number): number;
  readonly min: number;
  readonly max: number;
  /** Positions, and what stands there. */
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
}

/** So much is an error of arithmetic. */
const ROUNDING = 1e-9;

/** From zero, or from below the least value where that is negative, in steps of 1, 2 or 5. */
export function linearScale(values: readonly number[]): Scale {
  const least = Math.min(0, ...values);
  const most = Math.max(...values, least + ROUNDING);
  const step = roundUp((most - least) / 6);
  const first = Math.floor(least / step + ROUNDING);
  const last = Math.ceil(most / step - ROUNDING);
  const ticks = range(first, last).map((n) => ({ at: n * step, label: labelOf(n * step) }));
  return { place: (value) => value, min: first * step, max: last * step, ticks };
}

/** 1, 2 and 5 of each decade. Only these, when there are more than three. Nothing at or below zero has a place. */
export function logScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const least = positive.length > 0 ? Math.min(...positive) : 1;
  const most = positive.length > 0 ? Math.max(...positive) : 10;
  const digits = most / least > 1000 ? [1] : [1, 2, 5];
  // One more below: the logarithm of a number just below a power of ten may be rounded up to it.
  const decades = range(Math.floor(Math.log10(least)) - 1, Math.ceil(Math.log10(most)) + 1);
  const written = decades.flatMap((decade) => digits.map((digit) => digit * 10 ** decade));
  const first = written.findLastIndex((value) => value <= least);
  const last = written.findIndex((value) => value > least && value >= most);
  const ticks = written
    .slice(first, last + 1)
    .map((value) => ({ at: Math.log10(value), label: labelOf(value) }));
  return { place: Math.log10, min: ticks[0]?.at ?? 0, max: ticks.at(-1)?.at ?? 1, ticks };
}

const TOLD_PERCENTILES = [0, 50, 90, 99, 99.9, 99.99];
/** Room for the word, in nines. */
const LONGEST_APART = 0.7;

/** Every nine is as wide as the one before. 100 %, which would be infinitely far, stands behind the last as `longest`. */
export function percentileScale(percentiles: readonly number[]): Scale {
  const stretch = (percentile: number) => -Math.log10(1 - percentile / 100);
  const last = Math.max(1, ...percentiles.filter((percentile) => percentile < 100).map(stretch));
  const longest = last + LONGEST_APART;
  const ticks = TOLD_PERCENTILES.map((percentile) => ({ at: stretch(percentile), label: `${percentile}` }));
  return {
    place: (percentile) => (percentile >= 100 ? longest : stretch(percentile)),
    min: 0,
    max: longest,
    ticks: [...ticks.filter(({ at }) => at <= last + ROUNDING), { at: longest, label: 'longest' }],
  };
}

/** To 1, 2 or 5 of a decade. */
function roundUp(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  return decade * ([1, 2, 5].find((digit) => digit * decade >= value * (1 - ROUNDING)) ?? 10);
}

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);

const labelOf = (value: number): string =>
  Number(value.toPrecision(6)).toLocaleString('en', { maximumFractionDigits: 6 });
