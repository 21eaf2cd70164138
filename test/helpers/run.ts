// Runs a command with a PostgreSQL server for its tests: node dist/test/helpers/run.js <command> [arguments...]
// With TIMES in the environment it prints at the end what each test file cost. With SECOND_TRIES so many files that failed
// are run once more, alone. Their names stay in the log.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startThrowaway } from './database/throwaway.js';

/** For a command that was told to end. After that it is killed. */
const ENDING_MS_MAX = 10_000;

let running: ChildProcess | undefined;
let interruptedBy: NodeJS.Signals | null = null;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // We stay until the command has answered the signal, to stop the server after it.
  process.on(signal, () => {
    interruptedBy = signal;
    signalGroup(signal);
    setTimeout(() => signalGroup('SIGKILL'), ENDING_MS_MAX).unref();
  });
}

const cluster = await startThrowaway();
const folder = mkdtempSync(join(tmpdir(), 'tests-'));
/** A line for each test that failed. */
const failed = join(folder, 'failed');
/** A line for each process of test files that ended. */
const times = join(folder, 'times');
for (const file of [failed, times]) writeFileSync(file, '');
try {
  const command = process.argv.slice(2);
  const env = {
    ...process.env,
    TEST_CLUSTER_URL: cluster.url,
    FAILED_TESTS: failed,
    ...(process.env.TIMES ? { TEST_TIMES: times } : {}),
  };
  process.exitCode = await run(command, env);
  // Once more, apart from the reporter's list of what was skipped: a log that is cut still names them.
  const lines = readFileSync(failed, 'utf8');
  process.stderr.write(lines);
  const files = [...new Set(lines.match(/(?<=^failed: )\S+/gm))];
  const mayBeTriedAgain = files.length > 0 && files.length <= Number(process.env.SECOND_TRIES ?? 0);
  if (mayBeTriedAgain && interruptedBy === null) {
    process.exitCode = await run(command, { ...env, TEST_FILES: files.join(' ') });
    if (process.exitCode === 0) process.stderr.write(`passed at the second try only:\n${lines}`);
  }
  process.stdout.write(table(readFileSync(times, 'utf8')));
} finally {
  rmSync(folder, { recursive: true, force: true });
  await cluster.stop();
}

/** The command's exit code, or, as a shell reports it, 128 and the number of the signal that ended it. */
function run([command = '', ...args]: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    if (interruptedBy !== null) return resolve(128 + constants.signals[interruptedBy]);
    // A process group of its own, which ends with the command or with us, whichever is first. What a test started and
    // did not end is in it as well.
    running = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
    const release = leash(running.pid ?? 0);
    running.once('error', reject); // no such command
    running.once('exit', (code, signal) => {
      signalGroup('SIGKILL');
      release();
      resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']);
    });
  });
}

function signalGroup(signal: NodeJS.Signals): void {
  try {
    if (running?.pid !== undefined) process.kill(-running.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // all of it has ended
  }
}

/** Kills the process group when we end before `release`, be it by kill -9: the pipe is closed then. */
function leash(group: number): () => void {
  const kill = `read -r _ || { kill -KILL "-$1"; sleep 2; rm -rf "$2" "$3"; }`;
  const args = ['-c', kill, 'leash', String(group), folder, cluster.folder];
  const child = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  return () => child.stdin.end('\n');
}

/** Lines of "CPU wall files", the dearest first, with their sums. */
function table(lines: string): string {
  const rows = lines.split('\n').filter((line) => line !== '');
  if (rows.length === 0) return '';
  const parts = rows.map((row) => row.split(' ')).sort((one, other) => Number(other[0]) - Number(one[0]));
  const sum = (column: number) => parts.reduce((total, row) => total + Number(row[column]), 0).toFixed(1);
  const shown = parts.map(([cpu = '', wall = '', ...files]) =>
    [cpu.padStart(8), wall.padStart(8), files.join(' ').replaceAll(/dist\/test\/|\.test\.js/g, '')].join(' '),
  );
  return `\n   CPU s   wall s  file\n${shown.join('\n')}\n${sum(0).padStart(8)} ${sum(1).padStart(8)}  in all\n`;
}
