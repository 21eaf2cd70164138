// Reads and writes which members may have the keys of a talkgroup.

import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { type Notice, notify } from '../../db/notice.js';
import { type Page, pageBy } from '../../db/pages.js';
import { type Rotated, rotating, rotationNotices } from '../../db/rotation.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { Static } from '../../typebox.js';
import type { MemberKeys } from '../schemas.js';

interface Permission {
  readonly by: Actor;
  readonly user: UserId;
  readonly talkgroup: TalkgroupId;
  readonly isAllowed: boolean;
  readonly notice: Notice;
}

/**
 * Whether the member may have keys. From its grant on it gets the present key and later ones. Taking it away rotates a
 * talkgroup in `required`. The notifications. null: the user is no member, or there is no such talkgroup.
 */
export async function permitKeys(
  database: Database,
  deadline: Deadline,
  { user, talkgroup, isAllowed, notice, by }: Permission,
): Promise<readonly Notice[] | null> {
  const [changed] = await writeAct<Rotated>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with place as materialized (
        -- First, as every change of the talkgroup does.
        select id from talkgroups where id = ${talkgroup} for no key update
      ), before as materialized (
        select user_id, talkgroup_id, may_have_keys from memberships
        where user_id = ${user} and talkgroup_id = (select id from place) for no key update
      ), changed as (
        update memberships m
        set may_have_keys = ${isAllowed}, first_epoch = case when ${isAllowed} then t.rotation_counter else m.first_epoch end
        from before b join talkgroups t on t.id = b.talkgroup_id
        where m.user_id = b.user_id and m.talkgroup_id = b.talkgroup_id and b.may_have_keys <> ${isAllowed}
        returning m.user_id, m.talkgroup_id
      ), ${rotating(sql, {
        which: sql`select talkgroup_id from changed where not ${isAllowed}::boolean`,
        useInMs: 0,
        onlyRequired: true,
      })}, ${acting(sql, by, {
        act: isAllowed ? 'keys_permitted' : 'keys_withdrawn',
        from: sql`from changed`,
        ...{ user: sql`user_id`, talkgroup: sql`talkgroup_id` },
      })}
      select ${notify(sql, notice)}, ${rotationNotices(sql)} ${noted} from before`,
  );
  return changed === undefined ? null : [notice, ...changed.notices];
}

/** Members in the order of their ids, with their permission and number of accepted key holders. null: no such talkgroup. */
export async function membersWithKeys(
  database: Database,
  deadline: Deadline,
  { talkgroup, page }: { talkgroup: TalkgroupId; page: Page },
): Promise<Static<typeof MemberKeys>[] | null> {
  const rows = await database.read<Static<typeof MemberKeys> | { user_id: null }>(
    deadline,
    (sql) => sql`
      select m.user_id, u.username, m.may_have_keys, (
        select count(*)::int from key_holders h where h.user_id = m.user_id and h.accepted_at is not null) as holders
      from talkgroups t
      left join lateral (
        select user_id, may_have_keys from memberships where talkgroup_id = t.id ${pageBy(sql, sql`user_id`, page)}
      ) m on true
      left join users u on u.id = m.user_id
      where t.id = ${talkgroup}
      order by m.user_id`,
  );
  if (rows.length === 0) return null;
  return rows.filter((row) => row.user_id !== null);
}
