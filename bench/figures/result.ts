// What a result says whatever the scenario: goals, faults and plots, as plain data for the file, the page and a comparison.

/** A figure that was promised, or is watched from run to run. */
export interface Goal {
  /** What it is, in words that stand alone: `CPU per delivery, relay / bare engine`. The same in every run. */
  readonly name: string;
  /** The median where there are several. */
  readonly value: number;
  /** Lower and upper quartile: what a repeat may well bring. */
  readonly low?: number;
  readonly high?: number;
  /** `ms`, `µs`, `KiB`, `/s`. Empty for a ratio. */
  readonly unit: string;
  /** At most one of the two. With neither the figure is only watched. */
  readonly atMost?: number;
  readonly atLeast?: number;
  /** null: only watched, or the run had faults or doubts and cannot tell. */
  readonly isMet: boolean | null;
}

/** One line of a plot. The same name has the same colour throughout a page. */
export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Axis {
  readonly label: string;
  readonly unit: string;
  readonly scale: 'linear' | 'log';
}

export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
}

/** A picture as data. `note` says in a sentence how to read it. */
export type Plot = { readonly title: string; readonly note: string } & (
  | {
      /** Latency (y, ms, log) against the share of deliveries that were faster (x, per cent, stretched towards 100). */
      readonly kind: 'percentiles';
      readonly series: readonly Series[];
    }
  | { readonly kind: 'curve'; readonly x: Axis; readonly y: Axis; readonly series: readonly Series[] }
  | { readonly kind: 'bars'; readonly unit: string; readonly bars: readonly Bar[] }
);
