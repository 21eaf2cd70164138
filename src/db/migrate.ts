// Migrates the database to the version of this code, with the numbered, forward-only files of sql/.
import { fileURLToPath } from 'node:url';
import Postgrator from 'postgrator';
import type postgres from 'postgres';
import { within } from './deadline.js';
import { openWorkClient } from './pool.js';

/** From dist/src/db to the project's sql folder. */
const SQL_FOLDER = fileURLToPath(new URL('../../../sql', import.meta.url));

/** Any two processes take the same lock. The number has no meaning beyond being ours. */
export const MIGRATION_LOCK = 7_200_001;

/** The database was migrated by newer code. Running on it would guess at its meaning. */
export class NewerDatabaseError extends Error {
  override name = 'NewerDatabaseError';
}

/** That of this code. */
export const newestVersion = (sql: postgres.Sql): Promise<number> =>
  migrationsOf(sql, SQL_FOLDER).getMaxVersion();

export interface Migration {
  readonly folder?: string;
  /** Not beyond this version. Otherwise the newest one. */
  readonly version?: number;
}

/**
 * Applies what is missing and returns the version reached. All of it or, when a file fails, nothing. Safe when several
 * processes start at once: the second waits for the first and finds nothing to do. Throws NewerDatabaseError when the
 * database is ahead of the files.
 */
export async function migrate(
  url: string,
  { folder = SQL_FOLDER, version }: Migration = {},
): Promise<number> {
  const { sql, end } = openWorkClient(url, 'talkgroup-radio-migrate');
  const migrations = migrationsOf(sql, folder);
  try {
    const newest = version ?? (await migrations.getMaxVersion());
    if (!Number.isFinite(newest)) throw new Error(`no migrations in ${folder}`);
    // LIMIT: behind this, nothing has a deadline, for a migration and a node that waits for one may take their time. On a
    // link that falls silent meanwhile the operating system ends it, after a quarter of an hour or so. The common
    // start finds nothing to do and ends here.
    if (await within(performance.now() + LOOK_MS_MAX, isBehind(sql, migrations, newest))) {
      await applyMissing(sql, migrations, newest);
    }
    return newest;
  } finally {
    await end(END_MS_MAX);
  }
}

/** To connect, begin and look: longer than the probe may take that follows a start. */
const LOOK_MS_MAX = 2000;

/** A commit was answered by now, and anything else may be cut off. */
const END_MS_MAX = 1000;

const migrationsOf = (sql: postgres.Sql, folder: string) =>
  new Postgrator({
    driver: 'pg',
    migrationPattern: `${folder}/*.sql`,
    schemaTable: 'schema_version',
    currentSchema: 'public',
    execQuery: async (text) => ({ rows: await sql.unsafe(text).simple() }),
  });

/** Begins the transaction as well, which a standby refuses: only a database that we may write to is up to date. */
async function isBehind(sql: postgres.Sql, migrations: Postgrator, newest: number): Promise<boolean> {
  // A node that waited for the lock must see what the other one did: hence no snapshot from before.
  await sql`begin isolation level read committed read write`;
  return isBelow(await migrations.getDatabaseVersion(), newest);
}

/** In the transaction begun: the files and their version numbers stand or fall together, and the lock falls with it. */
async function applyMissing(sql: postgres.Sql, migrations: Postgrator, newest: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
  if (isBelow(await migrations.getDatabaseVersion(), newest)) await migrations.migrate(String(newest));
  await sql`commit`;
}

function isBelow(current: number, newest: number): boolean {
  if (current > newest) {
    throw new NewerDatabaseError(
      `the database is at version ${current}, this code knows ${newest}: run the newer code`,
    );
  }
  return current < newest;
}
