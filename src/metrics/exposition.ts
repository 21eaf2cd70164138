// Writes metrics in Prometheus' text exposition format 0.0.4. It keeps no state.
// https://prometheus.io/docs/instrumenting/exposition_formats/
import type { Histogram } from '../histogram.js';
import type { Family } from './family.js';
import type { Snapshot } from './snapshot.js';

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string>>;

/** The text of all families. A family without a sample has only its HELP and TYPE lines. */
export function expose(families: readonly Family[], now: Snapshot): string {
  const lines = families.flatMap((family) => [
    `# HELP ${family.name} ${escaped(family.help)}`,
    `# TYPE ${family.name} ${family.type}`,
    ...samplesOf(family, now),
  ]);
  return `${lines.join('\n')}\n`;
}

function samplesOf(family: Family, now: Snapshot): string[] {
  const { name } = family;
  if (family.type === 'histogram')
    return family.read(now).flatMap(([labels, times]) => samplesOfTimes(name, labels, times));
  const value = family.read(now);
  if (value === null) return [];
  const samples = typeof value === 'number' ? [[{}, value] as const] : value;
  return samples.map(([labels, value]) => sample(name, labels, value));
}

/** In seconds. Each bucket counts what is in those below it as well. */
function samplesOfTimes(name: string, labels: Labels, { boundsMs, counts, sumMs }: Histogram): string[] {
  let count = 0;
  const buckets = counts.map((inBucket, index) => {
    count += inBucket;
    const boundMs = boundsMs[index];
    const le = boundMs === undefined ? '+Inf' : String(boundMs / 1000);
    return sample(`${name}_bucket`, { ...labels, le }, count);
  });
  return [...buckets, sample(`${name}_sum`, labels, sumMs / 1000), sample(`${name}_count`, labels, count)];
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`,
  );
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
