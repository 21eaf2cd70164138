// Reads the list of users in PostgreSQL, and deletes users.
import { type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, noticeOf, notifyAll } from '../db/notice.js';
import { holds, isoTime, type Keys, type Listing, listingBy, sortKeyOf } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import { relinkNotices } from '../db/revocation.js';
import { type Rotated, rotating, rotationNotices, talkgroupsWithKeysOf } from '../db/rotation.js';
import type { UserId } from '../ids.js';
import type { OneUser, USER_COLUMNS, User } from './schemas.js';

type Column = keyof typeof USER_COLUMNS;

/** As the index users_start_of_name has the name. */
const keysOf = (sql: Sql): Keys<Column> => ({
  username: sql`lower(username collate "C")`,
  role: sql`role collate "C"`,
  created_at: sql`(extract(epoch from created_at) * 1000000)::bigint`,
});

interface Selection {
  /** The start of the username, in NFC. null: any name. */
  readonly start: string | null;
  /** null: any role. */
  readonly role?: User['role'] | null;
  readonly page: Listing<Column>;
}

/** Rows of the page in its order. */
export function usersNamed(
  database: Database,
  deadline: Deadline,
  { start, role = null, page }: Selection,
): Promise<(User & { sort_key?: string })[]> {
  return database.read(
    deadline,
    // Written as the index users_start_of_name has it. `^@` takes no character for a wildcard.
    (sql) => sql`
      select id, username, role, is_dispatcher as dispatcher, device_id, created_at, (
               select json_build_object('name', d.name, 'serial', d.serial, 'active', d.active)
               from devices d where d.id = users.device_id
             ) as device ${sortKeyOf(sql, keysOf(sql), page)}
      from users
      where true ${role === null ? sql`` : sql`and role = ${role}`}
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

/** Memberships that are shown of one user. */
const MEMBERSHIPS_SHOWN = 1000;

/** null: no such user. */
export async function userShown(
  database: Database,
  deadline: Deadline,
  user: { readonly id: UserId } | { readonly username: string },
): Promise<OneUser | null> {
  const [row] = await database.read<{ shown: OneUser }>(
    deadline,
    // Times as PostgreSQL writes them in JSON have microseconds and an offset.
    (sql) => sql`
      select json_build_object(
        'user', json_build_object('id', u.id, 'username', u.username, 'role', u.role,
          'dispatcher', u.is_dispatcher, 'device_id', u.device_id,
          'created_at', ${isoTime(sql, sql`u.created_at`)}),
        'device', case when d.id is not null then json_build_object('id', d.id, 'name', d.name, 'site', d.site,
          'serial', d.serial, 'active', d.active, 'position_at', ${isoTime(sql, sql`f.updated_at`)}) end,
        'talkgroups', coalesce((
          select json_agg(m order by m.joined_at, m.id) from (
            select t.id, t.name, m.site, t.floor_mode, t.encryption, m.may_have_keys, m.created_at as joined_at
            from memberships m join talkgroups t on t.id = m.talkgroup_id
            where m.user_id = u.id order by m.created_at, t.id limit ${MEMBERSHIPS_SHOWN}
          ) m), '[]'),
        'talkgroups_total', (select count(*) from memberships where user_id = u.id),
        'tokens_valid_from', case when u.valid_from > 0 then ${isoTime(sql, sql`to_timestamp(u.valid_from)`)} end,
        'key_holders', (
          select json_build_object('accepted', count(accepted_at), 'waiting', count(*) - count(accepted_at))
          from key_holders where user_id = u.id),
        'emergencies', coalesce((
          select json_agg(id order by raised_at, id) from emergencies where user_id = u.id and state <> 'cleared'), '[]')
      ) as shown
      from users u left join devices d on d.id = u.device_id left join gps_fixes f on f.device_id = d.id
      where ${'id' in user ? sql`u.id = ${user.id}` : sql`u.username = ${user.username}`}`,
  );
  return row?.shown ?? null;
}

/** The account as the answer to its change has it. null: no such user. */
export async function accountOf(
  database: Database,
  deadline: Deadline,
  user: UserId,
): Promise<OneUser['user'] | null> {
  const [account] = await database.read<OneUser['user']>(
    deadline,
    (sql) => sql`
      select id, username, role, is_dispatcher as dispatcher, device_id, created_at from users where id = ${user}`,
  );
  return account ?? null;
}

/** Makes a plain user a dispatcher, also one that is. The notification. null: no such plain user. */
export async function admitDispatcher(
  database: Database,
  deadline: Deadline,
  { user, by }: { user: UserId; by: Actor },
): Promise<readonly Notice[] | null> {
  const notices = [noticeOf({ kind: 'user_promoted', user })];
  const [plain] = await writeAct(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with plain as materialized (
        select id, is_dispatcher from users where id = ${user} and role = 'user' for no key update
      ), added as (
        update users set is_dispatcher = true from plain where users.id = plain.id and not plain.is_dispatcher
        returning users.id
      ), ${acting(sql, by, { act: 'dispatcher_added', from: sql`from added`, user: sql`id` })}
      select ${notifyAll(sql, notices)} ${noted} from plain`,
  );
  return plain === undefined ? null : notices;
}

/**
 * Deletes a plain user with everything that is its own, and rotates the keys that it had. The device stays, and keeps its
 * position only for another user. The notifications, or why it was not deleted.
 * LIMIT: of two users of one device who are deleted at once, each sees the other. Then the position stays, as one does that was
 * on its way.
 */
export async function deleteUser(
  database: Database,
  deadline: Deadline,
  { user, by }: { readonly user: UserId; readonly by: Actor },
): Promise<readonly Notice[] | 'user_not_found' | 'admin_account' | 'open_emergency'> {
  const notices = relinkNotices(user);
  try {
    const [account] = await writeAct<Rotated & { is_plain: boolean }>(
      database,
      deadline,
      by,
      (sql, noted) => sql`
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
        ), unnamed as (
          update emergencies set acknowledged_by = nullif(acknowledged_by, ${user}),
                                 cleared_by = nullif(cleared_by, ${user})
          where user_id in (select id from plain)
        ), unplaced as (
          delete from gps_fixes f using plain p
          where f.device_id = p.device_id
            and not exists (select from users o where o.device_id = p.device_id and o.id <> p.id)
        ), ${acting(sql, by, { act: 'user_deleted', from: sql`from plain`, user: sql`id`, device: sql`device_id` })}
        select is_plain, case when is_plain then ${notifyAll(sql, notices)} end, ${rotationNotices(sql)} ${noted}
        from account`,
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
