// Deletes recordings that have expired, and the speech of erased ones. A legal hold keeps what it covers.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { holdsLocked, isHeld, seesAllHolds } from '../holding/store.js';

/** In one statement, which takes some 30 ms. */
export const DELETED_AT_ONCE = 500;

/**
 * Deletes recordings that expired an hour ago. Answers how many: with DELETED_AT_ONCE there may be more. Each statement of
 * upkeep finds its rows by an index, and leaves out those that another node deletes. After a hold that was created meanwhile it
 * deletes nothing, and the next look does.
 */
// LIMIT: each look reads all expired recordings that are under a hold. With a million of them the statement would come to its
// time limit. A column in place of the question would lift that, and would have to be kept right by four statements.
export async function deleteExpired(database: Database, deadline: Deadline): Promise<number> {
  const [row] = await database.write<{ count: number }>(
    deadline,
    (sql) => sql`
      with ${holdsLocked(sql)}, old as (
        select r.id from recordings r
        where r.expires_at < now() - interval '1 hour' and not ${isHeld(sql)} and ${seesAllHolds(sql)}
        limit ${DELETED_AT_ONCE} for update skip locked
      ), parts as (
        delete from recording_parts where recording_id in (select id from old)
      ), reads as (
        delete from recording_reads where recording_id in (select id from old)
      ), rows as (
        delete from recordings where id in (select id from old) returning id
      )
      select count(*)::integer as count from rows`,
  );
  return row?.count ?? 0;
}

/** Deletes the speech of recordings that were erased a minute ago, also what came late. Answers how many had some. */
export async function deleteErased(database: Database, deadline: Deadline): Promise<number> {
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
  return row?.count ?? 0;
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
