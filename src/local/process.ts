// Starts a program beside this process, keeps its output in a file, and tells its end: for the local cluster.
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A program that runs, or has run. */
export interface LocalProcess {
  readonly name: string;
  readonly pid: number;
  /** What it printed until it was ready. */
  readonly output: string;
  /** Ends it by SIGTERM, after 30 s by SIGKILL. Resolves when it has ended. */
  stop(): Promise<void>;
}

export interface LocalProgram {
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Both of its streams. What an earlier start wrote is gone. */
  readonly logFile: string;
  /** Of what it prints once it is ready. */
  readonly readySign: RegExp;
  /** Is told of an end that `stop` did not cause: an exit code or a signal. */
  readonly onEnd: (how: string) => void;
  /** Gets the process before it is ready, so that it can be stopped. */
  readonly onStart: (started: Pick<LocalProcess, 'stop'>) => void;
}

/** Longer than a node takes to drain. */
const STOP_MS_MAX = 30_000;

/** Resolves when the program is ready. Rejects with its last sentence when it ends before. */
export async function startProcess(program: LocalProgram): Promise<LocalProcess> {
  const { name, env, logFile, readySign, onEnd, onStart } = program;
  const [file, ...args] = program.command;
  // A process group of its own: Ctrl-C reaches us alone, and we end everything in order.
  // LIMIT: it goes on when we are killed with SIGKILL.
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = endOf(child);
  const log = createWriteStream(logFile, { mode: 0o600 });
  log.on('error', () => {}); // a full disk: the program goes on
  let output = '';
  let isReady = false;
  let isStopped = false;
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        log.write(text);
        if (isReady) return;
        output += text;
        isReady = readySign.test(output);
        if (isReady) resolve();
      });
    }
  });
  const started = {
    async stop() {
      isStopped = true;
      child.kill('SIGTERM');
      const kill = delay(STOP_MS_MAX, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
      await Promise.race([ended, kill.then(() => ended)]);
    },
  };
  onStart(started);
  void ended.then((how) => {
    log.end();
    if (isReady && !isStopped) onEnd(how);
  });
  await Promise.race([
    ready,
    ended.then((how) => {
      throw new Error(`${name} ended before it was ready (${how}): ${lastSentence(output)}`);
    }),
  ]);
  return { ...started, name, pid: child.pid ?? 0, output };
}

/** Resolves with the exit code or signal, or with the reason why no process came to be. */
const endOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });

/** The address that a node has printed behind this name. */
export const addressIn = (output: string, name: string): string =>
  new RegExp(`^${name} +(\\S+)$`, 'm').exec(output)?.[1] ?? '';

/** The last line that is no JSON: lines of the log may come behind it. Without one, the last line. */
export function lastSentence(text: string): string {
  const lines = text.trimEnd().split('\n');
  return lines.findLast((line) => line.trim() !== '' && !line.startsWith('{')) ?? lines.at(-1) ?? '';
}
