// Writes the part of a statement that reads one page of a list.
import type postgres from 'postgres';
import type { Sql } from './pool.js';

/** At most `limit` items in the order of their ids, behind the id `after`; null: from the first one on. */
export interface Page {
  readonly limit: number;
  readonly after: string | null;
}

/**
 * The end of a statement, behind the conditions of its WHERE; `id` is a column that has an index. It reads one row more
 * than the page has, which tells that there is another page.
 */
export const pageBy = (sql: Sql, id: postgres.PendingQuery<postgres.Row[]>, { limit, after }: Page) =>
  // Without `after` there is no condition: one that may be null would keep PostgreSQL from using the index.
  sql`${after === null ? sql`` : sql`and ${id} > ${after}`} order by ${id} limit ${limit + 1}`;
