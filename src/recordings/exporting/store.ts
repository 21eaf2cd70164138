// Reads recordings for an export by the operator. Each one that is read is noted, as when a user listens.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { TalkgroupId } from '../../ids.js';
import { idsBetween, wasSaidIn } from '../holding/store.js';
import { columns, isErased, isListed, type RecordingRow } from '../reading/store.js';

export interface Span {
  readonly talkgroup: TalkgroupId;
  /** Unix time (ms). */
  readonly from: number;
  readonly to: number;
}

/** Ids of recordings of which some was said in the span, behind `after`, in the order of time. Expired ones under a hold as well. */
export async function recordingsSaidIn(
  database: Database,
  deadline: Deadline,
  { talkgroup, from, to }: Span,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<readonly string[]> {
  const { fromId, toId } = idsBetween(from, to);
  const rows = await database.read<{ id: string }>(
    deadline,
    (sql) => sql`
      select r.id from recordings r
      where r.talkgroup_id = ${talkgroup} and ${isListed(sql, sql`true`)}
        and ${wasSaidIn(sql, sql`to_timestamp(${from}::float8 / 1000)`, sql`${fromId}::uuid`, sql`${toId}::uuid`)}
        ${after === null ? sql`` : sql`and r.id > ${after}::uuid`}
      order by r.id limit ${limit}`,
  );
  return rows.map(({ id }) => id);
}

/** Whether there is such a talkgroup, or a recording of one. */
export async function isTalkgroup(database: Database, deadline: Deadline, id: TalkgroupId): Promise<boolean> {
  const rows = await database.read(
    deadline,
    (sql) => sql`
      select 1 as one
      where exists (select from talkgroups where id = ${id}) or exists (select from recordings where talkgroup_id = ${id})`,
  );
  return rows.length > 0;
}

/** A recording with its speech, as one statement saw both. */
export interface ExportedRow extends RecordingRow {
  readonly talkgroup_number: number;
  readonly first_frame: number;
  /** First frame and number of frames of each part, in their order. */
  readonly parts: readonly (readonly [from: number, frames: number])[];
  /** All parts, one behind the other. null: none is stored, or they were erased. */
  readonly speech: Buffer | null;
}

/** Notes that the command, which has this name, read its speech. null: there is none any more. */
export async function takeRecording(
  database: Database,
  deadline: Deadline,
  { id, by }: { readonly id: string; readonly by: string },
): Promise<ExportedRow | null> {
  const [row] = await database.write<ExportedRow>(
    deadline,
    (sql) => sql`
      with found as (
        select ${columns(sql, sql`true`)}, r.talkgroup_number, r.first_frame, ${isErased(sql, sql`true`)} as is_erased
        from recordings r where r.id = ${id} and ${isListed(sql, sql`true`)}
      ), noted as (
        insert into recording_reads (reader_id, reader_name, recording_id)
        select null, ${by}::text, id from found where not is_erased
      )
      select id, talkgroup_id, talkgroup_name, user_id, username, started_at_ms, expires_at, priority, emergency, codec,
             crypto, frames, duration_ms, code, lost, erased_at, held, stored_frames, talkgroup_number, first_frame,
             (select coalesce(json_agg(json_build_array(from_frame, frames) order by from_frame), '[]')
               from recording_parts where recording_id = found.id and not is_erased) as parts,
             (select string_agg(bytes, '' order by from_frame) from recording_parts
               where recording_id = found.id and not is_erased) as speech
      from found`,
  );
  return row ?? null;
}
