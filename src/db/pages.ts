// Writes the part of a statement that reads one page of a list.
import type postgres from 'postgres';
import type { Sql } from './pool.js';

/** At most `limit` items in the order of their ids, behind the id `after`. null: from the first one on. */
export interface Page {
  readonly limit: number;
  readonly after: string | null;
}

/** A part of a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/**
 * The end of a statement, behind the conditions of its WHERE. `id` is a column that has an index. It reads one row more
 * than the page has, which tells that there is another page.
 */
export const pageBy = (sql: Sql, id: Fragment, { limit, after }: Page) =>
  // Without `after` there is no condition: one that may be null would keep PostgreSQL from using the index.
  sql`${after === null ? sql`` : sql`and ${id} > ${after}`} order by ${id} limit ${limit + 1}`;

/** How PostgreSQL compares a column: as text, or as a whole number. */
export type Kind = 'text' | 'number';

/** A page of a list that a client sorts and searches. */
export interface Listing<Column extends string = string> {
  readonly limit: number;
  /** null: in the order of ids. */
  readonly order: { readonly column: Column; readonly kind: Kind; readonly isDescending: boolean } | null;
  /** The page begins after this item. `key` is its `sort_key`, and empty without an order. null: the first page. */
  readonly after: { readonly key: string; readonly id: string } | null;
  /** A text that is found anywhere in an item. null: all items. */
  readonly find: string | null;
}

/** By column: what is compared, in the kind of the order. */
export type Keys<Column extends string> = Readonly<Record<Column, Fragment>>;

/** A column `sort_key` for the SELECT, with a comma before it. Nothing without an order. */
export const sortKeyOf = <Column extends string>(
  sql: Sql,
  keys: Keys<Column>,
  { order }: Listing<Column>,
): Fragment => (order === null ? sql`` : sql`, (${keys[order.column]})::text as sort_key`);

/**
 * As `pageBy`, in the order of the listing. Items with equal keys are in the order of ids, in the same direction, so that
 * each is on exactly one page.
 */
export function listingBy<Column extends string>(
  sql: Sql,
  keys: Keys<Column>,
  { limit, order, after }: Listing<Column>,
): Fragment {
  if (order === null) return pageBy(sql, sql`id`, { limit, after: after?.id ?? null });
  const key = keys[order.column];
  const direction = order.isDescending ? sql`desc` : sql``;
  return sql`${after === null ? sql`` : beyond(sql, key, { order, after })}
    order by ${key} ${direction}, id ${direction} limit ${limit + 1}`;
}

function beyond(
  sql: Sql,
  key: Fragment,
  { order, after }: { order: NonNullable<Listing['order']>; after: NonNullable<Listing['after']> },
): Fragment {
  const value = order.kind === 'number' ? sql`${after.key}::text::bigint` : sql`${after.key}::text`;
  return order.isDescending
    ? sql`and (${key}, id) < (${value}, ${after.id}::uuid)`
    : sql`and (${key}, id) > (${value}, ${after.id}::uuid)`;
}

/** True where a text has the other one anywhere. No character is a wildcard. The letters a to z match in both cases. */
export const holds = (sql: Sql, text: Fragment, find: string): Fragment =>
  sql`position(lower(${find} collate "C") in lower(${text} collate "C")) > 0`;

/** A time as JavaScript writes it. */
export const isoTime = (sql: Sql, time: Fragment) =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
