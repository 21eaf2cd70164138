// File operations that PostgreSQL's binaries and its data have in common.
import { access, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Whether it is an error of Node or the operating system with one of these codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** Whether something stands at the path; a symbolic link counts as what it points to. */
export async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** What a killed process had started, such as initdb, goes on for a moment: 10 tries within 5.5 s. */
const WRITTEN_INTO = { maxRetries: 10, retryDelay: 100 };

/**
 * Makes an empty folder beside `path`, in which to prepare what a rename then puts there whole. Removes those that
 * processes now dead left beside it.
 */
export async function makeDraft(path: string): Promise<string> {
  for (const name of await readdir(dirname(path))) {
    const [, base, pid] = /^(.+)\.draft-(\d+)-/.exec(name) ?? [];
    if (base !== basename(path) || isAlive(Number(pid))) continue;
    await rm(join(dirname(path), name), { recursive: true, force: true, ...WRITTEN_INTO });
  }
  return mkdtemp(`${path}.draft-${process.pid}-`);
}

/** Whether a process has this number in our namespace. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !hasCode(error, 'ESRCH');
  }
}

/** Makes the folder's entries survive a power failure, as `fsync` on a file does for its bytes. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
