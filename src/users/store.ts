// Reads the list of users in PostgreSQL, and deletes users.
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, noticeOf, notifyAll } from '../db/notice.js';
import { holds, type Keys, type Listing, listingBy, sortKeyOf } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import { type Rotated, rotating, rotationNotices, talkgroupsWithKeysOf } from '../db/rotation.js';
import type { UserId } from '../ids.js';
import type { Static } from '../typebox.js';
import type { USER_COLUMNS, User } from './schemas.js';

type Column = keyof typeof USER_COLUMNS;

/** As the index users_start_of_name has the name. */
const keysOf = (sql: Sql): Keys<Column> => ({
  username: sql`lower(username collate "C")`,
  role: sql`role collate "C"`,
  created_at: sql`(extract(epoch from created_at) * 1000000)::bigint`,
});

/** Rows of the page in its order. `start` is the start of the username, in NFC. null: any name. */
export function usersNamed(
  database: Database,
  deadline: Deadline,
  { start, page }: { start: string | null; page: Listing<Column> },
): Promise<(Static<typeof User> & { sort_key?: string })[]> {
  return database.read(
    deadline,
    // Written as the index users_start_of_name has it. `^@` takes no character for a wildcard.
    (sql) => sql`
      select id, username, role, device_id, created_at ${sortKeyOf(sql, keysOf(sql), page)} from users
      where true
      ${start === null ? sql`` : sql`and lower(username collate "C") ^@ lower(${start} collate "C")`}
      ${page.find === null ? sql`` : foundIn(sql, page.find)}
      ${listingBy(sql, keysOf(sql), page)}`,
  );
}

/** PostgreSQL reads the devices once, and not for each user. */
const foundIn = (sql: Sql, find: string) => sql`
  and (${holds(sql, sql`username`, find)} or device_id in (
    select d.id from devices d
    where ${holds(sql, sql`d.name`, find)} or ${holds(sql, sql`d.serial`, find)} or ${holds(sql, sql`d.site`, find)}
  ))`;

/**
 * Deletes a plain user with everything that is its own, and rotates the keys that it had. The device stays, and keeps its
 * position only for another user. The notifications, or why it was not deleted.
 */
export async function deleteUser(
  database: Database,
  deadline: Deadline,
  user: UserId,
): Promise<readonly Notice[] | 'user_not_found' | 'admin_account' | 'open_emergency'> {
  // The second one makes the relays read which devices they show.
  const notices = (['user_revoked', 'user_promoted'] as const).map((kind) => noticeOf({ kind, user }));
  try {
    const [account] = await database.write<Rotated & { is_plain: boolean }>(
      deadline,
      (sql) => sql`
        with account as materialized (
          select id, role = 'user' as is_plain, device_id from users where id = ${user} for update
        ), plain as (
          select id, device_id from account where is_plain
        ), ${rotating(sql, {
          which: talkgroupsWithKeysOf(sql, sql`select id from plain`),
          useInMs: 0,
          mayPutOff: true,
        })}, deleted as (
          delete from users where id in (select id from plain)
        ), unplaced as (
          delete from gps_fixes f using plain p
          where f.device_id = p.device_id
            and not exists (select from users o where o.device_id = p.device_id and o.id <> p.id)
        )
        select is_plain, case when is_plain then ${notifyAll(sql, notices)} end, ${rotationNotices(sql)} from account`,
    );
    if (account === undefined) return 'user_not_found';
    return account.is_plain ? [...notices, ...account.notices] : 'admin_account';
  } catch (error) {
    const { code, constraint_name } = error as { code?: string; constraint_name?: string };
    // 23514, check: an open emergency would be left without its user.
    if (code === '23514' && constraint_name === 'emergencies_open_with_user') return 'open_emergency';
    throw error;
  }
}
