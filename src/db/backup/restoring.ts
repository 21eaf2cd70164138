// Brings the rows of a backup into a database without users.
import type postgres from 'postgres';
import { migrate, newestVersion } from '../migrate.js';
import { openWorkClient } from '../pool.js';
import { BackupError, type Checked, contentOf } from './lines.js';
import { tablesOf, versionOf } from './tables.js';

/** Rows of one statement, and bytes, of which one row may have more. */
const ROWS_AT_ONCE = 1000;
const BYTES_AT_ONCE = 1 << 20;
const END_MS_MAX = 1000;

/**
 * Blocks of session numbers that were given out after the backup, more than any relay could use: then none of them is given out
 * again.
 */
const SESSION_BLOCKS_AHEAD = 1000;
const SESSION_BLOCKS = 'session_blocks';
/** sql/001.do.the-seed.sql. */
const SESSION_BLOCKS_MAX = 4_194_303;

/**
 * The database has the schema version of the backup then. Throws BackupError when it has users, or the backup is of newer
 * code. After any error it has no users.
 */
export async function restore(url: string, path: string, { head, counts }: Checked): Promise<void> {
  const { sql, end } = openWorkClient(url, 'talkgroup-radio-restore');
  try {
    const newest = await newestVersion(sql);
    if (head.schema_version > newest)
      throw new BackupError(
        `the backup has schema version ${head.schema_version}, this code knows ${newest}`,
      );
    const version = await versionOf(sql);
    if (version > 0) await refuseUsers(sql);
    if (version > head.schema_version)
      throw new BackupError(
        `the database has schema version ${version}, the backup ${head.schema_version}: restore needs an empty database`,
      );
    await migrate(url, { version: head.schema_version });
    await insert(sql, path, { head, counts });
  } finally {
    await end(END_MS_MAX);
  }
}

async function refuseUsers(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<{ users: number }[]>`select count(*)::int as users from users`;
  const users = row?.users ?? 0;
  if (users > 0) throw new BackupError(`the database has ${users} users: restore needs one without users`);
}

async function insert(sql: postgres.Sql, path: string, { head, counts }: Checked): Promise<void> {
  await sql`begin`;
  await sql`set local lock_timeout = '5s'`; // a node that runs has locks for a moment only
  const tables = await tablesOf(sql);
  for (const table of Object.keys(counts))
    if (!tables.includes(table))
      throw new BackupError(`the backup has a table ${table}, which this code does not know`);
  for (const table of tables) await sql`lock table ${sql(`public.${table}`)} in access exclusive mode`;
  await refuseUsers(sql);
  // What migrations brought is in the backup, too.
  for (const table of tables.toReversed()) await sql`delete from ${sql(`public.${table}`)}`;
  let table = '';
  let rows: string[] = [];
  let bytes = 0;
  const flush = async () => {
    if (rows.length > 0) await insertRows(sql, table, rows);
    rows = [];
    bytes = 0;
  };
  for await (const line of contentOf(path)) {
    if (line.kind === 'table') {
      await flush();
      table = line.table;
      continue;
    }
    rows.push(line.row);
    bytes += line.row.length;
    if (rows.length >= ROWS_AT_ONCE || bytes >= BYTES_AT_ONCE) await flush();
  }
  await flush();
  for (const [sequence, last] of Object.entries(head.sequences)) await setSequence(sql, sequence, last);
  await sql`commit`;
}

/** `overriding system value`: the numbers of talkgroups stay. */
const insertRows = (sql: postgres.Sql, table: string, rows: readonly string[]) => sql`
  insert into ${sql(`public.${table}`)} overriding system value
  select * from json_populate_recordset(null::${sql(`public.${table}`)}, ${`[${rows.join(',')}]`}::text::json)`;

async function setSequence(sql: postgres.Sql, sequence: string, last: number | null): Promise<void> {
  if (last === null) return;
  const value =
    sequence === SESSION_BLOCKS ? ((last + SESSION_BLOCKS_AHEAD - 1) % SESSION_BLOCKS_MAX) + 1 : last;
  await sql`select setval(${`public.${sequence}`}::text::regclass, ${value}::text::bigint)`;
}
