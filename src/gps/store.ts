// The latest fix of each device in PostgreSQL; the relay stores through here as well.
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import type { DeviceId } from '../ids.js';
import type { GpsFix, StoredFix } from './schemas.js';

/** Replaces the fix before, under a new id. Resolves after commit; false: no such device. */
export async function storeFix(
  database: Database,
  deadline: Deadline,
  { deviceId, lat, lng, alt }: GpsFix & { deviceId: DeviceId },
): Promise<boolean> {
  const stored = await database.write(
    deadline,
    (sql) => sql`
      insert into gps_fixes (device_id, lat, lng, alt)
      select id, ${lat}::float8, ${lng}::float8, ${alt}::float8 from devices where id = ${deviceId}
      on conflict (device_id) do update
        set id = excluded.id, lat = excluded.lat, lng = excluded.lng, alt = excluded.alt,
            updated_at = excluded.updated_at
      returning id`,
  );
  return stored.length > 0;
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
