// The database of a run, on the PostgreSQL server of the tests or on one of its own, and how to kill that.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { startThrowaway } from '../helpers/database/throwaway.js';
import { eventually } from '../helpers/eventually.js';
import { type ChaosProxy, startChaosProxy } from '../helpers/network/chaos-proxy.js';

export interface ChaosDatabase {
  /** As superuser, around the links. */
  readonly sql: postgres.Sql;
  /** Where that leads. */
  readonly url: string;
  /** A link for a node, and DATABASE_URL over it. */
  link(): Promise<{ readonly proxy: ChaosProxy; readonly url: string }>;
  drop(): Promise<void>;
}

/** A database with a name of its own. */
export async function createDatabase(): Promise<ChaosDatabase> {
  const owned = process.env.TEST_CLUSTER_URL === undefined ? await startThrowaway() : null;
  const cluster = process.env.TEST_CLUSTER_URL ?? owned?.url ?? '';
  const name = `chaos_${randomBytes(8).toString('hex')}`;
  const { username, password } = new URL(cluster);
  const outside = postgres(cluster, { max: 1, onnotice: () => {} });
  await outside.unsafe(`create database ${name}`);
  const own = new URL(cluster);
  own.pathname = `/${name}`;
  // Read-only is one of the faults: it is not for us.
  const sql = postgres(own.href, {
    max: 3,
    onnotice: () => {},
    connection: { application_name: 'chaos', default_transaction_read_only: false },
  });
  return {
    sql,
    url: own.href,
    async link() {
      const proxy = await startChaosProxy({ path: join(folderOf(cluster), '.s.PGSQL.5432') });
      return { proxy, url: `postgres://${username}:${password}@127.0.0.1:${proxy.port}/${name}` };
    },
    async drop() {
      await sql.end({ timeout: 1 });
      await eventually(() => outside.unsafe(`drop database if exists ${name} with (force)`));
      await outside.end({ timeout: 1 });
      await owned?.stop();
    },
  };
}

function folderOf(url: string): string {
  return decodeURIComponent(new URL(url).hostname);
}

/** kill -9, and resolves when a new one answers: the runner of the cluster starts it. */
export async function killPostmaster(sql: postgres.Sql): Promise<void> {
  const [row] = await inTime(sql`select current_setting('data_directory') as folder`);
  const pid = Number.parseInt(await readFile(join(row?.folder, 'postmaster.pid'), 'utf8'), 10);
  process.kill(pid, 'SIGKILL');
  await pause(50);
  await eventually(() => inTime(sql`select 1`), 20_000);
}

/** What is asked on a connection that dies at that moment may never be answered. Then it throws. */
export async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = pause(2000, undefined, { ref: false }).then(() => {
    throw new Error('the database did not answer the runner');
  });
  return Promise.race([answer, late]);
}
