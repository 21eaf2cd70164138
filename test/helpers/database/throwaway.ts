// A PostgreSQL server for tests alone, with nothing left of it afterwards.
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { type EmbeddedPostgres, startEmbedded } from '../../../src/db/embedded.js';
import { migrate } from '../../../src/db/migrate.js';

/** A database of every throwaway server, migrated and without a row: what others are copied from. */
export const MIGRATED = 'migrated';

// Many test files at once, each with its pools, and nothing here needs to survive a power failure.
const settings = {
  ...{ max_connections: '400', fsync: 'off', full_page_writes: 'off' },
  ...{ max_wal_size: '256MB', min_wal_size: '64MB' }, // it is in memory, and 1 GB by default
};

/** Files in memory, on Linux. */
const MEMORY_FOLDER = '/dev/shm';
/** Four times the log and 100 databases of 8 MB. A container without a setting of its own has 64 MB. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30;

export interface Throwaway extends EmbeddedPostgres {
  /** Holds its data. */
  readonly folder: string;
}

/** A server in a fresh temporary folder, both gone after `stop`. */
export async function startThrowaway(): Promise<Throwaway> {
  // A copied database is 300 files. For each new file ext4 looks at those that were deleted within minutes: after some
  // hundred databases a copy costs 70 to 200 ms of CPU time there, and 15 ms in memory.
  if (!(await hasMemory())) return startIn(tmpdir());
  try {
    return await startIn(MEMORY_FOLDER);
  } catch (error) {
    console.error(`no database in ${MEMORY_FOLDER}, trying ${tmpdir()}: ${error}`); // it may allow no programs
    return startIn(tmpdir());
  }
}

async function hasMemory(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(MEMORY_FOLDER);
    return bavail * bsize >= MEMORY_BYTES_MIN;
  } catch {
    return false; // Expected: only Linux has it.
  }
}

async function startIn(folder: string): Promise<Throwaway> {
  const dataDir = await mkdtemp(join(folder, 'talkgroup-radio-test-'));
  const log = { info() {}, warn: console.error, error: console.error };
  try {
    const database = await startEmbedded({ dataDir, log, settings });
    await hastenLogins(database.url);
    await createMigrated(database.url);
    return {
      url: database.url,
      folder: dataDir,
      async stop() {
        await database.stop();
        await rm(dataDir, { recursive: true });
      },
    };
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  }
}

/** The password is random, so that 4,096 rounds of SCRAM protect nothing: 5 ms of CPU for each connection of a test. */
async function hastenLogins(server: string): Promise<void> {
  const { username, password } = new URL(server);
  const sql = postgres(server, { max: 1 });
  await sql.unsafe(`set scram_iterations = 1; alter role "${username}" password '${password}'`);
  await sql.end();
}

async function createMigrated(server: string): Promise<void> {
  const sql = postgres(server, { max: 1 });
  await sql.unsafe(`create database ${MIGRATED}`);
  await sql.end();
  await migrate(databaseOf(server, MIGRATED));
}

/** Connection string of another database of the same server. */
export function databaseOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
