// Reads and writes the members of talkgroups in PostgreSQL.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { type Notice, notify } from '../../db/notice.js';
import { type Page, pageBy } from '../../db/pages.js';
import { type Rotated, rotating, rotationNotices } from '../../db/rotation.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { Static } from '../../typebox.js';
import type { Member } from '../schemas.js';

interface MembershipChange {
  /** null: the user. */
  readonly by: Actor | null;
  readonly user: UserId;
  readonly talkgroup: TalkgroupId;
  readonly notice: Notice;
}

/** Joins at the linked device's site. A second join keeps the first site. Without the talkgroup or the user, why not. */
export async function join(
  database: Database,
  deadline: Deadline,
  { user, talkgroup, notice, by }: MembershipChange,
): Promise<'joined' | 'talkgroup_not_found' | 'user_not_found'> {
  try {
    // The notice goes out for a join that changes nothing too: its caller may be repeating one that was not confirmed.
    const [found] = await writeAct<{ has_user: boolean }>(
      database,
      deadline,
      by,
      (sql, noted) => sql`
        with member as (
          select u.id, coalesce(d.site, 'unknown') as site
          from users u left join devices d on d.id = u.device_id
          where u.id = ${user}
        ), joined as (
          insert into memberships (user_id, talkgroup_id, site, first_epoch)
          select member.id, t.id, member.site, t.rotation_counter from talkgroups t cross join member where t.id = ${talkgroup}
          on conflict do nothing
          returning user_id, talkgroup_id
        ), ${acting(sql, by, {
          act: 'member_added',
          from: sql`from joined`,
          ...{ user: sql`user_id`, talkgroup: sql`talkgroup_id` },
        })}
        select exists (select from member) as has_user,
               case when exists (select from member) then ${notify(sql, notice)} end ${noted}
        from talkgroups where id = ${talkgroup}`,
    );
    if (found === undefined) return 'talkgroup_not_found';
    return found.has_user ? 'joined' : 'user_not_found';
  } catch (error) {
    // 23503, foreign key: deleted while we were joining.
    const { code, constraint_name } = error as { code?: string; constraint_name?: string };
    if (code !== '23503') throw error;
    return constraint_name === 'memberships_user_id_fkey' ? 'user_not_found' : 'talkgroup_not_found';
  }
}

/**
 * Also when the user was no member. In `required` the removal of a member rotates. A member that leaves by itself makes the
 * talkgroup rotate within the hour: many members at the end of a shift share one rotation. The notifications. null: no such
 * talkgroup.
 */
export async function leave(
  database: Database,
  deadline: Deadline,
  { user, talkgroup, notice, by }: MembershipChange,
): Promise<readonly Notice[] | null> {
  const [left] = await writeAct<Rotated>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with place as materialized (
        -- First, as every change of the talkgroup does: two orders of the same locks are a deadlock.
        select id from talkgroups where id = ${talkgroup} for no key update
      ), gone as (
        delete from memberships where user_id = ${user} and talkgroup_id = (select id from place)
        returning talkgroup_id, may_have_keys
      ), ${
        by === null
          ? sql`postponed as (
              update talkgroups t
              set rotate_due_at = case when t.encryption = 'required'
                                       then least(t.rotate_due_at, now() + interval '1 hour') else t.rotate_due_at end
              from gone where t.id = gone.talkgroup_id and gone.may_have_keys
            )`
          : rotating(sql, {
              which: sql`select talkgroup_id from gone`,
              useInMs: 0,
              onlyRequired: true,
            })
      }, ${acting(sql, by, {
        act: 'member_removed',
        from: sql`from gone`,
        ...{ user: sql`${user}`, talkgroup: sql`talkgroup_id` },
      })}
      select ${notify(sql, notice)}, ${by === null ? sql`'[]'::json as notices` : rotationNotices(sql)} ${noted}
      from place`,
  );
  return left === undefined ? null : [notice, ...left.notices];
}

/** As `talkgroupsOf`, in the order of users' ids or in which they joined. null: no such talkgroup. */
export async function membersOf(
  database: Database,
  deadline: Deadline,
  { talkgroup, page }: { talkgroup: TalkgroupId; page: Page | null },
): Promise<Static<typeof Member>[] | null> {
  // One row without a user stands for a talkgroup without members.
  const rows = await database.read<Membership | { user_id: null }>(
    deadline,
    (sql) => sql`
      select m.user_id, m.site, u.username, u.role
      from talkgroups t
      left join lateral (
        select user_id, site, created_at from memberships
        where talkgroup_id = t.id ${page === null ? sql`` : pageBy(sql, sql`user_id`, page)}
      ) m on true
      left join users u on u.id = m.user_id
      where t.id = ${talkgroup}
      order by ${page === null ? sql`m.created_at, m.user_id` : sql`m.user_id`}`,
  );
  if (rows.length === 0) return null;
  return rows
    .filter((row) => row.user_id !== null)
    .map(({ user_id, site, username, role }) => ({ user_id, site, user: { id: user_id, username, role } }));
}

interface Membership {
  readonly user_id: UserId;
  readonly site: string;
  readonly username: string;
  readonly role: 'admin' | 'user';
}
