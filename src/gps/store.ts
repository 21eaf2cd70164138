// Reads and writes the latest position of each device in PostgreSQL.
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import type { DeviceId } from '../ids.js';
import type { DeviceFix, StoredFix } from './schemas.js';

/**
 * Replaces the fixes before, each under a new id; of each device at most one may be given. Resolves after commit with
 * those of the devices that exist.
 */
export async function storeFixes(
  database: Database,
  deadline: Deadline,
  fixes: readonly DeviceFix[],
): Promise<ReadonlySet<DeviceId>> {
  const arrayOf = (field: keyof DeviceFix) => `{${fixes.map((fix) => fix[field]).join(',')}}`;
  const rows = await database.write<{ device_id: DeviceId }>(
    deadline,
    (sql) => sql`
      insert into gps_fixes (device_id, lat, lng, alt)
      select device_id, lat, lng, alt
      from unnest(${arrayOf('deviceId')}::uuid[], ${arrayOf('lat')}::float8[], ${arrayOf('lng')}::float8[],
                  ${arrayOf('alt')}::float8[]) as fix (device_id, lat, lng, alt)
      where exists (select from devices where id = device_id)
      order by device_id -- two statements lock the devices they share in one order
      on conflict (device_id) do update
        set id = excluded.id, lat = excluded.lat, lng = excluded.lng, alt = excluded.alt,
            updated_at = excluded.updated_at
      returning device_id`,
  );
  return new Set(rows.map(({ device_id }) => device_id));
}

/** null: the device has none, or there is no such device. */
export async function latestFix(
  database: Database,
  deadline: Deadline,
  deviceId: DeviceId,
): Promise<StoredFix | null> {
  const [fix] = await database.read<StoredFix>(
    deadline,
    (sql) =>
      sql`select id, device_id, lat, lng, alt, updated_at from gps_fixes where device_id = ${deviceId}`,
  );
  return fix ?? null;
}
