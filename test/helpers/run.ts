// Runs a command with a PostgreSQL server for its tests: node dist/test/helpers/run.js <command> [arguments...]
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
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
try {
  process.exitCode = await run(process.argv.slice(2), { ...process.env, TEST_CLUSTER_URL: cluster.url });
} finally {
  await cluster.stop();
}

/** The command's exit code, or, as a shell reports it, 128 and the number of the signal that ended it. */
function run([command = '', ...args]: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    if (interruptedBy !== null) return resolve(128 + constants.signals[interruptedBy]);
    // A process group of its own, which ends with the command or with us, whichever is first. What a test started and
    // did not end is in it as well.
    const { stdin } = leash();
    const named = ['-c', 'echo $$ >&3; exec 3>&-; exec "$@"', 'command', command, ...args];
    running = spawn('/bin/sh', named, {
      env,
      stdio: ['ignore', 'inherit', 'inherit', stdin],
      detached: true,
    });
    running.once('error', reject); // no shell, which answers 127 when there is no such command
    running.once('exit', (code, signal) => {
      signalGroup('SIGKILL');
      stdin.end('\n');
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

/**
 * Kills the process group that is named on its input, unless a second line follows: without one we have ended, be it by
 * kill -9. The group names itself before it starts anything.
 */
function leash() {
  const kill = 'read -r group; read -r _ || { kill -KILL "-$group"; sleep 2; rm -rf "$1"; }';
  const args = ['-c', kill, 'leash', cluster.folder];
  return spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
}
