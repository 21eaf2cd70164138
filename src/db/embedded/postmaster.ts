// Runs the PostgreSQL server once, under a guard process that ends it when this process ends for any reason.
import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { plainEnvironment } from './account.js';
import type { Place } from './cluster.js';
import { readPidFile } from './pid-file.js';

/** A server process from its start to its end. */
export interface Postmaster {
  /** True once it accepts connections, false when it ended before. */
  ready(): Promise<boolean>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  /** What it wrote to its log, the last 4,000 bytes of it. */
  lastWords(): Promise<string>;
  /** Shuts it down, after 10 s by force, and returns when it has ended. */
  stop(): Promise<void>;
}

/*
 * The end of our standard input means that node is gone (also by kill -9) or wants PostgreSQL gone: SIGINT is its
 * fast shutdown. Repeated, because a server that has just begun still ignores the signal, as it inherits that from us.
 * We ignore what would end us before PostgreSQL. The last line ends our process group: the watcher, its sleep, us.
 * Descriptor 3 is the server lock. Every process of PostgreSQL inherits it and holds it to its end. The guard and the
 * watcher write no data and give it up.
 */
const GUARD = `
trap '' HUP INT QUIT TERM
exec 4<&0 5>&1 >&2
"$@" </dev/null 4<&- 5>&- &
postgres=$!
exec 3<&-
echo "$postgres" >&5
exec 5>&-
{ read -r _ <&4; while kill -INT "$postgres"; do sleep 1; done; } 2>/dev/null &
exec 4<&-
wait "$postgres"
kill -KILL 0
`;

interface Options {
  readonly place: Place;
  readonly binaries: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Descriptor of the server lock (claim.ts), which every process of the server inherits. */
  readonly lockFd: number;
}

/** Starts the server on the cluster. Its log goes to postgres.log in the data folder. */
export async function startPostmaster(options: Options): Promise<Postmaster> {
  const { place } = options;
  const log = await openLog(place);
  const logStart = (await log.stat()).size;
  let failure = '';
  let guard: ChildProcess;
  let ended: Promise<void>;
  try {
    guard = spawnGuard({ ...options, logFd: log.fd });
    // Listens before anything is awaited, for neither event comes twice.
    ended = new Promise((resolve) => {
      guard.once('exit', () => resolve());
      guard.once('error', (error) => {
        failure = error.message; // no process came to be
        resolve();
      });
    });
  } finally {
    await log.close();
  }
  return {
    ready: watchPidFile({ guard, ended, cluster: place.cluster }),
    ended,
    lastWords: async () => failure || (await readEnd({ path: logPath(place), start: logStart })),
    stop: () => stop({ guard, ended }),
  };
}

function spawnGuard(options: Options & { logFd: number }): ChildProcess {
  const { place, binaries, settings, logFd, lockFd } = options;
  const server = [join(binaries, 'bin', 'postgres'), '-D', place.cluster];
  for (const [name, value] of Object.entries(settings)) server.push('-c', `${name}=${value}`);
  return spawn('/bin/sh', ['-c', GUARD, 'postgres-guard', ...server], {
    uid: place.account.uid,
    gid: place.account.gid,
    cwd: '/',
    // A session of its own: Ctrl-C in the terminal reaches us alone, and we decide when the database goes.
    detached: true,
    // A lock left behind under this number is stale to PostgreSQL, as one with its own or its parent's is.
    env: { ...plainEnvironment, PG_GRANDPARENT_PID: String(process.pid) },
    stdio: ['pipe', 'pipe', logFd, lockFd],
  });
}

function watchPidFile(run: {
  guard: ChildProcess;
  ended: Promise<void>;
  cluster: string;
}): Postmaster['ready'] {
  let running = true;
  void run.ended.then(() => {
    running = false;
  });
  let pid = Number.NaN;
  run.guard.stdout?.once('data', (line) => {
    pid = Number(String(line));
  });
  return async () => {
    // No time limit: recovery after a crash takes as long as there is log to replay.
    while (running) {
      const file = await readPidFile(run.cluster);
      if (file?.pid === pid && file.ready) return true;
      await delay(10);
    }
    return false;
  };
}

async function stop({ guard, ended }: { guard: ChildProcess; ended: Promise<void> }): Promise<void> {
  guard.stdin?.destroy();
  // SIGQUIT ends all server processes without a checkpoint. The next start recovers from the log.
  for (const [signal, patienceMs] of [
    ['SIGQUIT', 10_000],
    ['SIGKILL', 5_000],
  ] as const) {
    const late = await Promise.race([ended, delay(patienceMs, 'late', { ref: false })]);
    if (late === undefined || guard.pid === undefined) return;
    process.kill(-guard.pid, signal);
  }
  await ended;
}

// Quiet by `log_min_messages`. Beyond this size it begins anew at the next start.
const LOG_BYTES_MAX = 8 * 1024 * 1024;

function logPath({ dataDir }: Place): string {
  return join(dataDir, 'postgres.log');
}

async function openLog(place: Place): Promise<FileHandle> {
  const log = await open(logPath(place), 'a', 0o600);
  if ((await log.stat()).size > LOG_BYTES_MAX) await log.truncate();
  // Root's file would be closed to the account, should that start the service next time.
  await log.chown(place.account.uid, place.account.gid);
  return log;
}

async function readEnd({ path, start }: { path: string; start: number }): Promise<string> {
  const written = (await readFile(path)).subarray(start);
  return written.subarray(-4_000).toString().trim();
}
