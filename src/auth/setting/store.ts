// Writes passwords in PostgreSQL.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Sql } from '../../db/pool.js';
import type { UserId } from '../../ids.js';
import type { NewAccount } from '../store.js';

/** False when the stored hash is no longer `oldHash`: another change came first. */
export async function changePassword(
  database: Database,
  deadline: Deadline,
  { user, oldHash, newHash }: { user: UserId; oldHash: string; newHash: string },
): Promise<boolean> {
  const changed = await database.write(
    deadline,
    (sql) => sql`
      with changed as (
        update users set password_hash = ${newHash} where id = ${user} and password_hash = ${oldHash}
        returning id
      ), ${codesEnd(sql)}
      select id from changed`,
  );
  return changed.length > 0;
}

/** The password of a plain user alone. False: no such plain user. */
export async function replacePassword(
  database: Database,
  deadline: Deadline,
  { user, passwordHash, by }: { user: UserId; passwordHash: string; by: Actor },
): Promise<boolean> {
  const changed = await writeAct(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with changed as (
        update users set password_hash = ${passwordHash} where id = ${user} and role = 'user'
        returning id
      ), ${codesEnd(sql)}, ${passwordKept(sql, by)}
      select id ${noted} from changed`,
  );
  return changed.length > 0;
}

/** The same for an `update` that sets other columns too. */
export const passwordToo = (passwordHash: string) => (sql: Sql) => sql`, password_hash = ${passwordHash}`;

/** The tokens stay valid. False: no such user. */
export async function setPassword(
  database: Database,
  deadline: Deadline,
  { username, passwordHash, by }: NewAccount & { by: Actor },
): Promise<boolean> {
  const changed = await writeAct(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with changed as (
        update users set password_hash = ${passwordHash} where username = ${username} returning id
      ), ${codesEnd(sql)}, ${passwordKept(sql, by)}
      select id ${noted} from changed`,
  );
  return changed.length > 0;
}

/** A setup code of before is void, of those in a CTE `changed`. */
const codesEnd = (sql: Sql) => sql`
  uncoded as (delete from setup_codes where user_id in (select id from changed))`;

/** Of a CTE `changed`. */
const passwordKept = (sql: Sql, by: Actor) =>
  acting(sql, by, {
    act: 'password_set',
    from: sql`from changed`,
    ...{ user: sql`id`, details: { tokens_kept: true } },
  });
