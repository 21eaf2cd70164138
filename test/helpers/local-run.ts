// Runs a command for trying out, such as `make cluster`, as its own process.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Test } from 'tap';

/** What it is started with: arguments of Node, settings over free ports, and the working directory. */
export interface Starting {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Starts it on free ports. `prints` resolves with the match when it has printed such a text. */
export function startLocal(t: Test, { args, env, cwd }: Starting) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, PORT: '0', WS_PORT: '0', METRICS_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
  });
  const exited = once(child, 'close') as Promise<[code: number | null]>;
  t.teardown(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  return {
    ...outputOf(child),
    pid: child.pid ?? 0,
    signal: (name: NodeJS.Signals) => child.kill(name),
    /** Closes the pipe that it prints to. */
    closeOutput: () => child.stdout?.destroy(),
    exited,
  };
}

function outputOf(child: ChildProcess) {
  let text = '';
  let errors = '';
  let look = () => {};
  child.stderr?.on('data', (chunk: string) => {
    errors += chunk;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      look();
    });
  }
  const prints = (sign: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      look = () => {
        const found = sign.exec(text);
        if (found !== null) resolve(found);
      };
      look();
      child.once('close', () => reject(new Error(`it ended: ${text}`)));
    });
  return { text: () => text, errors: () => errors, prints };
}
