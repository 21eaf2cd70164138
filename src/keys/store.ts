// Rotation counters in PostgreSQL.
import type { Static } from 'typebox';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify } from '../db/notices.js';
import type { TalkgroupId } from '../ids.js';
import type { Rotation } from './schemas.js';

/** null: no such talkgroup. */
export async function rotationOf(
  database: Database,
  deadline: Deadline,
  talkgroup: TalkgroupId,
): Promise<Static<typeof Rotation> | null> {
  const [rotation] = await database.read<Static<typeof Rotation>>(
    deadline,
    (sql) => sql`select id as talkgroup_id, rotation_counter from talkgroups where id = ${talkgroup}`,
  );
  return rotation ?? null;
}

/** The counter after adding one; null: no such talkgroup. */
export async function rotate(
  database: Database,
  deadline: Deadline,
  { talkgroup, notice }: { talkgroup: TalkgroupId; notice: Notice },
): Promise<Static<typeof Rotation> | null> {
  const [rotation] = await database.write<Static<typeof Rotation>>(
    deadline,
    (sql) => sql`
      update talkgroups set rotation_counter = rotation_counter + 1 where id = ${talkgroup}
      returning id as talkgroup_id, rotation_counter, ${notify(sql, notice)}`,
  );
  return rotation ?? null;
}
