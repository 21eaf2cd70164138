// Devices in PostgreSQL.
import type { Static } from 'typebox';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify } from '../db/notices.js';
import type { DeviceId } from '../ids.js';
import type { Device } from './schemas.js';

export function allDevices(database: Database, deadline: Deadline): Promise<Static<typeof Device>[]> {
  return database.read(
    deadline,
    (sql) => sql`select id, name, site, serial, active, created_at from devices order by created_at, id`,
  );
}

/** False: no such device. */
export async function setDeviceActive(
  database: Database,
  deadline: Deadline,
  { device, active, notice }: { device: DeviceId; active: boolean; notice: Notice },
): Promise<boolean> {
  const changed = await database.write(
    deadline,
    (sql) => sql`update devices set active = ${active} where id = ${device} returning ${notify(sql, notice)}`,
  );
  return changed.length > 0;
}
