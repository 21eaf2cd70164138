// Reads and writes many users with their devices and memberships at once, for an import and an export.
import { type Actor, acting } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { holdersFollow, SITE_UNKNOWN } from '../db/device-link.js';
import { noticeOf, notifyAll } from '../db/notice.js';
import type { Fragment } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import { type DeviceId, readId, type TalkgroupId, type UserId } from '../ids.js';
import type { Known, KnownDevice, KnownUser, Names, NewDevice } from './plan.js';

/** Of one statement. */
const NAMES_AT_ONCE = 500;

/** Name of the lock of an import, in the shape of PostgreSQL's: a number of our own. */
const IMPORT_LOCK = 7_261_904;

/** Takes the lock of imports, which the connection has until it ends. false: another import has it. */
export async function takeImportLock(database: Database, deadline: Deadline): Promise<boolean> {
  const [row] = await database.write<{ taken: boolean }>(
    deadline,
    (sql) => sql`select pg_try_advisory_lock(${IMPORT_LOCK}::bigint) as taken`,
  );
  return row?.taken === true;
}

const json = (sql: Sql, value: unknown): Fragment => sql`${JSON.stringify(value)}::text::json`;

/** What the database has of these names, serials, and talkgroups by name or id. Refuses like `read`. */
export async function readKnown(database: Database, deadline: () => Deadline, wanted: Names): Promise<Known> {
  const users = new Map<string, KnownUser>();
  for (const names of parts(wanted.usernames)) {
    const rows = await database.read<KnownUser & { username: string }>(
      deadline(),
      (sql) => sql`
        select u.username, u.id, u.role = 'admin' as is_admin, u.is_dispatcher, d.serial, coalesce(
                 (select json_agg(m.talkgroup_id) from memberships m where m.user_id = u.id), '[]') as talkgroups
        from json_array_elements_text(${json(sql, names)}) n (name)
        join users u on u.username = n.name left join devices d on d.id = u.device_id`,
    );
    for (const { username, ...user } of rows) users.set(username, user);
  }
  const devices = new Map<string, KnownDevice>();
  for (const serials of parts(wanted.serials)) {
    const rows = await database.read<KnownDevice & { serial: string }>(
      deadline(),
      (sql) => sql`
        select d.serial, d.id, d.name, d.site, d.active
        from json_array_elements_text(${json(sql, serials)}) n (serial) join devices d on d.serial = n.serial`,
    );
    for (const { serial, ...device } of rows) devices.set(serial, device);
  }
  const talkgroups = new Map<TalkgroupId, string>();
  const add = (rows: readonly { id: TalkgroupId; name: string }[]) => {
    for (const { id, name } of rows) talkgroups.set(id, name);
  };
  for (const called of parts(wanted.talkgroups)) {
    const ids = called.flatMap((text) => readId<TalkgroupId>(text) ?? []);
    add(
      await database.read(
        deadline(),
        (sql) => sql`
          select t.id, t.name from json_array_elements_text(${json(sql, called)}) n (name)
          join talkgroups t on t.name = n.name`,
      ),
    );
    add(
      await database.read(
        deadline(),
        (sql) => sql`
          select t.id, t.name from json_array_elements_text(${json(sql, ids)}) n (id)
          join talkgroups t on t.id = n.id::uuid`,
      ),
    );
  }
  return { users, devices, talkgroups: [...talkgroups].map(([id, name]) => ({ id, name })) };
}

function* parts<T>(all: readonly T[]): Iterable<readonly T[]> {
  for (let from = 0; from < all.length; from += NAMES_AT_ONCE) yield all.slice(from, from + NAMES_AT_ONCE);
}

/** A row as it is written. */
export interface Write {
  readonly username: string;
  /** null: a new user. */
  readonly user: UserId | null;
  /** Of the password of a new user. */
  readonly hash: string | null;
  /** SHA-256 of a setup code for a new user. null: it gets none. */
  readonly code: Buffer | null;
  readonly device: NewDevice | null;
  readonly talkgroups: readonly TalkgroupId[];
  /** Becomes one. */
  readonly isDispatcher: boolean;
}

/** Inserts the accounts of a source with the columns username, hash, is_dispatcher and device_id. Returns id and username. */
export type Accounts = (sql: Sql, source: Fragment) => Fragment;

export interface Writing {
  readonly accounts: Accounts;
  /** How long setup codes are valid. */
  readonly codeHours: number;
  readonly by: Actor;
}

/**
 * The usernames of the rows that were written. The others changed meanwhile: a user or a link came from elsewhere. None is
 * written when a user or a talkgroup was deleted meanwhile.
 */
export async function writeRows(
  database: Database,
  deadline: Deadline,
  rows: readonly Write[],
  { accounts, codeHours, by }: Writing,
): Promise<ReadonlySet<string>> {
  const notices = rows.flatMap(({ user }) =>
    user === null ? [] : [noticeOf({ kind: 'user_promoted', user })],
  );
  const flat = rows.map(({ username, user, hash, code, device, talkgroups, isDispatcher }) => ({
    ...{ username, user_id: user, hash, groups: talkgroups, is_dispatcher: isDispatcher },
    code: code?.toString('hex') ?? null,
    ...{ serial: device?.serial ?? null, device_name: device?.name ?? null, site: device?.site ?? null },
  }));
  const statement: Parameters<typeof database.write<{ usernames: string[] }>>[1] =
    // The update of a device changes nothing. It makes `returning` answer for one that already exists.
    (sql) => sql`
      with wanted as materialized (
        select username, user_id, hash, code, is_dispatcher, groups, serial, device_name, site
        from json_to_recordset(${json(sql, flat)}) as w (
          username text, user_id uuid, hash text, code text, is_dispatcher boolean, groups json, serial text, device_name text, site text)
      ), device as (
        insert into devices (name, site, serial)
        select distinct on (serial) device_name, site, serial from wanted where serial is not null
        on conflict (serial) do update set serial = excluded.serial
        returning id, serial, site, active
      ), added as (
        ${accounts(
          sql,
          sql`(
            select w.username, w.hash, w.is_dispatcher, d.id as device_id from wanted w left join device d on d.serial = w.serial
            where w.user_id is null and (w.serial is null or d.active)
          ) source`,
        )}
      ), coded as (
        insert into setup_codes (user_id, code_hash, expires_at, role, valid_from)
        select a.id, decode(w.code, 'hex'), now() + interval '1 hour' * ${codeHours}::integer, 'user', 0
        from added a join wanted w using (username) where w.code is not null
      ), changed as (
        update users u
        set device_id = coalesce(d.id, u.device_id), is_dispatcher = u.is_dispatcher or w.is_dispatcher
        from wanted w left join device d on d.serial = w.serial
        where u.id = w.user_id and case when w.serial is null then w.is_dispatcher else u.device_id is null and d.active end
        returning u.id, u.device_id, w.serial
      ), linked as materialized (
        select id, device_id from changed where serial is not null
      ), moved as (
        ${holdersFollow(sql)}
      ), row_of as (
        select w.username, w.serial, w.user_id is null as is_new, w.is_dispatcher, w.code is not null as is_coded, w.groups,
               coalesce(a.id, u.id) as id, d.id as device_id, coalesce(d.site, own.site, ${SITE_UNKNOWN}) as site
        from wanted w
        left join added a on a.username = w.username and w.user_id is null
        left join users u on u.id = w.user_id
        left join linked l on l.id = w.user_id
        left join device d on d.serial = w.serial
        left join devices own on own.id = u.device_id
        where a.id is not null or (u.id is not null and (w.serial is null or l.id is not null))
      ), joined as (
        insert into memberships (user_id, talkgroup_id, site, first_epoch)
        select r.id, t.id, r.site, t.rotation_counter
        from row_of r cross join json_array_elements_text(r.groups) g (id) join talkgroups t on t.id = g.id::uuid
        on conflict do nothing
        returning user_id, talkgroup_id
      ), names as (
        select j.user_id, jsonb_agg(t.name order by t.name) as talkgroups
        from joined j join talkgroups t on t.id = j.talkgroup_id group by j.user_id
      ), done as (
        select r.id, r.username, r.serial, r.device_id, r.is_new, r.is_dispatcher, r.is_coded, n.talkgroups from row_of r left join names n on n.user_id = r.id
      ), ${acting(sql, by, {
        act: 'user_added',
        from: sql`from done where is_new`,
        ...ofRow(sql, { setup_code: sql`nullif(is_coded, false)` }),
      })}, ${acting(
        sql,
        by,
        {
          act: 'user_changed',
          from: sql`from done where not is_new and (talkgroups is not null or id in (select id from changed))`,
          ...ofRow(sql),
        },
        'also_acted',
      )}
      select (select coalesce(json_agg(username), '[]') from row_of) as usernames, ${notifyAll(sql, notices)}`;
  try {
    const [written] = await database.write(deadline, statement);
    return new Set(written?.usernames);
  } catch (error) {
    // 23503, foreign key: deleted between the plan and now.
    if ((error as { code?: string }).code === '23503') return new Set();
    throw error;
  }
}

/** What an act names of a row of `done`. */
const ofRow = <More extends object>(sql: Sql, more?: More) => ({
  ...{ user: sql`id`, device: sql`device_id` },
  details: {
    ...{ username: sql`username`, serial: sql`serial`, dispatcher: sql`nullif(is_dispatcher, false)` },
    talkgroups: sql`talkgroups`,
    ...more,
  },
});

/** Gives devices another name and site. As by REST no relay hears of it: to read its users anew would cost them audio. */
export async function renameDevices(
  database: Database,
  deadline: Deadline,
  devices: readonly { readonly id: DeviceId; readonly name: string; readonly site: string }[],
  by: Actor,
): Promise<void> {
  await database.write(
    deadline,
    (sql) => sql`
      with changed as (
        update devices d set name = w.name, site = w.site
        from json_to_recordset(${json(sql, devices)}) as w (id uuid, name text, site text) where d.id = w.id
        returning d.id, d.name, d.site
      ), ${acting(sql, by, {
        act: 'device_changed',
        from: sql`from changed`,
        ...{ device: sql`id`, details: { name: sql`name`, site: sql`site` } },
      })}
      select count(*) from changed`,
  );
}

/** Names that several talkgroups have. */
export async function sharedNames(database: Database, deadline: Deadline): Promise<ReadonlySet<string>> {
  const rows = await database.read<{ name: string }>(
    deadline,
    (sql) => sql`select name from talkgroups group by name having count(*) > 1`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** A user as an export has it. */
export interface Exported {
  readonly id: UserId;
  readonly username: string;
  readonly serial: string | null;
  readonly device_name: string | null;
  readonly site: string | null;
  readonly is_admin: boolean;
  readonly is_dispatcher: boolean;
  readonly talkgroups: readonly { readonly id: TalkgroupId; readonly name: string }[];
}

/** Users behind this one in the order of their ids, at most 500. */
export const exportedAfter = (
  database: Database,
  deadline: Deadline,
  after: UserId | null,
): Promise<Exported[]> =>
  database.read<Exported>(
    deadline,
    (sql) => sql`
      select u.id, u.username, u.role = 'admin' as is_admin, u.is_dispatcher, d.serial, d.name as device_name, d.site, coalesce((
               select json_agg(json_build_object('id', t.id, 'name', t.name) order by t.name, t.id)
               from memberships m join talkgroups t on t.id = m.talkgroup_id where m.user_id = u.id), '[]') as talkgroups
      from users u left join devices d on d.id = u.device_id
      where true ${after === null ? sql`` : sql`and u.id > ${after}`}
      order by u.id limit ${NAMES_AT_ONCE}`,
  );
