// Finds the recordings that the master secret of a talkgroup opens: without it they are lost.
import type { Fragment } from './pages.js';
import type { Sql } from './pool.js';

/**
 * `from` and `where` of the recordings that no client could open without the master secret of the talkgroup. `talkgroup` is its
 * id, and `since` its `master_since`: the keys of earlier epochs are lost already.
 * LIMIT: speech that waits to be stored is not among them, and neither is a running burst in its first 2.5 s.
 */
export const encryptedRecordings = (
  sql: Sql,
  { talkgroup, since }: { readonly talkgroup: Fragment; readonly since: Fragment },
): Fragment => sql`
  from recordings r
  where r.talkgroup_id = ${talkgroup} and r.crypto is not null and r.erased_at is null
    and (r.expires_at > now() or exists (
      select from recording_holds h where h.talkgroup_id = r.talkgroup_id and r.id between h.from_id and h.to_id))
    and (r.crypto ->> 'epoch')::bigint >= ${since}`;
