// Erases recordings, and deletes those that have expired.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';

/**
 * Marks the recording: from now on no client hears it or reads the name of its talker. Erasing it again changes nothing.
 * false: there is none.
 */
export async function eraseRecording(
  database: Database,
  deadline: Deadline,
  { id, by }: { readonly id: string; readonly by: Actor },
): Promise<boolean> {
  const found = await writeAct(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with found as (
        select id, talkgroup_id, talkgroup_name, erased_at is null as is_whole from recordings
        where id = ${id} and expires_at > now()
        for update
      ), erased as (
        update recordings r
        set erased_at = now(), erased_by = ${by.id}, user_id = null, username = null
        from found where r.id = found.id and found.is_whole
        returning r.id, r.talkgroup_id, r.talkgroup_name
      ), ${acting(sql, by, {
        act: 'recording_erased',
        from: sql`from erased`,
        talkgroup: sql`talkgroup_id`,
        details: { talkgroup: sql`to_jsonb(talkgroup_name)`, recording_id: sql`to_jsonb(id::text)` },
      })}
      select found.id ${noted} from found`,
  );
  return found.length > 0;
}

/** In one statement, which takes some 30 ms. */
export const DELETED_AT_ONCE = 500;

/**
 * Deletes recordings that expired an hour ago. Answers how many: with DELETED_AT_ONCE there may be more. Each statement of
 * upkeep finds its rows by an index, and leaves out those that another node deletes.
 */
export async function deleteExpired(database: Database, deadline: Deadline): Promise<number> {
  const [row] = await database.write<{ count: number }>(
    deadline,
    (sql) => sql`
      with old as (
        select id from recordings where expires_at < now() - interval '1 hour'
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
      with erased as (
        select r.id from recordings r
        where r.erased_at < now() - interval '1 minute'
          and exists (select from recording_parts where recording_id = r.id)
        limit ${DELETED_AT_ONCE} for update skip locked
      ), parts as (
        delete from recording_parts where recording_id in (select id from erased)
      )
      select count(*)::integer as count from erased`,
  );
  return row?.count ?? 0;
}

/** Bytes of stored speech, an upper estimate. Counts live rows, because the files never shrink. */
export async function storedBytes(database: Database, deadline: Deadline): Promise<number> {
  const [row] = await database.read<{ bytes: number }>(
    deadline,
    (sql) => sql`
      select greatest(coalesce(s.n_live_tup, 0), toast.reltuples, 0)::float8 * 2048 as bytes
      from pg_class parts
      join pg_class toast on toast.oid = parts.reltoastrelid
      left join pg_stat_all_tables s on s.relid = toast.oid
      where parts.oid = 'recording_parts'::regclass`,
  );
  return row?.bytes ?? 0;
}
