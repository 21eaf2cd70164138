// Keeps legal holds in PostgreSQL, and tells other statements which recordings they cover.
//
// A hold that was answered is never overtaken by a statement that erases or deletes. Such a statement sees the holds as they were
// when it began. So it locks the row that each new hold changes, and compares the row with the one that it saw. When they
// differ it does nothing. When they are the same, no hold comes into being until it has ended.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { type Fragment, isoTime, type Page, pageBy } from '../../db/pages.js';
import type { Sql } from '../../db/pool.js';
import type { TalkgroupId } from '../../ids.js';
import { lowestIdFrom } from '../../protocol/recording-id.js';

/** No recording is longer (ms): a piece ends after 10 minutes. */
export const PIECE_MS_MAX = 660_000;

/** Whether the user is an administrator now. The role in a token may be an old one. */
export const isAdmin = (sql: Sql, user: string | null): Fragment =>
  sql`exists (select from users where id = ${user}::uuid and role = 'admin')`;

/** Whether some of the recording `r` was said in the time between. */
export const wasSaidIn = (sql: Sql, from: Fragment, fromId: Fragment, toId: Fragment): Fragment => sql`(
  r.id >= ${fromId} and r.id < ${toId}
  and r.started_at + coalesce(r.duration_ms, ${PIECE_MS_MAX}::bigint) * interval '1 millisecond' >= ${from})`;

/** Whether a legal hold covers the recording `r`. */
export const isHeld = (sql: Sql): Fragment => sql`exists (
  select from recording_holds h
  where h.talkgroup_id = r.talkgroup_id and ${wasSaidIn(sql, sql`h.from_at`, sql`h.from_id`, sql`h.to_id`)})`;

/** A CTE for a statement that erases or deletes. No new hold is answered until the statement has ended. */
export const holdsLocked = (sql: Sql): Fragment =>
  sql`holds_locked as materialized (select holds from recording_holds_made for share)`;

/** Whether the statement sees all holds. When it does not, it must do nothing. Repeated, it sees them. */
export const seesAllHolds = (sql: Sql): Fragment =>
  sql`coalesce((select holds from holds_locked) = (select holds from recording_holds_made), false)`;

/** Bounds of the ids of recordings of which some was said between two times (Unix ms). */
export const idsBetween = (fromMs: number, toMs: number) => ({
  fromId: lowestIdFrom(Math.max(0, fromMs - PIECE_MS_MAX)),
  toId: lowestIdFrom(toMs),
});

export interface HoldRow {
  readonly hold_id: string;
  readonly talkgroup_id: TalkgroupId;
  readonly talkgroup_name: string;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly created_by: string;
  readonly created_by_name: string;
  readonly created_at: string;
}

const columns = (sql: Sql): Fragment => sql`
  id as hold_id, talkgroup_id, talkgroup_name, ${isoTime(sql, sql`from_at`)} as "from", ${isoTime(sql, sql`to_at`)} as "to",
  reason, created_by, created_by_name, ${isoTime(sql, sql`created_at`)} as created_at`;

const details = (sql: Sql) => ({
  talkgroup: sql`to_jsonb(talkgroup_name)`,
  hold_id: sql`to_jsonb(hold_id::text)`,
  from: sql`to_jsonb("from")`,
  to: sql`to_jsonb("to")`,
  reason: sql`to_jsonb(reason)`,
});

export interface HoldWanted {
  readonly talkgroup: TalkgroupId;
  /** Unix time (ms). */
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** null: there is neither such a talkgroup nor a recording of one. */
export async function createHold(
  database: Database,
  deadline: Deadline,
  { talkgroup, from, to, reason }: HoldWanted,
  by: Actor,
): Promise<HoldRow | 'admin_only' | null> {
  const { fromId, toId } = idsBetween(from, to);
  const [row] = await writeAct<HoldRow & { readonly is_admin: boolean }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with caller as (
        select id, username from users where id = ${by.id} and role = 'admin'
      ), covered as (
        select coalesce(
                 (select name from talkgroups where id = ${talkgroup}),
                 (select talkgroup_name from recordings where talkgroup_id = ${talkgroup} order by id desc limit 1)
               ) as name
      ), made as (
        insert into recording_holds_made as all_holds (holds)
        select 1 from caller, covered where covered.name is not null
        on conflict (only_row) do update set holds = all_holds.holds + 1
        returning holds
      ), held as (
        insert into recording_holds
          (talkgroup_id, talkgroup_name, from_at, to_at, from_id, to_id, reason, created_by, created_by_name)
        select ${talkgroup}, covered.name, to_timestamp(${from}::float8 / 1000), to_timestamp(${to}::float8 / 1000),
               ${fromId}::uuid, ${toId}::uuid, ${reason}::text, caller.id, caller.username
        from caller, covered, made
        returning ${columns(sql)}
      ), ${acting(sql, by, {
        act: 'hold_created',
        from: sql`from held`,
        talkgroup: sql`talkgroup_id`,
        details: details(sql),
      })}
      select exists (select from caller) as is_admin, hold_id, talkgroup_id, talkgroup_name, "from", "to", reason,
             created_by, created_by_name, created_at ${noted}
      from (select) one left join held on true`,
  );
  return holdIn(row);
}

/** One more than the page has. */
export async function readHolds(
  database: Database,
  deadline: Deadline,
  page: Page,
  reader: string,
): Promise<readonly HoldRow[] | 'admin_only'> {
  const rows = await database.read<HoldRow & { readonly is_admin: boolean }>(
    deadline,
    (sql) => sql`
      with found as (
        select ${columns(sql)} from recording_holds where true ${pageBy(sql, sql`id`, page)}
      )
      select ${isAdmin(sql, reader)} as is_admin, hold_id, talkgroup_id, talkgroup_name, "from", "to", reason, created_by,
             created_by_name, created_at
      from (select) one left join found on true order by hold_id`,
  );
  if (rows[0]?.is_admin !== true) return 'admin_only';
  return rows.filter(({ hold_id }) => hold_id !== null).map(({ is_admin, ...hold }) => hold);
}

/** null: there is none. */
export async function releaseHold(
  database: Database,
  deadline: Deadline,
  { id, by }: { readonly id: string; readonly by: Actor },
): Promise<HoldRow | 'admin_only' | null> {
  const [row] = await writeAct<HoldRow & { readonly is_admin: boolean }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with released as (
        delete from recording_holds where id = ${id} and ${isAdmin(sql, by.id)} returning ${columns(sql)}
      ), ${acting(sql, by, {
        act: 'hold_released',
        from: sql`from released`,
        talkgroup: sql`talkgroup_id`,
        details: details(sql),
      })}
      select ${isAdmin(sql, by.id)} as is_admin, hold_id, talkgroup_id, talkgroup_name, "from", "to", reason, created_by,
             created_by_name, created_at ${noted}
      from (select) one left join released on true`,
  );
  return holdIn(row);
}

function holdIn(row: (HoldRow & { readonly is_admin: boolean }) | undefined): HoldRow | 'admin_only' | null {
  if (row?.is_admin !== true) return 'admin_only';
  const { is_admin, ...hold } = row;
  return hold.hold_id === null ? null : hold;
}
