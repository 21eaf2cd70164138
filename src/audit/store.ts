// Reads the acts in PostgreSQL, and deletes old ones.
import { type Act, type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { isoTime } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import type { UserId } from '../ids.js';
import type { OneAct } from './schemas.js';

export interface ActsWanted {
  /** One row more is read: there is another page then. */
  readonly limit: number;
  /** Where the page begins: the newest first, below the id `before`, or the oldest first, above the id `after`. */
  readonly page: { readonly before: number | null } | { readonly after: number };
  /** Acts by one of these, and acts done to one, or to a device that one has or had. null: of any user. */
  readonly users: readonly UserId[] | null;
  /** Acts of commands and of the service with this name. */
  readonly name?: string | null;
  readonly act: Act | null;
  /** ISO 8601. null: all that are kept. */
  readonly since: string | null;
}

/** Of the newest reads, among which the reader looks for its own of this hour. */
const READS_LOOKED_AT = 100;

/**
 * The reader is noted, about once an hour. A database that takes no writes refuses, so no reader stays unnoted. The rows in
 * the order of the page.
 */
export async function actsRead(
  database: Database,
  deadline: Deadline,
  { limit, page, users, name = null, act, since }: ActsWanted,
  by: Actor,
): Promise<OneAct[]> {
  const isDown = 'before' in page;
  const ofUsers = (sql: Sql) => {
    const ids = users === null ? null : `{${users.join()}}`;
    return sql`and (user_id = any(${ids}::uuid[]) or by_id = any(${ids}::uuid[])
      or (by_id is null and by_name = ${name}::text)
      or (user_id is null and device_id in (
        select device_id from users where id = any(${ids}::uuid[])
        union select own.device_id from acts own where own.user_id = any(${ids}::uuid[]))))`;
  };
  const [read] = await writeAct<{ found: OneAct[] }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with found as (
        select id, ${isoTime(sql, sql`at`)} as at,
               by_id, by_name, way, act, user_id, device_id, talkgroup_id, details
        from acts
        where true
          ${isDown && page.before !== null ? sql`and id < ${page.before}::bigint` : sql``}
          ${isDown ? sql`` : sql`and id > ${page.after}::bigint`}
          ${users === null && name === null ? sql`` : ofUsers(sql)}
          ${act === null ? sql`` : sql`and act = ${act}`}
          ${since === null ? sql`` : sql`and at >= ${since}::timestamptz`}
        order by id ${isDown ? sql`desc` : sql``} limit ${limit + 1}
      ), reads as (
        select at, by_id, by_name from acts where act = 'audit_read' order by id desc limit ${READS_LOOKED_AT}
      ), ${acting(sql, by, {
        act: 'audit_read',
        from: sql`
          where not exists (
            select from reads
            where at > now() - interval '1 hour'
              and by_id is not distinct from ${by.id}::uuid and (by_id is not null or by_name = ${by.name}::text))`,
      })}
      select (
        select coalesce(json_agg(found order by id ${isDown ? sql`desc` : sql``}), '[]') from found
      ) as found ${noted}`,
  );
  return read?.found ?? [];
}

/** The users who have that name, or had it when they were deleted, as long as that act is kept. */
export async function usersNamedInActs(
  database: Database,
  deadline: Deadline,
  username: string,
): Promise<UserId[]> {
  const found = await database.read<{ id: UserId }>(
    deadline,
    (sql) => sql`
      select id from users where username = ${username}
      union
      select user_id from acts
      where act = 'user_deleted' and details ->> 'username' = ${username} and user_id is not null`,
  );
  return found.map(({ id }) => id);
}

/** Rows of one statement. */
export const DELETED_AT_ONCE = 1000;

/** Deletes acts that are older, the newest backup excepted. Two nodes that do it at once take different ones. How many. */
export async function deleteOldActs(database: Database, deadline: Deadline, days: number): Promise<number> {
  const deleted = await database.write(
    deadline,
    (sql) => sql`
      with old as materialized (
        select id from acts
        where at < now() - interval '1 day' * ${days}::integer
          and id is distinct from (select max(id) from acts where act = 'backup_taken')
        order by at limit ${DELETED_AT_ONCE} for update skip locked
      )
      delete from acts using old where acts.id = old.id returning acts.id`,
  );
  return deleted.length;
}

/** Unix time (s) of the newest backup by the command. null: none was taken. */
export async function newestBackup(database: Database, deadline: Deadline): Promise<number | null> {
  const [newest] = await database.read<{ at_s: number }>(
    deadline,
    (sql) => sql`
      select extract(epoch from at)::float8 as at_s from acts where act = 'backup_taken' order by id desc limit 1`,
  );
  return newest?.at_s ?? null;
}
