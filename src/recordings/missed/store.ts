// Counts the recordings that a user did not hear live.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { lowestIdFrom } from '../../protocol/recording-id.js';
import { isAdmin } from '../holding/store.js';
import { couldHear, lowestIdOf, type Reader } from '../reading/store.js';

/** Of a talkgroup. It bounds the rows that one question reads. */
export const COUNT_MAX = 20;

export interface MissedRow {
  readonly talkgroup_id: string;
  readonly recordings: number;
  readonly emergencies: number;
  readonly first_at: string;
  readonly last_at: string;
}

/**
 * Counts recordings of others by talkgroup of the reader, from `since` on (Unix ms), but none from before it joined. That counts for
 * an administrator as well. Each talkgroup takes three looks into an index, and each look ends with COUNT_MAX rows. It passes
 * over the caller's own speech.
 */
export async function missedRecordings(
  database: Database,
  deadline: Deadline,
  { user, access }: Reader,
  { since, until }: { readonly since: number; readonly until: number | null },
): Promise<readonly MissedRow[]> {
  return database.read<MissedRow>(deadline, (sql) => {
    const isMissed = sql`
      r.talkgroup_id = m.talkgroup_id and r.id >= begin.id
      ${until === null ? sql`` : sql`and r.id < ${lowestIdFrom(until)}::uuid`}
      and m.created_at <= r.started_at and (reader.is_admin or (${couldHear(sql)}))
      and r.user_id <> ${user} and r.erased_at is null and r.expires_at > now()`;
    // With a number that it knows the planner may read and sort all recordings of a busy talkgroup.
    const first = (count: number) => sql`limit (select ${count}::bigint)`;
    return sql`
      with reader as materialized (select ${isAdmin(sql, user)} as is_admin)
      select m.talkgroup_id, counted.recordings, alarms.emergencies, counted.first_at, last.started_at as last_at
      from reader
      join memberships m on m.user_id = ${user}
      join talkgroups t on t.id = m.talkgroup_id
      cross join lateral (
        select greatest(${lowestIdFrom(since)}::uuid, ${lowestIdOf(sql)}) as id
      ) begin
      cross join lateral (
        select count(*)::integer as recordings, min(started_at) as first_at
        from (select r.started_at from recordings r where ${isMissed} order by r.id ${first(COUNT_MAX)}) first
      ) counted
      cross join lateral (
        select r.started_at from recordings r
        where counted.recordings > 0 and ${isMissed}
        order by r.id desc ${first(1)}
      ) last
      cross join lateral (
        select count(*)::integer as emergencies
        from (select from recordings r where r.emergency and ${isMissed} order by r.id ${first(COUNT_MAX)}) alarm
      ) alarms
      where reader.is_admin or ${access === 'members'}
      order by m.talkgroup_id`;
  });
}
