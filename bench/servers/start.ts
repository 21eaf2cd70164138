// Starts a server as a process of its own, waits until it is ready, and ends it with the bench.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startProgram } from '../machine/processes.js';
import type { Target } from '../radios/raw-radio.js';

/** A server that is ready for radios. */
export interface Server extends Target {
  /** One process, all of whose threads are the server's. */
  readonly pid: number;
}

export interface ServerOptions {
  readonly cores: string | null;
  readonly signal: AbortSignal;
  /** Environment beyond what makes it run at all. Belongs into the result. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Of Node or V8, such as `--trace-gc`. For our service only. */
  readonly nodeFlags?: readonly string[];
  /** Gets what the server prints, in pieces as they come. */
  readonly onOutput?: (text: string) => void;
}

/** How a server is started, and when it is ready. */
export interface Start {
  readonly command: readonly string[];
  /** Where radios connect, from all it has printed. null: not ready yet. */
  readonly readUrl: (output: string) => string | null;
}

/** A start takes 2 to 4 s, several nodes one after the other. On a machine with much else to do it takes ten times that. */
const START_MS_MAX = 60_000;
/** The service gives itself 15 s. */
const STOP_MS_MAX = 20_000;

/** Ours, and the peers on Node, print `WebSocket  ws://...` and then `Ready`. */
export function startOfNode(file: URL, flags: readonly string[] = [], args: readonly string[] = []): Start {
  return {
    command: [process.execPath, ...flags, file.pathname, ...args],
    readUrl(output) {
      const url = /^WebSocket +(\S+)$/m.exec(output)?.[1];
      return url !== undefined && /^Ready$/m.test(output) ? url : null;
    },
  };
}

/** A temporary folder that is gone when `use` has settled. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'radio-bench-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The process has ended when `use` has settled. `printed` is the output until the server was ready. */
export async function withServer<T>(
  start: Start,
  options: ServerOptions,
  use: (server: Omit<Server, 'dialect'>, printed: string) => Promise<T>,
): Promise<T> {
  const { url, pid, tail, stop } = await startServer(start, options);
  try {
    return await use({ url, pid }, tail());
  } catch (error) {
    if (!options.signal.aborted) console.error(tail());
    throw error;
  } finally {
    await stop();
  }
}

/** A server that its starter stops. */
export interface Started extends Omit<Server, 'dialect'> {
  /** Until it was ready all of its output, then the end of it. */
  readonly tail: () => string;
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<unknown>;
  readonly stop: () => Promise<void>;
}

/** Resolves when the server is ready. Otherwise the process has ended when it rejects. */
export async function startServer(
  { command, readUrl }: Start,
  { cores, signal, settings, onOutput }: ServerOptions,
): Promise<Started> {
  const child = startProgram(command, {
    cores,
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const output = readOutput(child, readUrl, onOutput);
  const stop = async () => {
    child.kill('SIGTERM');
    const kill = setTimeout(STOP_MS_MAX, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
    await Promise.race([exited, kill.then(() => exited)]);
  };
  try {
    const url = await Promise.race([
      output.url,
      exited.then(() => Promise.reject(new Error('the server ended before it was ready'))),
      setTimeout(START_MS_MAX, undefined, { signal, ref: false }).then(() =>
        Promise.reject(new Error('the server was not ready in time')),
      ),
    ]);
    return { url, pid: child.pid ?? 0, tail: output.tail, exited, stop };
  } catch (error) {
    if (!signal.aborted) console.error(output.tail());
    await stop();
    throw error;
  }
}

/** Until it is ready all of the output is kept, then the end of it. */
function readOutput(
  { stdout, stderr }: ChildProcess,
  readUrl: Start['readUrl'],
  onOutput: (text: string) => void = () => {},
) {
  let tail = '';
  const url = new Promise<string>((resolve) => {
    let isReady = false;
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        tail += chunk;
        onOutput(chunk);
        if (isReady) tail = tail.slice(-8_000);
        const address = isReady ? null : readUrl(tail);
        if (address === null) return;
        isReady = true;
        resolve(address);
      });
    }
  });
  return { url, tail: () => tail };
}
