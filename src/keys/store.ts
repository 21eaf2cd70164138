// Reads and writes rotation counters and master secrets in PostgreSQL. Only this file selects a stored secret.
import type { Static } from 'typebox';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify } from '../db/notice.js';
import type { TalkgroupId } from '../ids.js';
import type { Rotation } from './schemas.js';
import type { StoredSecret } from './wrapping.js';

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

/** How many talkgroups' secrets each key wraps; null: none does. */
export function secretsByKey(
  database: Database,
  deadline: Deadline,
): Promise<{ wrapped_by: string | null; talkgroups: number }[]> {
  return database.read(
    deadline,
    (sql) => sql`select wrapped_by, count(*)::int as talkgroups from talkgroups group by wrapped_by`,
  );
}

export interface SecretOfTalkgroup {
  readonly talkgroup: TalkgroupId;
  readonly stored: StoredSecret;
}

/** The next secrets, in the order of their talkgroups' ids, that another key wraps, or none. */
export async function secretsNotWrappedBy(
  database: Database,
  deadline: Deadline,
  { keyId, after, limit }: { keyId: string; after: TalkgroupId | null; limit: number },
): Promise<SecretOfTalkgroup[]> {
  const rows = await database.read<{ id: TalkgroupId; master_secret: Buffer; wrapped_by: string | null }>(
    deadline,
    (sql) => sql`
      select id, master_secret, wrapped_by from talkgroups
      where wrapped_by is distinct from ${keyId} and (${after}::uuid is null or id > ${after}::uuid)
      order by id limit ${limit}`,
  );
  return rows.map(({ id, master_secret, wrapped_by }) => ({
    talkgroup: id,
    stored: { bytes: master_secret, wrappedBy: wrapped_by },
  }));
}

export interface SecretChange {
  readonly talkgroup: TalkgroupId;
  readonly from: StoredSecret;
  readonly to: StoredSecret;
}

/** Replaces the secrets that are still what they were; how many. */
export async function replaceSecrets(
  database: Database,
  deadline: Deadline,
  changes: readonly SecretChange[],
): Promise<number> {
  const column = (of: (change: SecretChange) => string | null) => `{${changes.map(of).join(',')}}`;
  const replaced = await database.write(
    deadline,
    (sql) => sql`
      update talkgroups t set master_secret = decode(c.after, 'hex'), wrapped_by = c.wrapped_by
      from unnest(
        ${column(({ talkgroup }) => talkgroup)}::uuid[],
        ${column(({ from }) => from.bytes.toString('hex'))}::text[],
        ${column(({ to }) => to.bytes.toString('hex'))}::text[],
        ${column(({ to }) => to.wrappedBy)}::text[]
      ) as c (id, before, after, wrapped_by)
      where t.id = c.id and t.master_secret = decode(c.before, 'hex')
      returning t.id`,
  );
  return replaced.length;
}
