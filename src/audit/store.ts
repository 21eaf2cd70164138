// Reads the acts in PostgreSQL, and deletes old ones.
import { type Act, type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import type { UserId } from '../ids.js';
import type { OneAct } from './schemas.js';

export interface ActsWanted {
  /** One row more is read: there is another page then. */
  readonly limit: number;
  /** The id that all rows are below. null: the newest ones. */
  readonly before: number | null;
  /** Who acted, or upon whom it was done. null: anybody. */
  readonly user: UserId | null;
  readonly act: Act | null;
  /** ISO 8601. null: all that are kept. */
  readonly since: string | null;
}

/**
 * The newest first. The reader is noted, once an hour. A database that takes no writes refuses the read: nobody reads
 * unseen.
 */
export async function actsRead(
  database: Database,
  deadline: Deadline,
  { limit, before, user, act, since }: ActsWanted,
  by: Actor,
): Promise<OneAct[]> {
  const [read] = await writeAct<{ found: OneAct[] }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with found as (
        select id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
               by_id, by_name, way, act, user_id, device_id, talkgroup_id, details
        from acts
        where true
          ${before === null ? sql`` : sql`and id < ${before}::bigint`}
          ${user === null ? sql`` : sql`and (user_id = ${user} or by_id = ${user})`}
          ${act === null ? sql`` : sql`and act = ${act}`}
          ${since === null ? sql`` : sql`and at >= ${since}::timestamptz`}
        order by id desc limit ${limit + 1}
      ), ${acting(sql, by, {
        act: 'audit_read',
        from: sql`
          where not exists (
            select from acts
            where act = 'audit_read' and at > now() - interval '1 hour'
              and by_id is not distinct from ${by.id}::uuid and (by_id is not null or by_name = ${by.name}::text))`,
      })}
      select (select coalesce(json_agg(found order by id desc), '[]') from found) as found ${noted}`,
  );
  return read?.found ?? [];
}

/** The user of that name, also one that was deleted while its acts are kept. */
export async function userOfActs(
  database: Database,
  deadline: Deadline,
  username: string,
): Promise<UserId | null> {
  const [found] = await database.read<{ id: UserId }>(
    deadline,
    (sql) => sql`
      select coalesce(
        (select id from users where username = ${username}),
        (select user_id from acts where act = 'user_deleted' and details ->> 'username' = ${username}
         order by id desc limit 1)) as id`,
  );
  return found?.id ?? null;
}

/** Rows of one statement. */
export const DELETED_AT_ONCE = 1000;

/** Deletes acts that are older. Two nodes that do it at once take different ones. How many. */
export async function deleteOldActs(database: Database, deadline: Deadline, days: number): Promise<number> {
  const deleted = await database.write(
    deadline,
    (sql) => sql`
      delete from acts where id in (
        select id from acts where at < now() - interval '1 day' * ${days}::integer
        order by at limit ${DELETED_AT_ONCE} for update skip locked
      ) returning id`,
  );
  return deleted.length;
}

/** Unix time (s) of the newest backup by the command. null: none was taken, as far as acts are kept. */
export async function newestBackup(database: Database, deadline: Deadline): Promise<number | null> {
  const [newest] = await database.read<{ at_s: number }>(
    deadline,
    (sql) => sql`
      select extract(epoch from at)::float8 as at_s from acts where act = 'backup_taken' order by id desc limit 1`,
  );
  return newest?.at_s ?? null;
}
