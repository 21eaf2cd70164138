// Reads all rows of a database that is in use, as the lines of a backup.
import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import { MIGRATION_LOCK } from '../migrate.js';
import { openWorkClient } from '../pool.js';
import { endLine, FORMAT, FORMAT_VERSION, type Head, type RowCounts, tableLine } from './lines.js';
import { sequencesOf, tablesOf, versionOf } from './tables.js';

/** Rows that are read at once: below a millisecond of the server, beside audio. */
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
      await compare(sql, table, counts[table]);
    }
    done(head, counts);
    yield endLine(counts, hash.digest('hex'));
  } finally {
    await end(END_MS_MAX);
  }
}

/** A cursor of postgres.js ends as if it was at its end when its connection is lost between two parts. */
async function compare(sql: postgres.Sql, table: string, read: number): Promise<void> {
  const [row] = await sql<{ count: string }[]>`select count(*)::text as count from ${sql(`public.${table}`)}`;
  if (Number(row?.count) !== read) throw new Error(`${table} has ${row?.count} rows, and ${read} were read`);
}

/** As PostgreSQL writes them in JSON: numbers, times and bytes are exact, and never become values of JavaScript. */
async function* rowsOf(sql: postgres.Sql, table: string): AsyncGenerator<readonly string[]> {
  const rows = sql<{ line: string }[]>`select row_to_json(t)::text as line from ${sql(`public.${table}`)} t`;
  for await (const some of rows.cursor(ROWS_AT_ONCE)) yield some.map(({ line }) => line);
}
