// Prometheus' text format 0.0.4, read strictly: whatever a scraper may stumble over throws.
import assert from 'node:assert/strict';

export interface Exposition {
  /** Name -> type. */
  readonly types: ReadonlyMap<string, string>;
  /** Series as they are written, such as `http_requests_total{method="GET"}`, each with its value. */
  readonly series: ReadonlyMap<string, number>;
  /** Every value of every label. */
  readonly labelValues: ReadonlySet<string>;
}

const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\n]+)$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*)\})? (\S+)$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/;
const TYPES = ['counter', 'gauge', 'histogram'];

/** What the service at this address reports now. */
export const scrape = async (address: string): Promise<Exposition> =>
  readExposition(await (await fetch(address)).text());

/** One series, as it is written. NaN: the service does not report it. */
export const metric = async (address: string, series: string): Promise<number> =>
  (await scrape(address)).series.get(series) ?? Number.NaN;

/** Each family is one block: its help, its type, its samples. */
export function readExposition(text: string): Exposition {
  assert.ok(text.endsWith('\n'), 'the last line ends');
  const types = new Map<string, string>();
  const series = new Map<string, number>();
  const labelValues = new Set<string>();
  let helped = '';
  let family = '';
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const comment = COMMENT.exec(line);
    if (comment !== null) {
      const [, kind, name = '', rest = ''] = comment;
      if (kind === 'HELP') helped = name;
      else {
        assert.equal(helped, name, 'the help stands before the type');
        assert.ok(!types.has(name) && TYPES.includes(rest), line);
        family = name;
        types.set(name, rest);
      }
      continue;
    }
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(line);
    assert.equal(
      name.replace(types.get(family) === 'histogram' ? /_(bucket|sum|count)$/ : '', ''),
      family,
      line,
    );
    assert.match(value, /^-?\d+(\.\d+)?(e[+-]\d+)?$/, line);
    for (const label of readLabels(labels)) labelValues.add(label);
    const key = line.slice(0, line.lastIndexOf(' '));
    assert.ok(!series.has(key), `twice: ${key}`);
    series.set(key, Number(value));
  }
  for (const [name, type] of types) {
    if (type === 'counter') assert.match(name, /_total$/);
    if (type === 'histogram') checkBuckets(name, series);
  }
  return { types, series, labelValues };
}

function readLabels(text: string): string[] {
  const values: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const [label, , value = ''] = LABEL.exec(rest) ?? assert.fail(text);
    values.push(value.replaceAll(/\\([\\"n])/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped)));
    rest = rest.slice(label.length);
  }
  return values;
}

/** Cumulative, in the order of their bounds, ending with all. */
function checkBuckets(name: string, series: ReadonlyMap<string, number>): void {
  const last = new Map<string, { bound: number; count: number }>();
  for (const [key, count] of series) {
    if (!key.startsWith(`${name}_bucket{`)) continue;
    const labels = key.slice(name.length + '_bucket'.length);
    const [le = '', text = ''] = /,?le="([^"]+)"/.exec(labels) ?? assert.fail(key);
    const others = labels.replace(le, '').replace('{}', '');
    const bound = text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text);
    const before = last.get(others) ?? { bound: Number.NEGATIVE_INFINITY, count: 0 };
    assert.ok(bound > before.bound && count >= before.count, key);
    last.set(others, { bound, count });
  }
  for (const [others, { bound, count }] of last) {
    assert.equal(bound, Number.POSITIVE_INFINITY, name);
    assert.equal(series.get(`${name}_count${others}`), count, name);
    assert.ok(series.has(`${name}_sum${others}`), name);
  }
}
