// Deletes recordings that have expired, and the speech of erased ones. A legal hold keeps what it covers.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { holdsLocked, isHeld, seesAllHolds } from '../holding/store.js';
import { areReadsOf } from '../reading/store.js';

/** In one statement, which takes some 30 ms. */
export const DELETED_AT_ONCE = 500;

/** Of each recording that is deleted, and in addition of one that has more. Together 5,000 in one statement. */
const READS_OF_EACH = 5;
const READS_OF_ONE = 2500;

/** What one statement of upkeep did. */
export interface Deleted {
  /** Recordings. */
  readonly count: number;
  /** Whether there may be more. */
  readonly hasMore: boolean;
}

/**
 * Deletes recordings that expired an hour ago. Each statement of upkeep finds its rows by an index, and leaves out those that
 * another node deletes. After a hold that was created meanwhile it deletes nothing, and the next look does. A recording with
 * many reads stays until statements like this one have deleted its reads.
 */
// LIMIT: each look reads all expired recordings that are under a hold. With a million of them the statement would come to its
// time limit. A column in place of the question would lift that, and would have to be kept right by four statements.
export async function deleteExpired(database: Database, deadline: Deadline): Promise<Deleted> {
  const [row] = await database.write<{ count: number; found: number }>(
    deadline,
    (sql) => sql`
      with ${holdsLocked(sql)}, old as materialized (
        select r.id from recordings r
        where r.expires_at < now() - interval '1 hour' and not ${isHeld(sql)} and ${seesAllHolds(sql)}
        limit ${DELETED_AT_ONCE} for update skip locked
      ), of_each as materialized (
        select old.id as recording_id, one.id from old cross join lateral (
          select id from recording_reads where ${areReadsOf(sql, sql`old.id`)}
          order by recording_id, id limit ${READS_OF_EACH}
        ) one
      ), of_one as materialized (
        select one.id from (
          select recording_id as id from of_each group by recording_id having count(*) = ${READS_OF_EACH} limit 1
        ) many cross join lateral (
          select id from recording_reads where ${areReadsOf(sql, sql`many.id`)}
          order by recording_id, id limit ${READS_OF_ONE}
        ) one
      ), listed as materialized (
        select id from of_each union select id from of_one
      ), reads as (
        delete from recording_reads where id = any(array(select id from listed))
      ), bare as materialized (
        -- The sub-select keeps PostgreSQL from reading all reads of a recording.
        select old.id from old where (
          select id from recording_reads where ${areReadsOf(sql, sql`old.id`)} and id not in (select id from listed)
          order by recording_id, id limit 1) is null
      ), parts as (
        delete from recording_parts where recording_id in (select id from bare)
      ), rows as (
        delete from recordings where id in (select id from bare) returning id
      )
      select (select count(*) from rows)::integer as count, (select count(*) from old)::integer as found`,
  );
  const { count, found } = row ?? { count: 0, found: 0 };
  return { count, hasMore: found === DELETED_AT_ONCE || count < found };
}

/** Deletes the speech of recordings that were erased a minute ago, also what came late. Counts those that had some. */
export async function deleteErased(database: Database, deadline: Deadline): Promise<Deleted> {
  const [row] = await database.write<{ count: number }>(
    deadline,
    (sql) => sql`
      with ${holdsLocked(sql)}, erased as (
        select r.id from recordings r
        where r.erased_at < now() - interval '1 minute' and not ${isHeld(sql)} and ${seesAllHolds(sql)}
          and exists (select from recording_parts where recording_id = r.id)
        limit ${DELETED_AT_ONCE} for update skip locked
      ), parts as (
        delete from recording_parts where recording_id in (select id from erased)
      )
      select count(*)::integer as count from erased`,
  );
  const count = row?.count ?? 0;
  return { count, hasMore: count === DELETED_AT_ONCE };
}

/** Pages of the table that are looked at: of 1,000 random ones the sum is right to some percent. */
const SAMPLE_PAGES = 1000;
const PAGE_BYTES = 8192;

/**
 * Bytes of stored speech, estimated by a sample of the table's pages. Counts live rows, because the files never shrink. The
 * statistics of PostgreSQL know less: a vacuum leaves out what is written while it runs. For 32 GB of speech they gave 15
 * to 22.
 */
export async function storedBytes(database: Database, deadline: Deadline): Promise<number> {
  const [row] = await database.read<{ bytes: number }>(
    deadline,
    (sql) => sql`
      with share as (
        select least(1, ${SAMPLE_PAGES * PAGE_BYTES}::float8 / greatest(pg_relation_size('recording_parts'), 1)) as share
      )
      select coalesce(sum(octet_length(bytes)), 0)::float8 / (select share from share) as bytes
      from recording_parts tablesample system ((select 100 * share from share))`,
  );
  return row?.bytes ?? 0;
}
