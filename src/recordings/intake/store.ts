// Stores recordings and reads them in PostgreSQL.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Stored } from './intake.js';

/**
 * Resolves after commit. Repeating it changes nothing: parts are known by their first frame, and a row takes only what it
 * lacks. The database says when a recording expires, so no clock of a relay can keep one or remove it. Two relays share the
 * row of a burst that moved: rows are locked in the order of their ids, and the stricter epoch counts, whichever comes first.
 */
export async function storeRecordings(
  database: Database,
  deadline: Deadline,
  { rows, parts }: Stored,
): Promise<void> {
  // As one text: names may have quotes, commas and braces.
  const json = storable(JSON.stringify(rows));
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
              epoch = least(r.epoch, excluded.epoch), was_required = r.was_required or excluded.was_required,
              lost = coalesce(r.lost, '{}') || coalesce(excluded.lost, '{}')
          where r.erased_at is null
      )
      insert into recording_parts (recording_id, from_frame, frames, bytes)
      select id, from_frame, frames, decode(bytes, 'base64')
      from unnest(${arrayOf(parts.map(({ id }) => id))}::uuid[], ${arrayOf(parts.map(({ from }) => from))}::bigint[],
                  ${arrayOf(parts.map(({ frames }) => frames))}::integer[],
                  ${arrayOf(parts.map(({ bytes }) => textOf(bytes)))}::text[])
           as part (id, from_frame, frames, bytes)
      order by id, from_frame
      on conflict do nothing`,
  );
}

const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');

/**
 * JSON without the two escapes that PostgreSQL stores nowhere: NUL, and half of a surrogate pair. The text of a codec is the
 * client's, and must not keep a recording from being stored.
 */
const storable = (json: string): string =>
  json.replace(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (all, code) => (code.length > 1 ? '\\ufffd' : all));
