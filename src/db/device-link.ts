// Links a user with the device of a serial.
import type { DeviceId, UserId } from '../ids.js';
import { type Actor, acting, writeAct } from './acts.js';
import type { Database } from './client.js';
import type { Deadline } from './deadline.js';
import { type Notice, noticeOf, notifyAll } from './notice.js';
import type { Fragment } from './pages.js';
import type { Sql } from './pool.js';

/** The site of a new device of which none was told. Also that of members without a device (seed, Membership). */
export const SITE_UNKNOWN = 'unknown';

export interface Link {
  readonly user: UserId;
  /** null: the user, at a login. */
  readonly by: Actor | null;
  /** Stored in NFC, whatever its form here. */
  readonly serial: string;
  /** For a device that the link creates. */
  readonly site: string;
  /** For a device that the link creates. Default: the serial. */
  readonly name?: string | undefined;
  /** false: the account of an administrator is left alone. */
  readonly mayBeAdmin: boolean;
}

interface LinkedDevice {
  readonly id: DeviceId;
  readonly name: string;
  readonly site: string;
  readonly serial: string;
  readonly active: boolean;
  readonly created_at: string;
}

export interface Linking {
  /** The device that the user had before. */
  readonly before: DeviceId | null;
  /** The device of the serial. null: it was not looked for, because the account is that of an administrator. */
  readonly device: LinkedDevice | null;
  /** The notifications of a new link. None when no link was made. */
  readonly notices: readonly Notice[];
}

/** Moves the key holders of users to their first device: those of `linked`, with the columns id and device_id. */
export const holdersFollow = (sql: Sql): Fragment => sql`
  update key_holders h set device_id = linked.device_id from linked
  where h.user_id = linked.id and h.device_id is null`;

/**
 * Creates the device when there is none with that serial, and links it when the user has no device and this one is enabled.
 * Then the key holders of the user are on that device. null: no such user, and no device is created.
 */
export async function linkDevice(
  database: Database,
  deadline: Deadline,
  { user, by, serial, site, name, mayBeAdmin }: Link,
): Promise<Linking | null> {
  const text = serial.normalize('NFC');
  const notices = [noticeOf({ kind: 'user_promoted', user })];
  const [row] = await writeAct<Row>(
    database,
    deadline,
    by,
    // The first update changes nothing. It makes `returning` answer for a device that already exists.
    (sql, noted) => sql`
      with account as materialized (
        select id, role = 'user' as is_plain, device_id from users where id = ${user} for no key update
      ), device as (
        insert into devices (name, site, serial)
        select ${name ?? text}, ${site}, ${text} from account where is_plain or ${mayBeAdmin}::boolean
        on conflict (serial) do update set serial = excluded.serial
        returning id, name, site, serial, active, created_at
      ), linked as (
        update users set device_id = device.id from device, account
        where users.id = account.id and account.device_id is null and device.active
        returning users.id, users.device_id
      ), moved as (
        ${holdersFollow(sql)}
      ), ${acting(sql, by, {
        act: 'device_linked',
        from: sql`from linked`,
        ...{ user: sql`id`, device: sql`device_id`, details: { serial: text } },
      })}
      select account.device_id as before, linked.id is not null as is_linked,
             device.id, device.name, device.site, device.serial, device.active, device.created_at,
             case when linked.id is not null then ${notifyAll(sql, notices)} end ${noted}
      from account left join device on true left join linked on true`,
  );
  if (row === undefined) return null;
  const { before, is_linked: isLinked, id, active, created_at } = row;
  const device =
    id === null ? null : { id, name: row.name, site: row.site, serial: row.serial, active, created_at };
  return { before, device, notices: isLinked ? notices : [] };
}

type Row = { readonly before: DeviceId | null; readonly is_linked: boolean } & (
  | LinkedDevice
  | { readonly [Column in keyof LinkedDevice]: null }
);
