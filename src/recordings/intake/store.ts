// Stores recordings and reads them in PostgreSQL.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { isTail } from '../../protocol/recording-batch.js';
import type { Stored } from './intake.js';

/**
 * Resolves after commit. Repeating it changes nothing: parts are known by their first frame, and a row takes only what it
 * lacks. The database says when a recording expires, so no clock of a relay can keep one or remove it. Two relays share the
 * row of a burst that moved: rows are locked in the order of their ids.
 */
export async function storeRecordings(
  database: Database,
  deadline: Deadline,
  { rows, parts }: Stored,
): Promise<void> {
  const given = rows.map((row) => ({
    ...row,
    ...(isTail(row) && { lost: row.lost.from === 0 ? {} : { [row.lost.from]: row.lost.frames } }),
  }));
  // As one text: names may have quotes, commas and braces.
  const json = JSON.stringify(given);
  const arrayOf = (values: readonly (string | number)[]) => `{${values.join(',')}}`;
  await database.write(
    deadline,
    (sql) => sql`
      with given as (
        select id, talkgroup_id, talkgroup_number, talkgroup_name, user_id, username, started_at, days, epoch, was_required,
               priority, emergency, codec, crypto, first_frame, frames, duration_ms, code, lost
        from json_to_recordset(${json}::text::json) as row (
          id uuid, talkgroup_id uuid, talkgroup_number bigint, talkgroup_name text, user_id uuid, username text,
          started_at float8, days integer, epoch bigint, was_required boolean, priority smallint, emergency boolean,
          codec jsonb, crypto jsonb, first_frame bigint, frames bigint, duration_ms bigint, code text, lost jsonb)
      ), stored as (
        insert into recordings as r (id, talkgroup_id, talkgroup_number, talkgroup_name, user_id, username, started_at,
          expires_at, epoch, was_required, priority, emergency, codec, crypto, first_frame, frames, duration_ms, code, lost)
        select id, talkgroup_id, talkgroup_number, talkgroup_name, user_id, username, to_timestamp(started_at / 1000),
               now() + days * interval '1 day', epoch, was_required, priority, emergency, codec, crypto, first_frame,
               frames, duration_ms, code, lost
        from given
        order by id
        on conflict (id) do update
          set frames = coalesce(r.frames, excluded.frames), duration_ms = coalesce(r.duration_ms, excluded.duration_ms),
              code = coalesce(r.code, excluded.code), emergency = r.emergency or excluded.emergency,
              lost = coalesce(r.lost, '{}') || coalesce(excluded.lost, '{}')
          where r.erased_at is null
      )
      insert into recording_parts (recording_id, from_frame, frames, bytes)
      select id, from_frame, frames, decode(bytes, 'base64')
      from unnest(${arrayOf(parts.map(({ id }) => id))}::uuid[], ${arrayOf(parts.map(({ from }) => from))}::bigint[],
                  ${arrayOf(parts.map(({ frames }) => frames))}::integer[],
                  ${arrayOf(parts.map(({ bytes }) => Buffer.from(bytes.buffer).toString('base64')))}::text[])
           as part (id, from_frame, frames, bytes)
      order by id, from_frame
      on conflict do nothing`,
  );
}
