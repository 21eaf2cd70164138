// Counts the transactions of a relay's database from outside, and stops its processes for a while.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { commandOf, descendantsOf } from '../machine/descendants.js';
import type { Relay } from './relay.js';

/** A connection of the bench's own. The caller ends it. */
export async function connectTo({ dataDir }: Pick<Relay, 'dataDir'>): Promise<postgres.Sql> {
  return postgres(await readFile(join(dataDir, 'postgres.url'), 'utf8'), { max: 1 });
}

/** PostgreSQL counts in shared memory what a connection did when that has been idle for 10 s. */
export const COUNTED_MS = 11_000;

/** Transactions since the database's start, those counted so far (COUNTED_MS). Each statement of the service is one. */
export async function countTransactions(relay: Pick<Relay, 'dataDir'>): Promise<number> {
  const sql = await connectTo(relay);
  try {
    const [row] = await sql<{ count: string }[]>`
      select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()`;
    return Number(row?.count);
  } finally {
    await sql.end();
  }
}

/**
 * Runs `use` while none of a relay's PostgreSQL processes runs: the kernel still takes connections and bytes, nothing is
 * answered, as behind a link that is half open. They run again when `use` has settled or this process exits.
 * LIMIT: a bench that is ended by kill -9 meanwhile leaves them stopped. A process that watches over it would help.
 */
export async function whileSilent<T>({ pid }: Pick<Relay, 'pid'>, use: () => Promise<T>): Promise<T> {
  const stopped = new Set<number>();
  const wake = () => {
    for (const one of stopped) signal(one, 'SIGCONT');
  };
  process.once('exit', wake);
  try {
    // The postmaster comes before its children and starts none when it is stopped: in the end a listing has no new one.
    let found: readonly number[];
    do {
      found = descendantsOf(pid).filter((one) => isPostgres(one) && !stopped.has(one));
      for (const one of found) {
        stopped.add(one);
        signal(one, 'SIGSTOP');
      }
    } while (found.length > 0);
    if (stopped.size === 0) throw new Error('the server has no PostgreSQL of its own');
    return await use();
  } finally {
    process.off('exit', wake);
    wake();
  }
}

/** Not the shell that guards it. */
const isPostgres = (pid: number): boolean => commandOf(pid) === 'postgres';

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // Expected: the process ended since it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
