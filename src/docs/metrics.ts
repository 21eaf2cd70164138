// Generates docs/metrics.md: every metric with its type, its labels and its HELP text, in groups by name.
import { families } from '../metrics/families.js';
import type { Family } from '../metrics/family.js';
import { type Page, replaceGenerated } from './page.js';

export const metricsPage: Page = {
  path: 'docs/metrics.md',
  write: (present) => replaceGenerated(present, metricsAsMarkdown()),
};

/** By the beginning of their names: the first that fits. */
const sections: readonly (readonly [title: string, name: RegExp])[] = [
  ['Relay', /^talkgroup_relay_/],
  ['Floor control', /^talkgroup_floor_/],
  ['Several nodes', /^talkgroup_(bus|cluster)_/],
  ['Database', /^talkgroup_database_/],
  ['Keys', /^talkgroup_keys_/],
  ['REST, logins and positions', /^talkgroup_(http|login|gps)_/],
  ['Service and process', /^/],
];

function metricsAsMarkdown(): string {
  const titleOf = ({ name }: Family) => sections.find(([, begins]) => begins.test(name))?.[0];
  return sections
    .map(([title]) => [title, families.filter((family) => titleOf(family) === title)] as const)
    .map(([title, own]) => [`## ${title}`, tableOf(own)].join('\n\n'))
    .join('\n\n');
}

function tableOf(own: readonly Family[]): string {
  const rows = own.map(({ name, type, labels, help }) => {
    const cells = [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', '), help];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return ['| name | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n');
}
