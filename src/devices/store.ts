// Reads and writes devices in PostgreSQL.

import { type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify } from '../db/notice.js';
import { holds, type Keys, type Listing, listingBy, sortKeyOf } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import { type Rotated, rotating, rotationNotices, talkgroupsWithKeysOf } from '../db/rotation.js';
import type { DeviceId, UserId } from '../ids.js';
import type { Static } from '../typebox.js';
import type { DEVICE_COLUMNS, Device, DeviceChange } from './schemas.js';

/** All devices, oldest first. */
export function allDevices(database: Database, deadline: Deadline): Promise<Static<typeof Device>[]> {
  return database.read(
    deadline,
    (sql) => sql`
      select id, name, site, serial, active, created_at from devices order by created_at, id`,
  );
}

type Column = keyof typeof DEVICE_COLUMNS;

const keysOf = (sql: Sql): Keys<Column> => ({
  name: sql`lower(name collate "C")`,
  serial: sql`lower(serial collate "C")`,
  site: sql`lower(site collate "C")`,
  active: sql`active::int`,
  created_at: sql`(extract(epoch from created_at) * 1000000)::bigint`,
});

/** Rows of the page in its order. */
export function devicesListed(
  database: Database,
  deadline: Deadline,
  page: Listing<Column>,
): Promise<(Static<typeof Device> & { sort_key?: string })[]> {
  const found = (sql: Sql, find: string) => sql`
    and (${holds(sql, sql`name`, find)} or ${holds(sql, sql`serial`, find)} or ${holds(sql, sql`site`, find)})`;
  return database.read(
    deadline,
    (sql) => sql`
      select id, name, site, serial, active, created_at ${sortKeyOf(sql, keysOf(sql), page)} from devices
      where true ${page.find === null ? sql`` : found(sql, page.find)} ${listingBy(sql, keysOf(sql), page)}`,
  );
}

/** null: no device is linked to the user. */
export async function deviceOf(
  database: Database,
  deadline: Deadline,
  user: UserId,
): Promise<Static<typeof Device> | null> {
  const [device] = await database.read<Static<typeof Device>>(
    deadline,
    (sql) => sql`
      select d.id, d.name, d.site, d.serial, d.active, d.created_at
      from users u join devices d on d.id = u.device_id
      where u.id = ${user}`,
  );
  return device ?? null;
}

/**
 * A device that is disabled loses the key holders registered with it, and the keys of the talkgroups of its users rotate.
 * The notifications, none when the device was so before. null: no such device.
 */
export async function setDeviceActive(
  database: Database,
  deadline: Deadline,
  { device, active, notice, by }: { device: DeviceId; active: boolean; notice: Notice; by: Actor },
): Promise<readonly Notice[] | null> {
  const [changed] = await writeAct<Rotated & { is_news: boolean }>(
    database,
    deadline,
    by,
    // Only a device that was enabled rotates: disabling it again loses nothing more.
    (sql, noted) => sql`
      with before as materialized (
        select id, active from devices where id = ${device} for no key update
      ), changed as (
        update devices set active = ${active} from before where devices.id = before.id
        returning devices.id, before.active and not ${active}::boolean as is_lost, before.active <> ${active} as is_news
      ), lost as (
        delete from key_holders where device_id in (select id from changed where is_lost)
      ), ${rotating(sql, {
        which: talkgroupsWithKeysOf(
          sql,
          sql`select u.id from users u join changed c on c.id = u.device_id where c.is_lost`,
        ),
        useInMs: 0,
        mayPutOff: true,
      })}, ${acting(sql, by, {
        act: active ? 'device_enabled' : 'device_disabled',
        from: sql`from changed where is_news`,
        device: sql`id`,
      })}
      select is_news, case when is_news then ${notify(sql, notice)} end, ${rotationNotices(sql)} ${noted} from changed`,
  );
  if (changed === undefined) return null;
  // Who is told reads the users of the device anew, which costs them audio.
  return changed.is_news ? [notice, ...changed.notices] : [];
}

/** The device after the change. Without name and site it stays as it was. null: no such device. */
export async function changeDevice(
  database: Database,
  deadline: Deadline,
  { device, change, by }: { device: DeviceId; change: DeviceChange; by: Actor },
): Promise<Static<typeof Device> | null> {
  const { name = null, site = null } = change;
  const [changed] = await writeAct<Static<typeof Device>>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with before as materialized (
        select id, name, site from devices where id = ${device} for no key update
      ), changed as (
        update devices d set name = coalesce(${name}, d.name), site = coalesce(${site}, d.site)
        from before where d.id = before.id
        returning d.id, d.name, d.site, d.serial, d.active, d.created_at,
                  nullif(d.name, before.name) as new_name, nullif(d.site, before.site) as new_site
      ), ${acting(sql, by, {
        act: 'device_changed',
        from: sql`from changed where coalesce(new_name, new_site) is not null`,
        ...{ device: sql`id`, details: { name: sql`new_name`, site: sql`new_site` } },
      })}
      select id, name, site, serial, active, created_at ${noted} from changed`,
  );
  return changed ?? null;
}
