// Reads and writes accounts in PostgreSQL: register, look up, change.
import { randomUUID } from 'node:crypto';
import { type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { notifyOwnUser } from '../db/notice.js';
import type { Fragment } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import type { DeviceId, UserId } from '../ids.js';
import type { Role } from './tokens.js';

/** Whether a token may still be used. */
export interface Standing {
  /** Unix seconds. Tokens issued before are refused. */
  readonly valid_from: number;
  /** Also true without a linked device. */
  readonly device_active: boolean;
}

/** Of the caller of a request. */
export interface CallerStanding extends Standing {
  readonly is_dispatcher: boolean;
}

export interface Account extends Standing {
  readonly id: UserId;
  readonly username: string;
  readonly role: Role;
  readonly password_hash: string;
}

interface Named extends Account {
  readonly device_id: DeviceId | null;
}

/** Of a token that is issued now: Unix seconds of the clock of the database. */
export interface Moment {
  readonly now_s: number;
  /** No token carries a later second, except `valid_from` of its user. */
  readonly newest_iat: number;
}

export const moment = (sql: Sql) => sql`
  floor(extract(epoch from now()))::bigint as now_s, (select newest_iat from token_times) as newest_iat`;

/** A login behind that time moves it so far ahead (s), so that few logins write. */
const NEWEST_IAT_STEP_S = 10;

export interface NewAccount {
  /** In NFC (usernames.ts). */
  readonly username: string;
  readonly passwordHash: string;
  /** null: the new user registers. */
  readonly by: Actor | null;
}

/** null: no such user. Asked before every protected request. */
export async function accountStanding(
  database: Database,
  deadline: Deadline,
  user: UserId,
): Promise<CallerStanding | null> {
  const [standing] = await database.read<CallerStanding>(
    deadline,
    (sql) => sql`
      select u.valid_from, u.is_dispatcher, coalesce(d.active, true) as device_active
      from users u left join devices d on d.id = u.device_id
      where u.id = ${user}`,
  );
  return standing ?? null;
}

export async function accountNamed(
  database: Database,
  deadline: Deadline,
  username: string,
): Promise<(Named & Moment) | null> {
  const [account] = await database.read<Named & Moment>(
    deadline,
    (sql) => sql`
      select u.id, u.username, u.role, u.password_hash, u.valid_from, u.device_id,
             coalesce(d.active, true) as device_active, ${moment(sql)}
      from users u left join devices d on d.id = u.device_id
      where u.username = ${username}`,
  );
  return account ?? null;
}

export async function passwordHashOf(
  database: Database,
  deadline: Deadline,
  user: UserId,
): Promise<string | null> {
  const [row] = await database.read<{ password_hash: string }>(
    deadline,
    (sql) => sql`select password_hash from users where id = ${user}`,
  );
  return row?.password_hash ?? null;
}

/** Why a registration would fail, asked before 50 ms are spent on its hash. `register` decides. */
export async function obstacleToRegister(
  database: Database,
  deadline: Deadline,
  { username, serial }: { username: string; serial: string | null },
): Promise<'username_taken' | 'device_disabled' | null> {
  const [row] = await database.read<{ taken: boolean; disabled: boolean }>(
    deadline,
    (sql) => sql`
      select exists (select from users where username = ${username}) as taken,
             exists (select from devices where serial = ${serial} and not active) as disabled`,
  );
  if (row?.taken) return 'username_taken';
  return row?.disabled ? 'device_disabled' : null;
}

export type Registered = Pick<Account, 'id' | 'username' | 'role' | 'valid_from'> & Moment;

/**
 * The `iat` of a token for who was read so. The clock of the database alone counts, and it may be set back: what a
 * revocation must go beyond is stored before a token carries it. While nothing can be stored, a token is dated back.
 */
export async function issueTime(
  database: Database,
  deadline: Deadline,
  { now_s, newest_iat, valid_from }: Pick<Registered, 'now_s' | 'newest_iat' | 'valid_from'>,
): Promise<number> {
  if (now_s <= newest_iat) return Math.max(now_s, valid_from);
  try {
    await database.write(
      deadline,
      (sql) => sql`
        update token_times set newest_iat = ${now_s}::bigint + ${NEWEST_IAT_STEP_S}::bigint
        where newest_iat < ${now_s}::bigint`,
    );
  } catch {
    // Expected: a disk that is full, or a server that only reads. The database client logs it.
    return Math.max(newest_iat, valid_from);
  }
  return Math.max(now_s, valid_from);
}

/** A new account with role `user`. */
export async function register(
  database: Database,
  deadline: Deadline,
  { username, passwordHash, by }: NewAccount,
): Promise<Registered | 'username_taken'> {
  const [account] = await writeAct<Registered>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with added as (
        insert into users (username, password_hash) values (${username}, ${passwordHash})
        on conflict (username) do nothing
        returning id, username, role, valid_from
      ), ${userAdded(sql, by, { username })}
      select id, username, role, valid_from, ${moment(sql)} ${noted} from added`,
  );
  return account ?? 'username_taken';
}

/**
 * The same, linked to the device with that serial, which is created when there is none. When there is no account,
 * there is no new device either, and with a disabled device the name stays free.
 */
export async function registerWithDevice(
  database: Database,
  deadline: Deadline,
  { username, passwordHash, serial, site, by }: NewAccount & { serial: string; site: string },
): Promise<Registered | 'username_taken' | 'device_disabled'> {
  try {
    // The update changes nothing. It makes `returning` answer for a device that already exists.
    const [account] = await writeAct<Registered>(
      database,
      deadline,
      by,
      (sql, noted) => sql`
        with device as (
          insert into devices (name, site, serial) values (${serial}, ${site}, ${serial})
          on conflict (serial) do update set serial = excluded.serial
          returning id, active
        ), added as (
          insert into users (username, password_hash, device_id)
          select ${username}, ${passwordHash}, id from device where active
          returning id, username, role, valid_from, device_id
        ), ${userAdded(sql, by, { username, serial })}
        select id, username, role, valid_from, ${moment(sql)} ${noted} from added`,
    );
    return account ?? 'device_disabled';
  } catch (error) {
    const { code, constraint_name } = error as { code?: string; constraint_name?: string };
    if (code === '23505' && constraint_name === 'users_username_key') return 'username_taken';
    throw error;
  }
}

/** The act of a CTE `added`. */
const userAdded = (sql: Sql, by: Actor | null, details: { username: string; serial?: string }) =>
  acting(sql, by, {
    act: 'user_added',
    from: sql`from added`,
    ...{ user: sql`id`, device: 'serial' in details ? sql`device_id` : sql`null`, details },
  });

/** Inserts the accounts of a source with the columns username, hash, is_dispatcher and device_id. Returns id and username. */
export const accountsOf = (sql: Sql, source: Fragment): Fragment => sql`
  insert into users (username, password_hash, is_dispatcher, device_id)
  select username, hash, is_dispatcher, device_id from ${source}
  on conflict (username) do nothing returning id, username`;

/** null: no such user. */
export async function roleOf(database: Database, deadline: Deadline, user: UserId): Promise<Role | null> {
  const [row] = await database.read<{ role: Role }>(
    deadline,
    (sql) => sql`select role from users where id = ${user}`,
  );
  return row?.role ?? null;
}

/** Whether this user exists, and is an admin. */
export async function hasAdmin(database: Database, deadline: Deadline, username: string): Promise<boolean> {
  const rows = await database.read<{ id: UserId }>(
    deadline,
    (sql) => sql`select id from users where username = ${username} and role = 'admin'`,
  );
  return rows.length > 0;
}

/** Makes sure an admin of that name exists, and changes none. Safe when several nodes start at once. */
export async function addAdmin(
  database: Database,
  deadline: Deadline,
  { username, passwordHash, by }: NewAccount & { by: Actor },
): Promise<'created' | 'kept' | 'plain_user'> {
  const id = randomUUID();
  const [admin] = await writeAct<{ created: boolean; role: Role }>(
    database,
    deadline,
    by,
    // The update changes nothing. It makes `returning` answer for an account that already exists.
    (sql, noted) => sql`
      with admin as (
        insert into users (id, username, password_hash, role) values (${id}, ${username}, ${passwordHash}, 'admin')
        on conflict (username) do update set role = users.role
        returning id, id = ${id} as created, role
      ), ${acting(sql, by, {
        act: 'admin_added',
        from: sql`from admin where created`,
        ...{ user: sql`id`, details: { username } },
      })}
      select created, role ${noted} from admin`,
  );
  if (admin?.created) return 'created';
  return admin?.role === 'admin' ? 'kept' : 'plain_user';
}

/**
 * Makes an existing user an admin, who keeps the password. So do its live sockets, on all nodes within 250 ms. False: no such
 * user.
 */
export async function promote(
  database: Database,
  deadline: Deadline,
  { username, by }: { username: string; by: Actor },
): Promise<boolean> {
  const notice = { id: randomUUID(), kind: 'user_promoted' } as const;
  const promoted = await writeAct(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with before as materialized (
        select id, role <> 'admin' as is_news from users where username = ${username} for no key update
      ), promoted as (
        update users set role = 'admin' from before where users.id = before.id
        returning users.id, is_news
      ), ${acting(sql, by, { act: 'admin_promoted', from: sql`from promoted where is_news`, user: sql`id` })}
      select ${notifyOwnUser(sql, notice)} ${noted} from promoted users`,
  );
  return promoted.length > 0;
}
