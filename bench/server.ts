// The servers under load: ours and its peers, as processes of their own that end with the bench.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startNode } from './processes.js';
import type { Target } from './wire.js';

/** A server that is ready for radios. */
export interface Server extends Target {
  readonly pid: number;
}

/** Ours, with what is needed to write users into its database. */
export interface Relay extends Server {
  readonly dataDir: string;
  readonly jwtSecret: string;
}

export interface ServerOptions {
  readonly cores: string | null;
  readonly signal: AbortSignal;
  /** Environment beyond what makes it run at all; belongs into the result. */
  readonly settings?: Readonly<Record<string, string>>;
}

const START_MS_MAX = 20_000;
/** The service gives itself 15 s. */
const STOP_MS_MAX = 20_000;

/** Our service with a database of its own in a temporary folder; both are gone when `use` has settled. */
export async function withRelay<T>(options: ServerOptions, use: (relay: Relay) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'radio-bench-'));
  const jwtSecret = 'a bench signs its own tokens: no secret';
  const settings = {
    DATA_DIR: dataDir,
    PORT: '0',
    WS_PORT: '0',
    METRICS_PORT: '0',
    JWT_SECRET: jwtSecret,
    ...options.settings,
  };
  try {
    return await withServer(new URL('../src/main.js', import.meta.url), { ...options, settings }, (server) =>
      use({ ...server, greets: true, dataDir, jwtSecret }),
    );
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The engine alone (peers/bare.ts). */
export function withBare<T>(options: ServerOptions, use: (bare: Server) => Promise<T>): Promise<T> {
  return withServer(new URL('./peers/bare.js', import.meta.url), options, (server) =>
    use({ ...server, greets: false }),
  );
}

async function withServer<T>(
  file: URL,
  { cores, signal, settings }: ServerOptions,
  use: (server: Omit<Server, 'greets'>) => Promise<T>,
): Promise<T> {
  const child = startNode(file, {
    cores,
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const output = readOutput(child);
  try {
    const url = await Promise.race([
      output.url,
      exited.then(() => Promise.reject(new Error('the server ended before it was ready'))),
      setTimeout(START_MS_MAX, undefined, { signal, ref: false }).then(() =>
        Promise.reject(new Error('the server was not ready in time')),
      ),
    ]);
    return await use({ url, pid: child.pid ?? 0 });
  } catch (error) {
    if (!signal.aborted) console.error(output.tail());
    throw error;
  } finally {
    child.kill('SIGTERM');
    const kill = setTimeout(STOP_MS_MAX, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
    await Promise.race([exited, kill.then(() => exited)]);
  }
}

/** Servers print `WebSocket  ws://...` and then `Ready`. */
function readOutput({ stdout, stderr }: ChildProcess) {
  let tail = '';
  const url = new Promise<string>((resolve) => {
    let address: string | undefined;
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        tail = (tail + chunk).slice(-8_000);
        address ??= /^WebSocket +(\S+)$/m.exec(tail)?.[1];
        if (address !== undefined && /^Ready$/m.test(tail)) resolve(address);
      });
    }
  });
  return { url, tail: () => tail };
}
