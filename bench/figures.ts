// The few statistics a result needs.

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
