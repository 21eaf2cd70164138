// `make bench`: runs one scenario, prints it and keeps it in bench/results. `run.js [SCENARIO]`, or SCENARIO=...
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { choosePins, describeMachine } from './processes.js';
import type { Scenario } from './scenario.js';
import { flood } from './scenarios/flood.js';
import { floorAccess } from './scenarios/floor-access.js';
import { idleMemory } from './scenarios/idle-memory.js';
import { lateEntry } from './scenarios/late-entry.js';
import { oneTalker500 } from './scenarios/one-talker-500.js';
import { slowListeners } from './scenarios/slow-listeners.js';

/** Each with the seconds it takes, roughly. */
const SCENARIOS: Readonly<Record<string, { readonly play: Scenario; readonly takesS: number }>> = {
  'one-talker-500': { play: oneTalker500, takesS: 30 },
  'floor-access': { play: floorAccess, takesS: 65 },
  'late-entry': { play: lateEntry, takesS: 50 },
  'slow-listeners': { play: slowListeners, takesS: 80 },
  flood: { play: flood, takesS: 80 },
  'idle-memory': { play: idleMemory, takesS: 30 },
};
const RESULTS = 'bench/results';
/** A run that hangs ends by itself. */
const RUN_MS_MAX = 120_000;

process.exitCode = await run(process.argv[2] ?? process.env.SCENARIO ?? 'one-talker-500');

/** 0: measured, whatever the figures say; 1: it could not be. */
async function run(name: string): Promise<number> {
  const scenario = Object.hasOwn(SCENARIOS, name) ? SCENARIOS[name] : undefined;
  if (scenario === undefined || process.platform !== 'linux') {
    console.error(
      scenario ? 'the bench reads /proc: Linux only' : `scenarios: ${Object.keys(SCENARIOS).join(', ')}`,
    );
    return 1;
  }
  const signal = endOfRun();
  const cores = choosePins(process.env);
  const startedAt = new Date().toISOString();
  console.log(`${name}: about ${scenario.takesS} s`);
  try {
    const { lines, result } = await scenario.play({
      cores,
      signal,
      progress: (line) => console.log(`  ${line}`),
    });
    console.log(`\n${lines.join('\n')}`);
    console.log(
      `cores: server ${cores.server ?? 'not pinned'}, generator ${cores.generator ?? 'not pinned'}`,
    );
    console.log(
      `written to ${await keep(name, { scenario: name, startedAt, commit: readCommit(), machine: describeMachine(), cores, ...result })}`,
    );
    return 0;
  } catch (error) {
    console.error(
      `not measured: ${signal.aborted ? signal.reason : error instanceof Error ? error.message : error}`,
    );
    return 1;
  }
}

/** Aborted by a signal or by the clock; each further Ctrl-C is ignored, for all that is left to do is bounded. */
function endOfRun(): AbortSignal {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end.abort(signal));
  setTimeout(() => end.abort('it took too long'), RUN_MS_MAX).unref();
  return end.signal;
}

async function keep(name: string, result: object): Promise<string> {
  await mkdir(RESULTS, { recursive: true });
  const file = `${RESULTS}/${name}.json`;
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

/** What was measured, as far as git knows: null outside a repository. */
function readCommit(): { readonly hash: string; readonly srcChanged: boolean } | null {
  const git = (...args: string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return { hash: git('rev-parse', 'HEAD'), srcChanged: git('status', '--porcelain', 'src') !== '' };
  } catch {
    // Expected: no git, or no repository.
    return null;
  }
}
