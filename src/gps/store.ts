// Reads and writes the latest position of each device in PostgreSQL.

import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Page, pageBy } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import type { DeviceId, TalkgroupId } from '../ids.js';
import type { ReportedFix } from '../protocol/fix.js';
import type { Static } from '../typebox.js';
import type { DevicePosition, StoredFix } from './schemas.js';

/** Of each device that exists, its `updated_at` now (Unix ms). null: the report is older than what is stored. */
export type StoredTimes = ReadonlyMap<DeviceId, number | null>;

/**
 * Replaces the fixes before, each under a new id. Of each device at most one may be given. Resolves after commit. A report
 * without a time is of now and replaces any other. One with a time replaces none that is newer, and is at most `aheadMsMax`
 * ahead. What is stored beyond that came from a clock of the service that was ahead.
 */
export async function storeFixes(
  database: Database,
  deadline: Deadline,
  { fixes, aheadMsMax }: { fixes: readonly ReportedFix[]; aheadMsMax: number },
): Promise<StoredTimes> {
  const isPossible = (sql: Sql) =>
    sql`gps_fixes.updated_at <= now() + ${aheadMsMax}::integer * interval '1 millisecond'`;
  const arrayOf = (field: keyof ReportedFix) => `{${fixes.map((fix) => fix[field] ?? 'null').join(',')}}`;
  const rows = await database.write<{ device_id: DeviceId; at_ms: number | null }>(
    deadline,
    (sql) => sql`
      with fix as (
        select device_id, lat, lng, alt, speed, course, accuracy, battery,
               coalesce(to_timestamp(at_ms / 1000), now()) as updated_at
        from unnest(${arrayOf('deviceId')}::uuid[], ${arrayOf('lat')}::float8[], ${arrayOf('lng')}::float8[],
                    ${arrayOf('alt')}::float8[], ${arrayOf('speed')}::float8[], ${arrayOf('course')}::float8[],
                    ${arrayOf('accuracy')}::float8[], ${arrayOf('battery')}::float8[], ${arrayOf('atMs')}::float8[])
             as given (device_id, lat, lng, alt, speed, course, accuracy, battery, at_ms)
        where exists (select from devices where id = device_id)
      ), stored as (
        insert into gps_fixes (device_id, lat, lng, alt, speed, course, accuracy, battery, updated_at)
        select device_id, lat, lng, alt, speed, course, accuracy, battery, updated_at
        from fix
        order by device_id -- two statements lock the devices they share in one order
        on conflict (device_id) do update
          set id = excluded.id, lat = excluded.lat, lng = excluded.lng, alt = excluded.alt,
              speed = excluded.speed, course = excluded.course, accuracy = excluded.accuracy,
              battery = excluded.battery,
              -- it does not go back, unless a clock was further ahead than a report may be
              updated_at = case when ${isPossible(sql)} then greatest(excluded.updated_at, gps_fixes.updated_at)
                                else excluded.updated_at end
          where excluded.updated_at >= gps_fixes.updated_at or excluded.updated_at = now() or not (${isPossible(sql)})
        returning device_id, updated_at
      )
      select device_id, (extract(epoch from stored.updated_at) * 1000)::float8 as at_ms
      from fix left join stored using (device_id)`,
  );
  return new Map(rows.map(({ device_id, at_ms }) => [device_id, at_ms]));
}

/** null: the device has none, or there is no such device. */
export async function latestFix(
  database: Database,
  deadline: Deadline,
  deviceId: DeviceId,
): Promise<Static<typeof StoredFix> | null> {
  const [fix] = await database.read<Static<typeof StoredFix>>(
    deadline,
    (sql) =>
      sql`select id, device_id, lat, lng, alt, updated_at from gps_fixes where device_id = ${deviceId}`,
  );
  return fix ?? null;
}

type Position = Static<typeof DevicePosition>;

/** Rows of the page in the order of the ids of their devices. */
export async function latestFixes(database: Database, deadline: Deadline, page: Page): Promise<Position[]> {
  const rows = await database.read<Nullable<Position>>(
    deadline,
    (sql) => sql`
      select device_id, lat, lng, alt, speed, course, accuracy, battery, updated_at
      from gps_fixes
      where true ${pageBy(sql, sql`device_id`, page)}`,
  );
  return rows.map(withoutNulls);
}

/** The same of devices that belong to members of the talkgroup. null: no such talkgroup. */
export async function latestFixesIn(
  database: Database,
  deadline: Deadline,
  { talkgroup, page }: { talkgroup: TalkgroupId; page: Page },
): Promise<Position[] | null> {
  // One row without a device stands for a talkgroup without positions.
  const rows = await database.read<Nullable<Position> | { device_id: null }>(
    deadline,
    (sql) => sql`
      select f.device_id, f.lat, f.lng, f.alt, f.speed, f.course, f.accuracy, f.battery, f.updated_at
      from talkgroups t
      left join lateral (
        select g.device_id, g.lat, g.lng, g.alt, g.speed, g.course, g.accuracy, g.battery, g.updated_at
        from gps_fixes g
        where g.device_id in (select u.device_id from memberships m join users u on u.id = m.user_id
                              where m.talkgroup_id = t.id and u.device_id is not null)
        ${pageBy(sql, sql`g.device_id`, page)}
      ) f on true
      where t.id = ${talkgroup}
      order by f.device_id`,
  );
  return rows.length === 0 ? null : rows.filter(isPosition).map(withoutNulls);
}

type Nullable<Fields> = { [Key in keyof Fields]: Fields[Key] | null };

const isPosition = (row: Nullable<Position> | { device_id: null }): row is Nullable<Position> =>
  row.device_id !== null;

/** What the device did not say is left out. */
function withoutNulls(row: Nullable<Position>): Position {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Position; // the others are not null
}
