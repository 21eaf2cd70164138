// Searches the histories of floors.pml with Spin, and the settings of those searches.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../helpers/programs.js';

const MODEL = 'test/model/floors.pml';
/** Memory (MB) of one search. A search that reaches it fails as incomplete. */
const MEMORY_MB = 1000;
/** Longest path (steps) of a search. A longer one fails as incomplete. */
const DEPTH_MAX = 20_000;
/** Time (s) for a search of every history. One that takes longer fails as incomplete. */
const SEARCH_S_MAX = 60;
/** Bits of the table in a search by bitstate: 2^29 bits are 64 MB. */
const BITSTATE_W = 29;

export const HEALTHY_TWO = ['N=2', 'HEALTHY', 'TIMELY'];
export const HEALTHY = ['N=3', 'HEALTHY', 'TIMELY', 'PRESSES=3', 'ENDS=3', 'RANKS=4'];
export const CUT_TWO = ['N=2', 'CUTS=1', 'PRESSES=2', 'ENDS=1'];
export const LOSSY_TWO = ['N=2', 'APART', 'TIMELY', 'PRESSES=2', 'ENDS=1', 'LOSSES=1'];
export const APART = ['N=3', 'APART', 'TIMELY', 'PRESSES=2', 'ENDS=1', 'FRAMES=0'];

interface Search {
  /** Errors that Spin found. */
  readonly errors: number;
  /** Every history was searched, or the time of a search by bitstate was over. */
  readonly isComplete: boolean;
  /** States, depth, time, and the hash factor of a search by bitstate. */
  readonly figures: string;
  /** The steps of the counter-example, or nothing. */
  readonly steps: string;
}

/** Translates, compiles and searches in `cwd`. -O2 takes half a minute to compile, which only long searches are worth. */
export async function search(
  cwd: string,
  settings: readonly string[],
  bitstateS: number | null = null,
): Promise<Search> {
  const defines = settings.map((text) => `-D${text}`);
  copyFileSync(MODEL, join(cwd, 'floors.pml'));
  await succeed('spin', [...defines, '-a', 'floors.pml'], cwd);
  const table = bitstateS === null ? '-DCOLLAPSE' : '-DBITSTATE';
  const flags = ['-O0', '-w', '-DSAFETY', `-DMEMLIM=${MEMORY_MB}`, table];
  await succeed('gcc', [...flags, '-o', 'pan', 'pan.c'], cwd);
  const pan = [join(cwd, 'pan'), `-m${DEPTH_MAX}`, ...(bitstateS === null ? [] : [`-w${BITSTATE_W}`])];
  // At its end `timeout` sends SIGINT, at which the search prints its figures.
  const { output } = await run('timeout', ['-s', 'INT', String(bitstateS ?? SEARCH_S_MAX), ...pan], { cwd });
  const errors = Number(/errors: (\d+)/.exec(output)?.[1] ?? Number.NaN);
  const isCut = /Interrupted|max search depth too small|out of memory|memory limit/i.test(output);
  const figure = (pattern: RegExp) => pattern.exec(output)?.[1] ?? '?';
  const hash = bitstateS === null ? '' : `, bitstate, hash factor ${figure(/hash factor: ([\d.]+)/)}`;
  return {
    errors,
    isComplete: !isCut || (bitstateS !== null && /Interrupted/.test(output)),
    figures:
      `${figure(/(\S+) states, stored/)} states, depth ${figure(/depth reached (\d+)/)}, ` +
      `${figure(/elapsed time (\S+)/)} s${hash}${isCut ? ', not all of it' : ''}`,
    steps: errors === 0 ? '' : await stepsIn(cwd, defines),
  };
}

async function succeed(name: string, args: readonly string[], cwd: string): Promise<void> {
  const { code, output } = await run(name, args, { cwd });
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${output.slice(-2000)}`);
}

/** The last lines of the counter-example, without the state behind it. */
async function stepsIn(cwd: string, defines: readonly string[]): Promise<string> {
  const { output } = await run('spin', ['-t', ...defines, 'floors.pml'], { cwd });
  const lines = output.split('\n').map((line) => line.trim());
  const end = lines.findIndex((line) => line.startsWith('spin: trail ends'));
  return lines
    .slice(0, end + 1)
    .slice(-60)
    .join('\n');
}
