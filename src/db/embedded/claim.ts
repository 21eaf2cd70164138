// Decides which process owns the database of a data folder, also between containers that share only the volume.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Place } from './cluster.js';
import { type Lock, tryLock } from './lock.js';
import { interruptOrphan } from './pid-file.js';

/** The sole right to create, start and stop the database. Held until this process ends or gives it up. */
export interface Claim {
  /** May be called again. */
  release(): Promise<void>;
}

/** The owner of the database, in words for a message. */
export interface Taken {
  readonly takenBy: string;
}

/*
 * Two locks, because a live owner and a server that is about to end need different answers. The launcher lock is held
 * by the process that runs the database: a second start is rejected at once. The server lock is held by every process
 * of a PostgreSQL server, and by nothing else once the server runs: the next server waits for it. So no two servers
 * ever write at once, whichever of launcher, guard and server is killed.
 *
 * They are beside the cluster, not in DATA_DIR where the cluster is a link: several links may lead to one cluster.
 *
 * LIMIT: on a network file system these locks work between machines only when it passes flock(2) to its server, as
 * NFS does unless it is mounted with `nolock` or `local_lock`.
 */
const LAUNCHER_LOCK = 'launcher.lock';
const SERVER_LOCK = 'server.lock';

/** Claims the database, or says which process has it. */
export async function claim(place: Place): Promise<Claim | Taken> {
  const path = join(dirname(place.cluster), LAUNCHER_LOCK);
  const lock = await tryLock(path, place.account);
  if (lock === null) return { takenBy: (await readFile(path, 'utf8')) || 'just started' };
  try {
    // For the operator whose second start is rejected. In most orchestrators the host is the container's name.
    await lock.file.truncate();
    await lock.file.write(`host ${hostname()}, process ${process.pid}, since ${new Date().toISOString()}`, 0);
  } catch (error) {
    await lock.release();
    throw error;
  }
  return lock;
}

/**
 * Locks out every other server, once the one before has ended. Only for the owner of the claim. The new server must
 * inherit the lock's file. Throws when the server before does not end within 10 s, or when `signal` is aborted.
 */
export async function lockServer(job: {
  place: Place;
  /** Socket folder. */
  sockets: string;
  log: Pick<Logger, 'warn'>;
  signal?: AbortSignal | undefined;
}): Promise<Lock> {
  const { place, sockets, log, signal } = job;
  const path = join(dirname(place.cluster), SERVER_LOCK);
  const startMs = performance.now();
  for (let attempt = 1; ; attempt++) {
    const lock = await tryLock(path, place.account);
    if (lock !== null) return lock;
    // Not at the first attempt: after a kill -9 of a server its other processes live for some 20 ms.
    if (attempt === 2)
      log.warn({ dataDir: place.dataDir }, 'waiting for the database server of an earlier start');
    const waitedMs = performance.now() - startMs;
    if (waitedMs > PREDECESSOR_MS_MAX) throw new Error(stillRunning(place));
    if (waitedMs > ORPHAN_MS) await interruptOrphan(place.cluster, sockets);
    await delay(100, undefined, { signal });
  }
}

const PREDECESSOR_MS_MAX = 10_000;
// The predecessor's guard needs a tenth of a second. When nothing has ended by now, it was killed too.
const ORPHAN_MS = 2_000;

const stillRunning = ({ dataDir }: Place) =>
  `cannot start the embedded database: a PostgreSQL server of an earlier start still uses DATA_DIR ${dataDir}, ` +
  'possibly in another container. Stop it, then start again.';
