// Reads the device of a user in PostgreSQL, and sets it in the statement that revokes.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Sql } from '../../db/pool.js';
import type { DeviceId, UserId } from '../../ids.js';

/** null: no such user. */
export async function linkOf(
  database: Database,
  deadline: Deadline,
  user: UserId,
): Promise<{ readonly role: 'admin' | 'user'; readonly device_id: DeviceId | null } | null> {
  const [account] = await database.read<{ role: 'admin' | 'user'; device_id: DeviceId | null }>(
    deadline,
    (sql) => sql`select role, device_id from users where id = ${user}`,
  );
  return account ?? null;
}

/** For an `update` of the user that sets other columns too. */
export const deviceToo = (device: DeviceId | null) => (sql: Sql) => sql`, device_id = ${device}`;
