// Declares what a metric is: its name, its help text, its labels and how a scrape reads its value.
import type { Histogram } from '../histogram.js';
import type { Snapshot } from './snapshot.js';

/** One line of a family. For a histogram, all lines of one set of labels. */
export type Sample<Value> = readonly [labels: Readonly<Record<string, string>>, value: Value];

/** One metric. `read` returns its samples, a number for a metric without labels, or null to show nothing. */
export type Family =
  | {
      readonly type: 'counter' | 'gauge';
      readonly name: string;
      readonly help: string;
      /** Label names of the samples. */
      readonly labels: readonly string[];
      readonly read: (now: Snapshot) => number | null | readonly Sample<number>[];
    }
  | {
      readonly type: 'histogram';
      readonly name: string;
      readonly help: string;
      readonly labels: readonly string[];
      readonly read: (now: Snapshot) => readonly Sample<Histogram>[];
    };

export type Numbers = Extract<Family, { type: 'counter' | 'gauge' }>['read'];
export type Times = Extract<Family, { type: 'histogram' }>['read'];

export function counter(name: string, help: string, read: Numbers, labels: readonly string[] = []): Family {
  return { type: 'counter', name, help, labels, read };
}

export function gauge(name: string, help: string, read: Numbers, labels: readonly string[] = []): Family {
  return { type: 'gauge', name, help, labels, read };
}

export function histogram(name: string, help: string, read: Times, labels: readonly string[] = []): Family {
  return { type: 'histogram', name, help, labels, read };
}

/** A sample for each count, with its name as the value of `label`. */
export function by(label: string, counts: Readonly<Record<string, number>>): readonly Sample<number>[] {
  return Object.entries(counts).map(([name, value]) => [{ [label]: name }, value]);
}
