// Reads postmaster.pid, the lock a PostgreSQL server holds on its data directory.
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from './files.js';

interface PidFile {
  readonly pid: number;
  /** First of the folders it listens in. */
  readonly socketFolder: string;
  /** It owns the data directory for good: the shared memory of those before it is gone, too. */
  readonly locked: boolean;
  /** It accepts connections. */
  readonly ready: boolean;
}

/** What the file says, or null when there is none; after a `kill -9` it speaks of a server that is gone. */
export async function readPidFile(cluster: string): Promise<PidFile | null> {
  try {
    // Lines (storage/lmgr's miscadmin.h): pid, data directory, start time, port, socket folder, address, key, status.
    const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n');
    const [pid, , , , socketFolder = '', , sharedMemory = '', status] = lines.map((line) => line.trim());
    return { pid: Number(pid), socketFolder, locked: sharedMemory !== '', ready: status === 'ready' };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * Removes a lock whose number has gone to a process that is no PostgreSQL of this cluster: in a restarted container
 * numbers repeat, and PostgreSQL, seeing its number alive, would never start again. (Linux; elsewhere does nothing.)
 */
export async function removeStrangersLock(cluster: string): Promise<void> {
  const lock = await readPidFile(cluster);
  if (lock === null || (await worksIn(cluster, lock.pid)) !== false) return;
  await rm(join(cluster, 'postmaster.pid'), { force: true });
}

/**
 * Asks a server that outlived its launcher and its guard to shut down; one that somebody started by hand, with its
 * sockets elsewhere, is left alone. (Linux; elsewhere does nothing.)
 */
export async function interruptOrphan(cluster: string, socketFolder: string): Promise<void> {
  const lock = await readPidFile(cluster);
  if (lock?.socketFolder !== socketFolder || !(await worksIn(cluster, lock.pid))) return;
  process.kill(lock.pid, 'SIGINT');
}

// A server enters its data directory before it locks it. Null: no such process, not ours to look into, or no /proc.
async function worksIn(cluster: string, pid: number): Promise<boolean | null> {
  try {
    // By inode, for one directory can have several paths (links, bind mounts).
    const [ours, theirs] = await Promise.all([stat(cluster), stat(`/proc/${pid}/cwd`)]);
    return ours.dev === theirs.dev && ours.ino === theirs.ino;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EACCES', 'ESRCH')) return null;
    throw error;
  }
}
