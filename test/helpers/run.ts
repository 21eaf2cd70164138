// Runs a command with a PostgreSQL server for its tests: node dist/test/helpers/run.js <command> [arguments...]
// With SECOND_TRIES in the environment, so many files that failed are run once more, alone. Their names stay in the log.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
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
const folder = mkdtempSync(join(tmpdir(), 'tests-'));
/** A line for each test that failed. */
const failed = join(folder, 'failed');
writeFileSync(failed, '');
try {
  const env = { ...process.env, TEST_CLUSTER_URL: cluster.url, FAILED_TESTS: failed };
  const command = process.argv.slice(2);
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
} finally {
  rmSync(folder, { recursive: true, force: true });
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
