// Adds up the figures of the relay threads, so that a metric of the relay is one of the whole process.
import type { Histogram } from '../histogram.js';
import type { OwnFigures, RelayFigures } from '../relay/relay-side.js';

/** Plain numbers, in objects and lists. */
type Plain = number | boolean | null | { readonly [key: string]: Plain } | readonly Plain[];

/** What is no sum: the value for all threads, of the values of each. By the name of the field. */
const others: Readonly<Record<string, (values: readonly number[]) => number>> = {
  // Of the process, and the same on each.
  max: (values) => Math.max(...values),
  // Of the slowest receiver.
  lagMsMax: (values) => Math.max(...values),
  // Of the thread with the most load.
  windowMs: (values) => Math.max(...values),
  // The least that any of them reaches.
  peers: (values) => Math.min(...values),
  siblings: (values) => Math.min(...values),
  // Each thread hears the relays of the other nodes.
  otherKeys: (values) => Math.max(...values),
  unencrypting: (values) => Math.max(...values),
  unrecording: (values) => Math.max(...values),
};

/** Of these states each thread has one, with the value 1. The value for all threads is the first one here that a thread has. */
const states: Readonly<Record<string, readonly string[]>> = {
  reach: ['alone', 'partial', 'whole'],
};

/** Figures of the same for all threads. */
const constants: ReadonlySet<string> = new Set(['boundsMs']);

/**
 * The figures of all threads as those of one relay. Each number is a sum, but for those above. What is true of all is
 * true, and of a state the worst counts. `own` is null: it is of one thread.
 */
export function addUp(relays: readonly RelayFigures[]): RelayFigures | null {
  const [first, ...more] = relays;
  if (first === undefined) return null;
  if (more.length === 0) return first;
  const own = relays.map((relay) => ({ ...relay, own: null }));
  // Figures are plain numbers, and what is added up has their form.
  return joined('', own as unknown as readonly Plain[]) as unknown as RelayFigures;
}

function joined(name: string, values: readonly Plain[]): Plain {
  const [first = null] = values;
  if (first === null || constants.has(name)) return first;
  if (typeof first === 'boolean') return values.every(Boolean);
  if (typeof first === 'number') {
    const numbers = values.map(Number);
    return others[name]?.(numbers) ?? numbers.reduce((sum, value) => sum + value, 0);
  }
  if (Array.isArray(first))
    return first.map((_, at) =>
      joined(
        name,
        values.map((list) => itemOf(list, at)),
      ),
    );
  const order = states[name];
  if (order !== undefined) {
    const state = order.find((one) => values.some((value) => itemOf(value, one) === 1));
    return Object.fromEntries(order.map((one) => [one, Number(one === state)]));
  }
  const names = new Set(values.flatMap((value) => Object.keys(value ?? {})));
  return Object.fromEntries(
    [...names].map((key) => {
      const there = values.map((value) => itemOf(value, key)).filter((item) => item !== undefined);
      return [key, joined(key, there)];
    }),
  );
}

const itemOf = (value: Plain, key: string | number) =>
  (value as Readonly<Record<string | number, Plain>>)[key] as Plain; // of the same form as the first

/** The sum of histograms with the same bounds. */
export const sumOf = (histograms: readonly Histogram[]): Histogram =>
  // As above: a histogram is plain numbers.
  joined('', histograms as unknown as readonly Plain[]) as unknown as Histogram;

/** The name of a relay thread in labels. */
export const threadName = (index: number, threads: number): string =>
  threads === 1 ? 'relay' : `relay-${index + 1}`;

/** What each relay thread has of its own, with its name. Nothing when the relay runs on the main thread. */
export const ownOf = (relays: readonly RelayFigures[] | null): readonly (readonly [string, OwnFigures])[] =>
  (relays ?? []).flatMap(({ own }, index) =>
    own === null ? [] : [[threadName(index, relays?.length ?? 1), own] as const],
  );
