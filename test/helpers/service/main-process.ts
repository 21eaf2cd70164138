// The service as a process of its own, started by its command and its environment.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url));

/**
 * Resolves when the service is ready or has ended. `within` is a command that runs the one after it, under limits of its
 * own.
 */
export async function startMain(
  t: Test,
  env: Readonly<Record<string, string>>,
  within: readonly string[] = [],
) {
  const [command = '', ...args] = [...within, process.execPath, '--enable-source-maps', MAIN];
  const child = spawn(command, args, { env, stdio: 'pipe' });
  const exited = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let output = '';
  const isReady = await new Promise<boolean>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (/^Ready$/m.test(output)) resolve(true);
      });
    }
    child.once('close', () => resolve(false));
  });
  return {
    /** False: it ended before. */
    isReady,
    pid: child.pid,
    /** Both streams so far. */
    output: () => output,
    /** What it printed under this name when it listened, such as REST. '' without such a line. */
    address: (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(output)?.[1] ?? '',
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    /** How it ended. */
    exited,
  };
}
