// Computes quartiles and ratios of pairs, and formats figures.

/** Lower quartile, median and upper quartile of what the rounds gave. */
export interface Quartiles {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

export function quartiles(values: readonly number[]): Quartiles {
  const ordered = values.toSorted((a, b) => a - b);
  return { low: quantile(ordered, 0.25), median: quantile(ordered, 0.5), high: quantile(ordered, 0.75) };
}

/** Between two neighbours in proportion (type 7 of Hyndman and Fan, the usual one). */
function quantile(ordered: readonly number[], share: number): number {
  const at = share * (ordered.length - 1);
  const below = ordered[Math.floor(at)] ?? Number.NaN;
  const above = ordered[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

/**
 * What was measured of one over what was measured of another in the same round: neighbours in time share what the
 * machine did to both. Rounds without one of the two give none, and so does a division by nothing.
 */
export function pairedRatios(
  own: ReadonlyMap<number, number>,
  others: ReadonlyMap<number, number>,
): readonly number[] {
  return [...own].map(([round, value]) => value / (others.get(round) ?? Number.NaN)).filter(Number.isFinite);
}

export const ms = (value: number) => `${value.toFixed(2)} ms`;
export const us = (value: number) => `${value.toFixed(2)} µs`;
export const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
export const kib = (bytes: number) => `${(bytes / 2 ** 10).toFixed(1)} KiB`;
export const percent = (share: number) => `${Math.round(100 * share)} %`;

/** Of pairs. */
export const ratio = ({ low, median, high }: Quartiles) =>
  `${median.toFixed(3)}, quartiles ${low.toFixed(3)} to ${high.toFixed(3)}`;

/** Writes lines of a table: a name, then right-aligned cells. Beyond the last width given, all are as wide as it. */
export const columns =
  (first: number, ...widths: readonly number[]) =>
  (name: string, ...cells: readonly string[]): string =>
    name.padEnd(first) + cells.map((cell, i) => cell.padStart(widths[i] ?? widths.at(-1) ?? 0)).join('');
