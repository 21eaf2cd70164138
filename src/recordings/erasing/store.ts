// Erases recordings: marks them, so that from now on no client gets their speech and the names of their talkers. Upkeep deletes
// the speech later. A legal hold keeps what it covers.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Fragment } from '../../db/pages.js';
import type { Sql } from '../../db/pool.js';
import { AppError } from '../../errors.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import { lowestIdFrom } from '../../protocol/recording-id.js';
import { holdsLocked, isAdmin, isHeld, seesAllHolds } from '../holding/store.js';

/** Erasing it again changes nothing. */
export async function eraseRecording(
  database: Database,
  deadline: Deadline,
  { id, by }: { readonly id: string; readonly by: Actor },
): Promise<'erased' | 'held' | 'admin_only' | null> {
  const [found] = await repeated(() =>
    writeAct<{ is_admin: boolean; is_held: boolean | null; is_current: boolean }>(
      database,
      deadline,
      by,
      (sql, noted) => sql`
        with ${holdsLocked(sql)}, found as (
          select r.id, r.talkgroup_id, r.talkgroup_name, r.erased_at is null as is_whole, ${isHeld(sql)} as is_held
          from recordings r
          where r.id = ${id} and (r.expires_at > now() or ${isHeld(sql)}) and ${isAdmin(sql, by.id)}
          for update
        ), erased as (
          update recordings r
          set erased_at = now(), erased_by = ${by.id}, user_id = null, username = null
          from found where r.id = found.id and found.is_whole and not found.is_held and ${seesAllHolds(sql)}
          returning r.id, r.talkgroup_id, r.talkgroup_name
        ), ${acting(sql, by, {
          act: 'recording_erased',
          from: sql`from erased`,
          talkgroup: sql`talkgroup_id`,
          details: { talkgroup: sql`to_jsonb(talkgroup_name)`, recording_id: sql`to_jsonb(id::text)` },
        })}
        select ${isAdmin(sql, by.id)} as is_admin, found.is_held, ${seesAllHolds(sql)} as is_current ${noted}
        from (select) one left join found on true`,
    ),
  );
  if (found?.is_admin !== true) return 'admin_only';
  if (found.is_held === null) return null;
  return found.is_held ? 'held' : 'erased';
}

export interface Erasure {
  /** Of one of them: of this talker, or of this talkgroup. */
  readonly of: { readonly user: UserId } | { readonly talkgroup: TalkgroupId };
  /** Unix time (ms) between which the recordings began. null: any. */
  readonly since: number | null;
  readonly until: number | null;
}

export interface Erased {
  readonly erased: number;
  /** Of all recordings of the request those that a legal hold keeps, at most HELD_COUNTED_MAX. */
  readonly held: number;
  readonly more: boolean;
}

/** In one statement. */
const ERASED_AT_ONCE = 500;
/** Counted in each statement, so there is a bound. */
export const HELD_COUNTED_MAX = 10_000;

/** Erases the oldest ones, up to ERASED_AT_ONCE. */
export async function eraseRecordings(
  database: Database,
  deadline: Deadline,
  { of, since, until }: Erasure,
  by: Actor,
): Promise<Erased | 'admin_only'> {
  const meant = (sql: Sql): Fragment => sql`
    ${'user' in of ? sql`r.user_id = ${of.user}` : sql`r.talkgroup_id = ${of.talkgroup}`}
    ${since === null ? sql`` : sql`and r.id >= ${lowestIdFrom(since)}::uuid`}
    ${until === null ? sql`` : sql`and r.id < ${lowestIdFrom(until)}::uuid`}`;
  // Without a hold it costs nothing to count those that one keeps.
  const mayHold = (sql: Sql): Fragment =>
    'user' in of
      ? sql`exists (select from recording_holds)`
      : sql`exists (select from recording_holds where talkgroup_id = ${of.talkgroup})`;
  const told = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  const [done] = await repeated(() =>
    writeAct<Erased & { is_admin: boolean; is_current: boolean }>(
      database,
      deadline,
      by,
      (sql, noted) => sql`
        with ${holdsLocked(sql)}, meant as (
          select r.id from recordings r
          where ${meant(sql)} and r.erased_at is null and r.expires_at > now() and not ${isHeld(sql)}
            and ${isAdmin(sql, by.id)}
          order by r.id limit ${ERASED_AT_ONCE + 1} for update
        ), erased as (
          update recordings r
          set erased_at = now(), erased_by = ${by.id}, user_id = null, username = null
          from (select id from meant order by id limit ${ERASED_AT_ONCE}) first
          where r.id = first.id and ${seesAllHolds(sql)}
          returning r.id, r.talkgroup_name
        ), held as (
          select r.id from recordings r
          where ${mayHold(sql)} and ${meant(sql)} and ${isHeld(sql)}
            and (r.erased_at is null or exists (select from recording_parts p where p.recording_id = r.id))
          limit ${HELD_COUNTED_MAX}
        ), ${acting(sql, by, {
          act: 'recordings_erased',
          from: sql`from (
            select count(*)::integer as recordings, (array_agg(talkgroup_name order by id desc))[1] as name from erased
          ) counted where recordings > 0`,
          ...('user' in of ? { user: sql`${of.user}` } : { talkgroup: sql`${of.talkgroup}` }),
          details: {
            ...('user' in of ? {} : { talkgroup: sql`to_jsonb(name)` }),
            recordings: sql`to_jsonb(recordings)`,
            since: told(since),
            until: told(until),
          },
        })}
        select ${isAdmin(sql, by.id)} as is_admin, ${seesAllHolds(sql)} as is_current,
               (select count(*)::integer from erased) as erased, (select count(*)::integer from held) as held,
               (select count(*) > ${ERASED_AT_ONCE}::integer from meant) as more ${noted}`,
    ),
  );
  if (done?.is_admin !== true) return 'admin_only';
  const { erased, held, more } = done;
  return { erased, held, more };
}

/** A hold that was created meanwhile makes one more necessary. */
const ATTEMPTS_MAX = 10;

async function repeated<Row extends { readonly is_current: boolean }>(
  erase: () => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const rows = await erase();
    if (rows[0]?.is_current === true) return rows;
  }
  throw new AppError('database_unavailable');
}
