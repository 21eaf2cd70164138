// Reads in PostgreSQL who listened to recordings.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { isoTime } from '../../db/pages.js';
import type { UserId } from '../../ids.js';
import { isAdmin } from '../holding/store.js';

export interface ReadsWanted {
  /** One row more is read: there is another page then. */
  readonly limit: number;
  /** The page begins below this id. null: with the newest. */
  readonly before: number | null;
  readonly recording: string | null;
  readonly reader: UserId | null;
}

export interface ReadRow {
  readonly id: number;
  readonly at: string;
  readonly reader_id: UserId | null;
  readonly reader_name: string;
  readonly recording_id: string;
  readonly of_key: boolean;
  readonly talkgroup_id: string | null;
  readonly talkgroup_name: string | null;
}

/** The newest first, for an administrator. */
export async function readReads(
  database: Database,
  deadline: Deadline,
  { limit, before, recording, reader }: ReadsWanted,
  by: UserId,
): Promise<readonly ReadRow[] | 'admin_only'> {
  const rows = await database.read<ReadRow & { readonly is_admin: boolean }>(
    deadline,
    (sql) => sql`
      with found as (
        select id, at, reader_id, reader_name, recording_id, of_key from recording_reads
        where true
          ${before === null ? sql`` : sql`and id < ${before}::bigint`}
          ${recording === null ? sql`` : sql`and recording_id = ${recording}::uuid`}
          ${reader === null ? sql`` : sql`and reader_id = ${reader}`}
        order by id desc limit ${limit + 1}
      )
      select ${isAdmin(sql, by)} as is_admin, f.id, ${isoTime(sql, sql`f.at`)} as at, f.reader_id, f.reader_name,
             f.recording_id, f.of_key, r.talkgroup_id, r.talkgroup_name
      from (select) one left join found f on true left join recordings r on r.id = f.recording_id
      order by f.id desc`,
  );
  if (rows[0]?.is_admin !== true) return 'admin_only';
  return rows.filter(({ id }) => id !== null).map(({ is_admin, ...read }) => read);
}
