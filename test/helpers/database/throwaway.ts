// A PostgreSQL server for tests alone, with nothing left of it afterwards.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { type EmbeddedPostgres, startEmbedded } from '../../../src/db/embedded.js';
import { migrate } from '../../../src/db/migrate.js';

/** A database of every throwaway server, migrated and without a row: what others are copied from. */
export const MIGRATED = 'migrated';

// Many test files at once, each with its pools; and nothing here needs to survive a power failure.
const settings = { max_connections: '400', fsync: 'off', full_page_writes: 'off' };

/** A server in a fresh temporary folder, both gone after `stop`. */
export async function startThrowaway(): Promise<EmbeddedPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-'));
  const log = { info() {}, warn: console.error, error: console.error };
  const database = await startEmbedded({ dataDir, log, settings });
  await createMigrated(database.url);
  return {
    url: database.url,
    async stop() {
      await database.stop();
      await rm(dataDir, { recursive: true });
    },
  };
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
