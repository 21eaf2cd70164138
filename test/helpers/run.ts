// Runs a command with a PostgreSQL server for its tests: node dist/test/helpers/run.js <command> [arguments...]
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { startThrowaway } from './database/throwaway.js';

let running: ChildProcess | undefined;
let interruptedBy: NodeJS.Signals | null = null;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // We stay until the command has answered the signal, to stop the server after it.
  process.on(signal, () => {
    interruptedBy = signal;
    running?.kill(signal);
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
    running = spawn(command, args, { env, stdio: 'inherit' });
    running.once('error', reject); // no such command
    running.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
}
