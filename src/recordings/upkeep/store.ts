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

/** Pages of the table from which the size of a part is taken: some 50,000 parts. */
const SAMPLE_PAGES = 500;

/**
 * Bytes of stored speech, estimated: the number of parts that PostgreSQL knows of, times the mean size of a sample. Counts
 * live rows, because the files never shrink. Of the chunks of TOAST it knows less: a vacuum does not count what is written
 * while it runs, and no analysis corrects that. For 32 GB of speech they gave 15 to 22.
 */
export async function storedBytes(database: Database, deadline: Deadline): Promise<number> {
  const [row] = await database.read<{ bytes: number }>(
    deadline,
    (sql) => sql`
      with parts as (
        select greatest(s.n_live_tup, c.reltuples, 0)::float8 as count
        from pg_class c left join pg_stat_all_tables s on s.relid = c.oid
        where c.oid = 'recording_parts'::regclass
      ), size as (
        select avg(octet_length(bytes))::float8 as mean
        from recording_parts tablesample system ((
          select least(100, 100.0 * ${SAMPLE_PAGES} / greatest(relpages, 1)) from pg_class
          where oid = 'recording_parts'::regclass))
      )
      select count * coalesce(mean, 0) as bytes from parts, size`,
  );
  return row?.bytes ?? 0;
}
