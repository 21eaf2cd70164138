// Under what a result was made, in words: machine, versions, commit, cores, settings, load.
import { ms, percent } from '../figures/figures.js';
import type { Result } from './results.js';

/** What else a file says of its run and a reader should see. The rest of the file (turns, histograms) stays there. */
const TOLD = ['machine', 'versions', 'commit', 'cores', 'settings', 'load'] as const;

/** By name. What a file does not say is left out. */
export function factsOf({ startedAt, noise, rest }: Result): ReadonlyMap<string, string> {
  const facts = new Map([['measured', startedAt.replace(/^(\S{10})T(\d\d:\d\d).*$/, '$1 $2 UTC')]]);
  for (const name of TOLD) {
    const fact = rest[name];
    const words = fact === undefined || fact === null ? '' : worded(name, fact);
    if (words !== '') facts.set(WORDS[name] ?? name, words);
  }
  if (noise.length > 0) {
    facts.set(
      'all else',
      each(noise, ({ othersShare }) => `${percent(othersShare)} of a core`),
    );
    facts.set(
      'left late',
      each(noise, ({ what, lateP99Ms }) => `${what} ${ms(lateP99Ms)} (p99)`),
    );
  }
  return facts;
}

const each = (noise: Result['noise'], said: (one: Result['noise'][number]) => string): string =>
  noise.map((one) => (one.name === '' ? said(one) : `${one.name}: ${said(one)}`)).join('; ');

/** What two runs must share to be compared, flat, by name: `load.listeners`, `machine.cpu`. */
export function conditionsOf({ rest }: Result): ReadonlyMap<string, string> {
  return new Map(TOLD.flatMap((name) => leavesOf(name, rest[name])));
}

function leavesOf(name: string, value: unknown): [string, string][] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object') return [[name, String(value)]];
  if (Array.isArray(value)) return [[name, plain(value)]];
  return Object.entries(value).flatMap(([part, leaf]) => leavesOf(`${name}.${part}`, leaf));
}

const WORDS: Readonly<Record<string, string>> = { cores: 'pinned to cores' };

function worded(name: string, fact: unknown): string {
  const said = fact as Record<string, unknown>; // as run.ts writes them
  if (name === 'machine')
    return `${said.cores} cores of ${said.cpu}, Linux ${said.kernel}, Node ${said.node}`;
  if (name === 'commit')
    return `${said.hash}${said.srcChanged === true ? ', and changes not committed' : ''}`;
  return plain(fact);
}

/** `listeners 1000, turns 100, disturbance (kind flood, framesPerSecond 10000)`. Long lists are cut. */
function plain(value: unknown): string {
  if (value === null) return 'none';
  if (Array.isArray(value)) return listed(value);
  if (typeof value !== 'object') return String(value);
  const entries = Object.entries(value).map(([name, part]) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? `${name} (${plain(part)})`
      : `${name} ${plain(part)}`,
  );
  return entries.join(entries.some((entry) => entry.includes(',')) ? '; ' : ', ');
}

const LIST_MAX = 12;

function listed(values: readonly unknown[]): string {
  if (values.length === 0) return 'none';
  const isDeep = values.some((value) => value !== null && typeof value === 'object');
  const shown = values.slice(0, LIST_MAX).map((value) => (isDeep ? `(${plain(value)})` : plain(value)));
  return shown.join(isDeep ? ', ' : ' ') + (values.length > LIST_MAX ? ' …' : '');
}
