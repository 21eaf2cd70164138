// Reads and writes many users with their devices and memberships at once, for an import and an export.
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { SITE_UNKNOWN } from '../db/device-link.js';
import { noticeOf, notifyAll } from '../db/notice.js';
import type { Fragment } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import type { DeviceId, TalkgroupId, UserId } from '../ids.js';
import type { Known, KnownDevice, KnownUser, NewDevice } from './plan.js';

/** Of one statement. */
const NAMES_AT_ONCE = 500;

const json = (sql: Sql, value: unknown): Fragment => sql`${JSON.stringify(value)}::text::json`;

/** What the database has of these names, serials, and talkgroups by name or id. Refuses like `read`. */
export async function readKnown(
  database: Database,
  deadline: () => Deadline,
  wanted: {
    readonly usernames: readonly string[];
    readonly serials: readonly string[];
    readonly talkgroups: readonly string[];
  },
): Promise<Known> {
  const users = new Map<string, KnownUser>();
  for (const names of parts(wanted.usernames)) {
    const rows = await database.read<KnownUser & { username: string }>(
      deadline(),
      (sql) => sql`
        select u.username, u.id, d.serial, coalesce(
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
  for (const called of parts(wanted.talkgroups)) {
    const rows = await database.read<{ id: TalkgroupId; name: string }>(
      deadline(),
      (sql) => sql`
        select t.id, t.name
        from json_array_elements_text(${json(sql, called)}) n (called)
        join talkgroups t on t.name = n.called or t.id::text = lower(n.called)`,
    );
    for (const { id, name } of rows) talkgroups.set(id, name);
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
  readonly device: NewDevice | null;
  readonly talkgroups: readonly TalkgroupId[];
}

/** Inserts the accounts of a source with the columns username, hash and device_id. Returns id and username. */
export type Accounts = (sql: Sql, source: Fragment) => Fragment;

/** How many of the rows were written. The others changed meanwhile: a user or a link came from elsewhere. */
export async function writeRows(
  database: Database,
  deadline: Deadline,
  rows: readonly Write[],
  accounts: Accounts,
): Promise<number> {
  const notices = rows.flatMap(({ user }) =>
    user === null ? [] : [noticeOf({ kind: 'user_promoted', user })],
  );
  const flat = rows.map(({ username, user, hash, device, talkgroups }) => ({
    ...{ username, user_id: user, hash, groups: talkgroups },
    ...{ serial: device?.serial ?? null, device_name: device?.name ?? null, site: device?.site ?? null },
  }));
  const [written] = await database.write<{ rows: number }>(
    deadline,
    // The update of a device changes nothing; it makes `returning` answer for one that already exists.
    (sql) => sql`
      with wanted as materialized (
        select username, user_id, hash, groups, serial, device_name, site from json_to_recordset(${json(sql, flat)}) as w (
          username text, user_id uuid, hash text, groups json, serial text, device_name text, site text)
      ), device as (
        insert into devices (name, site, serial)
        select distinct on (serial) device_name, site, serial from wanted where serial is not null
        on conflict (serial) do update set serial = excluded.serial
        returning id, serial, site, active
      ), added as (
        ${accounts(
          sql,
          sql`(
            select w.username, w.hash, d.id as device_id from wanted w left join device d on d.serial = w.serial
            where w.user_id is null and (w.serial is null or d.active)
          ) source`,
        )}
      ), linked as (
        update users u set device_id = d.id from wanted w join device d on d.serial = w.serial
        where u.id = w.user_id and u.device_id is null and d.active
        returning u.id, u.device_id
      ), moved as (
        update key_holders h set device_id = l.device_id from linked l
        where h.user_id = l.id and h.device_id is null
      ), row_of as (
        select coalesce(a.id, u.id) as id, w.groups, coalesce(d.site, own.site, ${SITE_UNKNOWN}) as site
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
      )
      select (select count(*)::int from row_of) as rows, ${notifyAll(sql, notices)}`,
  );
  return written?.rows ?? 0;
}

/** Gives devices another name and site. */
export async function renameDevices(
  database: Database,
  deadline: Deadline,
  devices: readonly { readonly id: DeviceId; readonly name: string; readonly site: string }[],
): Promise<void> {
  const notices = devices.map(({ id }) => noticeOf({ kind: 'device_changed', device: id }));
  await database.write(
    deadline,
    (sql) => sql`
      with changed as (
        update devices d set name = w.name, site = w.site
        from json_to_recordset(${json(sql, devices)}) as w (id uuid, name text, site text) where d.id = w.id
      )
      select ${notifyAll(sql, notices)}`,
  );
}

/** A user as an export has it. */
export interface Exported {
  readonly id: UserId;
  readonly username: string;
  readonly serial: string | null;
  readonly device_name: string | null;
  readonly site: string | null;
  readonly talkgroups: readonly {
    readonly id: TalkgroupId;
    readonly name: string;
    readonly is_alone: boolean;
  }[];
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
      select u.id, u.username, d.serial, d.name as device_name, d.site, coalesce((
               select json_agg(json_build_object('id', t.id, 'name', t.name, 'is_alone',
                        not exists (select from talkgroups o where o.name = t.name and o.id <> t.id))
                      order by t.name, t.id)
               from memberships m join talkgroups t on t.id = m.talkgroup_id where m.user_id = u.id), '[]') as talkgroups
      from users u left join devices d on d.id = u.device_id
      where true ${after === null ? sql`` : sql`and u.id > ${after}`}
      order by u.id limit ${NAMES_AT_ONCE}`,
  );
