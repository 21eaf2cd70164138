// Brings the database to the version this code was written for: numbered, forward-only files of sql/.
import { fileURLToPath } from 'node:url';
import Postgrator from 'postgrator';
import { openMigrationClient, type Sql } from './client.js';

/** From dist/src/db to the project's sql folder. */
const SQL_FOLDER = fileURLToPath(new URL('../../../sql', import.meta.url));

/** Any two processes take the same lock; the number has no meaning beyond being ours. */
const MIGRATION_LOCK = 7_200_001;

/** The database was migrated by newer code; running on it would guess at its meaning. */
export class NewerDatabaseError extends Error {
  override name = 'NewerDatabaseError';
}

/**
 * Applies what is missing and returns the version reached. Safe when several processes start at once: the second
 * waits for the first and finds nothing to do. Throws NewerDatabaseError when the database is ahead of the files.
 */
export async function migrate(url: string, folder = SQL_FOLDER): Promise<number> {
  const sql = openMigrationClient(url);
  try {
    // One connection, so the session's lock covers every statement below; it falls with the connection.
    await sql`select pg_advisory_lock(${MIGRATION_LOCK})`;
    return await applyMissing(sql, folder);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function applyMissing(sql: Sql, folder: string): Promise<number> {
  const postgrator = new Postgrator({
    driver: 'pg',
    migrationPattern: `${folder}/*.sql`,
    schemaTable: 'schema_version',
    currentSchema: 'public',
    // A simple query of several statements is one transaction: a file applies whole or not at all.
    execQuery: async (text) => ({ rows: await sql.unsafe(text).simple() }),
  });
  const newest = await postgrator.getMaxVersion();
  const current = await postgrator.getDatabaseVersion();
  if (current > newest) {
    throw new NewerDatabaseError(
      `the database is at version ${current}, this code knows ${newest}: run the newer code`,
    );
  }
  if (current < newest) await postgrator.migrate();
  return newest;
}
