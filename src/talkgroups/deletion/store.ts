// Deletes talkgroups in PostgreSQL.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { encryptedRecordings } from '../../db/encrypted-recordings.js';
import { type Notice, notify } from '../../db/notice.js';
import type { TalkgroupId } from '../../ids.js';

interface Deletion {
  readonly by: Actor;
  readonly talkgroup: TalkgroupId;
  /** Also when its encrypted recordings are lost with its master secret. */
  readonly mayForget: boolean;
  readonly notice: Notice;
}

/** Its memberships go with it. `recordings_encrypted`: it is still there. null: no such talkgroup. */
export async function deleteTalkgroup(
  database: Database,
  deadline: Deadline,
  { talkgroup, mayForget, notice, by }: Deletion,
): Promise<'deleted' | 'recordings_encrypted' | null> {
  const [found] = await writeAct<{ is_deleted: boolean }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with found as materialized (
        select id, master_since from talkgroups where id = ${talkgroup} for update
      ), kept as materialized (
        select found.id, exists (
          select ${encryptedRecordings(sql, { talkgroup: sql`found.id`, since: sql`found.master_since` })}
        ) as has_encrypted
        from found
      ), deleted as (
        delete from talkgroups t using kept where t.id = kept.id and (${mayForget} or not has_encrypted)
        returning t.id, has_encrypted
      ), ${acting(sql, by, {
        act: 'talkgroup_deleted',
        from: sql`from deleted`,
        ...{ talkgroup: sql`id`, details: { recordings_lost: sql`nullif(has_encrypted, false)` } },
      })}
      select deleted.id is not null as is_deleted, case when deleted.id is not null then ${notify(sql, notice)} end ${noted}
      from found left join deleted on true`,
  );
  if (found === undefined) return null;
  return found.is_deleted ? 'deleted' : 'recordings_encrypted';
}
