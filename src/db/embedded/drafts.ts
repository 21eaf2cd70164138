// Prepares folders for PostgreSQL's binaries and its data, and tells which processes live.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../../files.js';

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
