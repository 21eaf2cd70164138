// Reads postmaster.pid, the lock a PostgreSQL server holds on its data directory.
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, hasCode, readIfThere } from '../../files.js';
import { isAlive } from './drafts.js';

interface PidFile {
  readonly pid: number;
  /** First of the folders it listens in. */
  readonly socketFolder: string;
  /** It accepts connections. */
  readonly ready: boolean;
}

/** What the file says, or null when there is none. After a `kill -9` it speaks of a server that is gone. */
export async function readPidFile(cluster: string): Promise<PidFile | null> {
  const text = await readIfThere(join(cluster, 'postmaster.pid'));
  if (text === null) return null;
  // Lines (storage/lmgr's miscadmin.h): pid, data directory, start time, port, socket folder, address, key, status.
  const [pid, , , , socketFolder = '', , , status] = text.split('\n').map((line) => line.trim());
  return { pid: Number(pid), socketFolder, ready: status === 'ready' };
}

/**
 * Removes the lock files of a dead server. In a restarted container process numbers repeat: PostgreSQL would take any
 * process that has the number by now, or is given it next, for the server, and refuse to start. Only for the owner of
 * the server lock (claim.ts): a server in another container has no number here, and PostgreSQL's own check for
 * surviving processes ends with the file. A server that was started by hand keeps its files.
 */
export async function removeDeadLocks(cluster: string, socketFolders: readonly string[]): Promise<void> {
  const sockets = socketFolders.map((folder) => join(folder, '.s.PGSQL.5432.lock'));
  for (const path of [join(cluster, 'postmaster.pid'), ...sockets]) {
    const pid = await readPid(path);
    if (pid !== null && (await worksIn(cluster, pid)) === false) await rm(path, { force: true });
  }
}

async function readPid(path: string): Promise<number | null> {
  const text = await readIfThere(path);
  // A negative number means a server without a postmaster, as initdb runs it.
  return text === null ? null : Math.abs(Number.parseInt(text, 10)) || null;
}

/**
 * Asks a server that outlived its launcher and its guard to shut down. One that was started by hand, with its
 * sockets elsewhere, is left alone. On Linux alone.
 */
export async function interruptOrphan(cluster: string, socketFolder: string): Promise<void> {
  const lock = await readPidFile(cluster);
  if (lock?.socketFolder !== socketFolder || !(await worksIn(cluster, lock.pid))) return;
  process.kill(lock.pid, 'SIGINT');
}

// A server enters its data directory before it locks it. Null: alive, and not ours to look into, or no /proc.
async function worksIn(cluster: string, pid: number): Promise<boolean | null> {
  try {
    // By inode, for one directory can have several paths (links, bind mounts).
    const [ours, theirs] = await Promise.all([stat(cluster), stat(`/proc/${pid}/cwd`)]);
    return ours.dev === theirs.dev && ours.ino === theirs.ino;
  } catch (error) {
    if (hasCode(error, 'EACCES')) return null;
    if (!hasCode(error, 'ENOENT', 'ESRCH')) throw error;
    // A zombie has a number and no directory: a container's first process may never collect it.
    return isAlive(pid) && !(await exists('/proc/self')) ? null : false;
  }
}
