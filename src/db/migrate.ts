// Brings the database to the version this code was written for: numbered, forward-only files of sql/.
import { fileURLToPath } from 'node:url';
import Postgrator from 'postgrator';
import type postgres from 'postgres';
import { openMigrationClient } from './client.js';

/** From dist/src/db to the project's sql folder. */
const SQL_FOLDER = fileURLToPath(new URL('../../../sql', import.meta.url));

/** Any two processes take the same lock; the number has no meaning beyond being ours. */
const MIGRATION_LOCK = 7_200_001;

/** The database was migrated by newer code; running on it would guess at its meaning. */
export class NewerDatabaseError extends Error {
  override name = 'NewerDatabaseError';
}

/**
 * Applies what is missing and returns the version reached; all of it or, when a file fails, nothing. Safe when several
 * processes start at once: the second waits for the first and finds nothing to do. Throws NewerDatabaseError when the
 * database is ahead of the files.
 */
export async function migrate(url: string, folder = SQL_FOLDER): Promise<number> {
  const { sql, end } = openMigrationClient(url);
  try {
    // The files and their version numbers stand or fall together, and the lock falls with the transaction. Whoever
    // waited for it must see what the other one did: hence no snapshot from before.
    await sql`begin isolation level read committed read write`;
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    const version = await applyMissing(sql, folder);
    await sql`commit`;
    return version;
  } finally {
    await end(END_MS_MAX);
  }
}

/** A commit was answered by now, and anything else may be cut off. */
const END_MS_MAX = 1000;

async function applyMissing(sql: postgres.Sql, folder: string): Promise<number> {
  const postgrator = new Postgrator({
    driver: 'pg',
    migrationPattern: `${folder}/*.sql`,
    schemaTable: 'schema_version',
    currentSchema: 'public',
    execQuery: async (text) => ({ rows: await sql.unsafe(text).simple() }),
  });
  const newest = await postgrator.getMaxVersion();
  if (!Number.isFinite(newest)) throw new Error(`no migrations in ${folder}`);
  const current = await postgrator.getDatabaseVersion();
  if (current > newest) {
    throw new NewerDatabaseError(
      `the database is at version ${current}, this code knows ${newest}: run the newer code`,
    );
  }
  if (current < newest) await postgrator.migrate();
  return newest;
}
