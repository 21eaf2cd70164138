// The service as a process of its own that is stopped, ended, killed and started again on the same ports.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../helpers/programs.js';
import type { Absence, Exit, Footprint } from './history.js';

/** Of this build. */
export const MAIN = process.env.CHAOS_MAIN ?? fileURLToPath(new URL('../../src/main.js', import.meta.url));
const LINES_KEPT = 400;
const START_MS_MAX = 30_000;
/** Let the garbage go before the memory is read. The signal does nothing without a listener. */
const COLLECTOR = `data:text/javascript,process.on('SIGWINCH', () => globalThis.gc())`;

export interface Server {
  /** What it runs when it is started. */
  main: string;
  readonly rest: string;
  readonly wsPort: number;
  readonly exits: Exit[];
  readonly absences: Absence[];
  /** Log lines of level error and fatal, or which are no log lines at all. */
  readonly faults: string[];
  /** What it last wrote, for evidence. */
  lastLines(count: number): string[];
  start(): Promise<void>;
  /** kill -9, and resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM, and resolves when the process is gone. */
  terminate(): Promise<void>;
  /** SIGSTOP for so long. */
  suspend(ms: number): Promise<void>;
  footprint(): Promise<Footprint>;
  /** Ends it for good. What it says to that counts no more. */
  stop(): Promise<void>;
}

/** A service that is not started yet. */
export async function createServerProcess(environment: Record<string, string>): Promise<Server> {
  const [port, wsPort] = [await freePort(), await freePort()];
  const env = { ...environment, PORT: String(port), WS_PORT: String(wsPort), METRICS_PORT: '0' };
  const exits: Exit[] = [];
  const absences: Absence[] = [];
  const faults: string[] = [];
  const lines: string[] = [];
  let child: ChildProcess | null = null;
  let gone: Promise<unknown> = Promise.resolve();
  let asked: { readonly what: Exit['asked']; readonly atMs: number } = { what: 'nothing', atMs: 0 };

  async function start(): Promise<void> {
    const started = spawn(
      process.execPath,
      ['--expose-gc', '--import', COLLECTOR, '--enable-source-maps', server.main],
      {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    child = started;
    asked = { what: 'nothing', atMs: 0 };
    gone = once(started, 'close').then(([code, signal]) => {
      const atMs = performance.now();
      exits.push({
        atMs,
        how: code ?? signal,
        asked: asked.what,
        afterMs: asked.atMs === 0 ? 0 : atMs - asked.atMs,
      });
      child = null;
    });
    const ready = new Promise<void>((resolve) => {
      readLines(started.stdout, (line) => line === 'Ready' && resolve());
    });
    readLines(started.stderr, (line) => {
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
      if (isFault(line)) faults.push(line);
    });
    const late = pause(START_MS_MAX, 'late' as const, { ref: false });
    const outcome = await Promise.race([ready, gone.then(() => 'ended' as const), late]);
    if (outcome !== undefined)
      throw new Error(`${server.main} did not start (${outcome}): ${lines.slice(-5).join('\n')}`);
    const away = absences.at(-1);
    // An absence ends with the start that follows it.
    if (away?.untilMs === Number.POSITIVE_INFINITY)
      absences[absences.length - 1] = { ...away, untilMs: performance.now() };
  }

  async function end(what: 'kill' | 'term'): Promise<void> {
    if (child === null) return;
    asked = { what, atMs: performance.now() };
    const kind = what === 'kill' ? 'killed' : 'restarted';
    absences.push({ kind, fromMs: asked.atMs, untilMs: Number.POSITIVE_INFINITY });
    child.kill(what === 'kill' ? 'SIGKILL' : 'SIGTERM');
    await gone;
  }

  const server: Server = {
    main: MAIN,
    rest: `http://127.0.0.1:${port}`,
    wsPort,
    exits,
    absences,
    faults,
    lastLines: (count) => lines.slice(-count),
    start,
    kill: () => end('kill'),
    terminate: () => end('term'),
    async suspend(ms) {
      const suspended = child;
      if (suspended === null) return;
      const fromMs = performance.now();
      suspended.kill('SIGSTOP');
      await pause(ms);
      suspended.kill('SIGCONT');
      absences.push({ kind: 'stopped', fromMs, untilMs: performance.now() });
    },
    async footprint() {
      child?.kill('SIGWINCH');
      await pause(200);
      return footprintOf(child?.pid);
    },
    async stop() {
      child?.kill('SIGKILL');
      await gone;
    },
  };
  return server;
}

function readLines(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
}

/** Pino's levels: 50 error, 60 fatal. */
const isFault = (line: string) =>
  line !== '' && (!line.startsWith('{') || /"level":[56]0\b/.test(line)) && !line.includes(LOST_AT_THE_END);

/** A node that ends while its database is away says how much speech it has not stored. That is no bug. */
const LOST_AT_THE_END = '"msg":"recorded frames lost"';

/** Linux only. Elsewhere all zero, and nothing is judged. */
async function footprintOf(pid: number | undefined): Promise<Footprint> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const kiB = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
    return { residentMiB: Math.round(kiB / 1024), descriptors: (await readdir(`/proc/${pid}/fd`)).length };
  } catch {
    return { residentMiB: 0, descriptors: 0 }; // no /proc, or the process is gone, which I1 tells
  }
}
