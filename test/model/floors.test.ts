// Spin searches every history of the model in floors.pml. `make prove` runs all configurations and all planted faults,
// `make test` the smallest configuration.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { run, unless } from '../helpers/programs.js';

const MODEL = 'test/model/floors.pml';
const proves = process.env.PROVE_RUNS !== undefined;
/** Memory (MB) of one search. A search that reaches it fails as incomplete. */
const MEMORY_MB = 1000;
/** Longest path (steps) of a search. A longer one fails as incomplete. */
const DEPTH_MAX = 20_000;
/** Time (s) for a search of every history. One that takes longer fails as incomplete. */
const SEARCH_S_MAX = 60;
/** Bits of the table in a search by bitstate: 2^29 bits are 64 MB. */
const BITSTATE_W = 29;

interface Configuration {
  readonly name: string;
  /** Settings of floors.pml. */
  readonly settings: readonly string[];
  /** Part of all histories, chosen by hash, for at most this time (s). null: every history. */
  readonly bitstateS: number | null;
}

const HEALTHY_TWO = ['N=2', 'HEALTHY', 'TIMELY'];
const HEALTHY = ['N=3', 'HEALTHY', 'TIMELY', 'PRESSES=3', 'ENDS=3', 'RANKS=4'];
const CUT_TWO = ['N=2', 'CUTS=1', 'PRESSES=2', 'ENDS=1'];
const LOSSY_TWO = ['N=2', 'APART', 'TIMELY', 'PRESSES=2', 'ENDS=1', 'LOSSES=1'];
const APART = ['N=3', 'APART', 'TIMELY', 'PRESSES=2', 'ENDS=1', 'FRAMES=0'];

const smallest: Configuration = {
  name: 'two relays, nothing breaks',
  settings: HEALTHY_TWO,
  bitstateS: null,
};

const configurations: readonly Configuration[] = [
  smallest,
  { name: 'three relays with preemption, nothing breaks', settings: HEALTHY, bitstateS: null },
  { name: 'two relays, one cut, timers at any moment', settings: CUT_TWO, bitstateS: null },
  { name: 'two relays apart, one message lost', settings: [...LOSSY_TWO, 'RANKS=1'], bitstateS: null },
  { name: 'three relays apart (1|1|1), healed pair by pair', settings: APART, bitstateS: 30 },
];

/** Faults that Spin must find, each in a configuration that is right without it. */
const faults: readonly { readonly name: string; readonly settings: readonly string[] }[] = [
  {
    name: 'turns are compared without their home',
    settings: [...LOSSY_TWO, 'FAULT_NO_HOME_IN_TURN'],
  },
  {
    name: 'order ignores `after`',
    settings: [...HEALTHY, 'FAULT_NO_AFTER'],
  },
  {
    name: '`after` is the last turn that began, not the last one granted',
    settings: [...HEALTHY, 'FAULT_AFTER_IS_LAST_BEGUN'],
  },
  {
    name: 'the clock acts on a turn of a foreign home',
    settings: [...LOSSY_TWO, 'RANKS=1', 'FAULT_CLOCK_ACTS_ON_FOREIGN'],
  },
  {
    name: 'a home does not look at the highest turn of a part',
    settings: [...CUT_TWO, 'FAULT_NO_TOP'],
  },
  {
    name: 'verdicts of any relay count',
    settings: ['N=3', 'APART', 'TIMELY', 'PRESSES=2', 'ENDS=0', 'FRAMES=0', 'FAULT_VERDICT_OF_ANYBODY'],
  },
];

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
async function search(
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

t.setTimeout(170_000);

t.test('no history of the model breaks a promise', { skip: unless('spin', 'gcc', 'timeout') }, async (t) => {
  if (!proves) t.comment('the smallest configuration only: `make prove` runs all of them');
  for (const { name, settings, bitstateS } of proves ? configurations : [smallest]) {
    const { errors, isComplete, figures, steps } = await search(t.testdir({}), settings, bitstateS);
    t.comment(`${name}: ${errors} errors, ${figures}`);
    t.equal(errors, 0, `${name}\n${steps}`);
    t.ok(isComplete, `${name}: the search ended by itself or by its time`);
  }
});

t.test(
  'Spin finds a counter-example for each planted fault',
  { skip: proves ? unless('spin', 'gcc', 'timeout') : 'takes long: `make prove` runs it' },
  async (t) => {
    for (const { name, settings } of faults) {
      const { errors, figures } = await search(t.testdir({}), settings);
      t.comment(`${name}: ${errors} errors, ${figures}`);
      t.equal(errors, 1, name);
    }
  },
);
