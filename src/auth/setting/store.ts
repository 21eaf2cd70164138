// Writes passwords in PostgreSQL.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Fragment } from '../../db/pages.js';
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

/** The password of a plain user alone. The tokens stay valid. False: no such plain user. */
export const replacePassword = (
  database: Database,
  deadline: Deadline,
  { user, ...setting }: { user: UserId; passwordHash: string; by: Actor },
): Promise<boolean> =>
  setWhere(database, deadline, { ...setting, whose: (sql) => sql`id = ${user} and role = 'user'` });

/** The tokens stay valid. False: no such user. */
export const setPassword = (
  database: Database,
  deadline: Deadline,
  { username, ...setting }: NewAccount & { by: Actor },
): Promise<boolean> =>
  setWhere(database, deadline, { ...setting, whose: (sql) => sql`username = ${username}` });

/** The same for an `update` that sets other columns too. */
export const passwordToo = (passwordHash: string) => (sql: Sql) => sql`, password_hash = ${passwordHash}`;

interface Setting {
  readonly whose: (sql: Sql) => Fragment;
  readonly passwordHash: string;
  readonly by: Actor;
}

async function setWhere(
  database: Database,
  deadline: Deadline,
  { whose, passwordHash, by }: Setting,
): Promise<boolean> {
  const changed = await writeAct(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with changed as (
        update users set password_hash = ${passwordHash} where ${whose(sql)} returning id
      ), ${codesEnd(sql)}, ${acting(sql, by, {
        act: 'password_set',
        from: sql`from changed`,
        ...{ user: sql`id`, details: { tokens_kept: true } },
      })}
      select id ${noted} from changed`,
  );
  return changed.length > 0;
}

/** A setup code of before is void, of those in a CTE `changed`: no token is revoked, which would void it. */
const codesEnd = (sql: Sql) => sql`
  uncoded as (delete from setup_codes where user_id in (select id from changed))`;
