// Reads all rows of a database that is in use, as the lines of a backup.
import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import { MIGRATION_LOCK } from '../migrate.js';
import { openWorkClient } from '../pool.js';
import { endLine, FORMAT, FORMAT_VERSION, type Head, type RowCounts, tableLine } from './lines.js';
import { sequencesOf, tablesOf, versionOf } from './tables.js';

/** Rows that a `fetch` below reads: about a millisecond of the server, beside audio. */
const ROWS_AT_ONCE = 1000;
const END_MS_MAX = 1000;

export interface Origin {
  /** Version of the service. */
  readonly service: string;
  readonly tokenKey: string | null;
}

/** Yields the text of the backup. `done` is told the rows before the last part. */
export async function* backupOf(
  url: string,
  { service, tokenKey }: Origin,
  done: (head: Head, counts: RowCounts) => void,
): AsyncGenerator<string> {
  const { sql, end } = openWorkClient(url, 'talkgroup-radio-backup');
  try {
    // A newer version that starts waits here for the end, and not for a table, where all other statements would queue behind
    // it. Before the transaction, which must see what a migration has done. It ends with the connection.
    await sql`select pg_advisory_lock_shared(${MIGRATION_LOCK})`;
    await sql`begin isolation level repeatable read read only`;
    const schema_version = await versionOf(sql);
    if (schema_version === 0) throw new Error('there is nothing to back up: the database has no tables');
    const tables = await tablesOf(sql);
    const head: Head = {
      ...{ format: FORMAT, version: FORMAT_VERSION, service, schema_version },
      taken_at: new Date().toISOString(),
      // Behind the snapshot: no row has a greater value.
      sequences: await sequencesOf(sql),
      ...(tokenKey !== null && { token_key: tokenKey }),
    };
    const hash = createHash('sha256');
    const hashed = (text: string) => {
      hash.update(text);
      return text;
    };
    yield hashed(`${JSON.stringify(head)}\n`);
    const counts: Record<string, number> = {};
    for (const table of tables) {
      yield hashed(tableLine(table));
      counts[table] = 0;
      for await (const lines of rowsOf(sql, table)) {
        counts[table] += lines.length;
        yield hashed(lines.map((line) => `${line}\n`).join(''));
      }
    }
    done(head, counts);
    yield endLine(counts, hash.digest('hex'));
  } finally {
    await end(END_MS_MAX);
  }
}

/**
 * As PostgreSQL writes them in JSON: numbers, times and bytes are exact, and never become values of JavaScript. The cursor is one
 * of PostgreSQL: that of postgres.js ends quietly, or never, when the connection is lost between two parts. A new connection
 * knows no cursor.
 */
async function* rowsOf(sql: postgres.Sql, table: string): AsyncGenerator<readonly string[]> {
  await sql`
    declare backup_rows no scroll cursor for select row_to_json(t)::text as line from ${sql(`public.${table}`)} t`.simple();
  for (let isMore = true; isMore; ) {
    const rows = await sql<{ line: string }[]>`fetch 1000 from backup_rows`.simple();
    isMore = rows.length === ROWS_AT_ONCE;
    if (rows.length > 0) yield rows.map(({ line }) => line);
  }
  await sql`close backup_rows`.simple();
}
