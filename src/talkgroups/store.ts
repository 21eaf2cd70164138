// Reads and writes talkgroups and their members in PostgreSQL.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify } from '../db/notice.js';
import { holds, type Keys, type Listing, listingBy, type Page, pageBy, sortKeyOf } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import { announcing, nextUseAt, type Rotated, rotating, rotationNotices, USE_IN_MS } from '../db/rotation.js';
import type { TalkgroupId, UserId } from '../ids.js';
import type { FloorMode } from '../protocol/codes.js';
import type { Static } from '../typebox.js';
import type { MANAGED_COLUMNS, ManagedTalkgroup, Member, Talkgroup, TalkgroupSettings } from './schemas.js';

/** Seed, Talkgroup. */
const MASTER_SECRET_BYTES = 32;

/** Rows of the page in the order of ids, or, without one, all in the order in which the user joined. */
export function talkgroupsOf(
  database: Database,
  deadline: Deadline,
  { user, page }: { user: UserId; page: Page | null },
): Promise<Static<typeof Talkgroup>[]> {
  return database.read(
    deadline,
    (sql) => sql`
      select t.id, t.name, t.rotation_counter, t.created_at
      from memberships m join talkgroups t on t.id = m.talkgroup_id
      where m.user_id = ${user}
      ${page === null ? sql`order by m.created_at, t.id` : pageBy(sql, sql`m.talkgroup_id`, page)}`,
  );
}

/** Rows of the page in the order of ids. */
export function allTalkgroups(
  database: Database,
  deadline: Deadline,
  page: Page,
): Promise<Static<typeof Talkgroup>[]> {
  return database.read(
    deadline,
    (sql) => sql`
      select id, name, rotation_counter, created_at from talkgroups
      where true ${pageBy(sql, sql`id`, page)}`,
  );
}

type Column = keyof typeof MANAGED_COLUMNS;

const memberCount = (sql: Sql) =>
  sql`(select count(*)::int from memberships where talkgroup_id = talkgroups.id)`;

const keysOf = (sql: Sql): Keys<Column> => ({
  number: sql`number`,
  name: sql`lower(name collate "C")`,
  floor_mode: sql`floor_mode collate "C"`,
  max_talk_ms: sql`max_talk_ms`,
  encryption: sql`encryption collate "C"`,
  members: memberCount(sql),
  created_at: sql`(extract(epoch from created_at) * 1000000)::bigint`,
});

/** The same with settings and number of members, in the order of the page. */
export function managedTalkgroups(
  database: Database,
  deadline: Deadline,
  page: Listing<Column>,
): Promise<(Static<typeof ManagedTalkgroup> & { sort_key?: string })[]> {
  return database.read(
    deadline,
    (sql) => sql`
      select id, number, name, rotation_counter, floor_mode, max_talk_ms, encryption, clear_emergency, created_at,
             ${memberCount(sql)} as members ${sortKeyOf(sql, keysOf(sql), page)}
      from talkgroups
      where true ${page.find === null ? sql`` : sql`and ${holds(sql, sql`name`, page.find)}`}
      ${listingBy(sql, keysOf(sql), page)}`,
  );
}

/** Makes a fresh secret ready to be stored; `wrappedBy` names the key that wraps it, null: none does. */
export type WrapSecret = (
  talkgroup: TalkgroupId,
  secret: Buffer,
) => { readonly bytes: Buffer; readonly wrappedBy: string | null };

export async function createTalkgroup(
  database: Database,
  deadline: Deadline,
  { name, floor_mode = 'open', wrap }: { name: string; floor_mode?: FloorMode; wrap: WrapSecret },
): Promise<Static<typeof Talkgroup>> {
  const id = randomUUID() as TalkgroupId; // known before the row is, for a wrapped secret is bound to it
  const { bytes, wrappedBy } = wrap(id, randomBytes(MASTER_SECRET_BYTES));
  const [talkgroup] = await database.write<Static<typeof Talkgroup>>(
    deadline,
    (sql) => sql`
      insert into talkgroups (id, name, floor_mode, master_secret, wrapped_by)
      values (${id}, ${name}, ${floor_mode}, ${bytes}, ${wrappedBy})
      returning id, name, rotation_counter, created_at`,
  );
  assert(talkgroup !== undefined, 'an insert returns its row');
  return talkgroup;
}

interface Change {
  readonly talkgroup: TalkgroupId;
  readonly settings: TalkgroupSettings;
  readonly notice: Notice;
}

export interface Changed {
  readonly talkgroup: Static<typeof Talkgroup>;
  readonly notices: readonly Notice[];
}

/**
 * The talkgroup after the change; without settings it stays as it is. A talkgroup that becomes `required` rotates, and all
 * present members may have its keys. One that is `required` no longer rotates as well: members without keys get the new one
 * and none of the time before. null: no such talkgroup.
 */
export async function changeTalkgroup(
  database: Database,
  deadline: Deadline,
  { talkgroup, settings, notice }: Change,
): Promise<Changed | 'no_secrets_key' | null> {
  const { name = null, floor_mode = null, max_talk_ms = null } = settings;
  const { encryption = null, clear_emergency = null } = settings;
  const [found] = await database.write<ChangedRow>(
    deadline,
    (sql) => sql`
      with before as materialized (
        select id, encryption <> 'required' and ${encryption}::text = 'required' as becomes,
               encryption = 'required' and ${encryption}::text <> 'required' as ends,
               wrapped_by is not null as is_wrapped
        from talkgroups where id = ${talkgroup} for no key update
      ), changed as (
        update talkgroups t
        set name = coalesce(${name}, name),
            floor_mode = coalesce(${floor_mode}, floor_mode),
            max_talk_ms = coalesce(${max_talk_ms}, max_talk_ms),
            encryption = coalesce(${encryption}, t.encryption),
            clear_emergency = coalesce(${clear_emergency}, clear_emergency),
            revision = revision + 1,
            rotation_counter = rotation_counter + case when becomes or ends then 1 else 0 end,
            open_since = case when ends then rotation_counter + 1 else open_since end,
            newest_use_at = case when becomes or ends then ${nextUseAt(sql, USE_IN_MS)} else newest_use_at end,
            rotate_due_at = case when becomes or ends then null else rotate_due_at end
        from before where t.id = before.id and (is_wrapped or not coalesce(becomes, false))
        returning t.id, t.name, t.rotation_counter, t.created_at, t.newest_use_at, becomes, ends
      ), admitted as (
        -- The epoch before is in use for some seconds more, and in 'allowed' each of them could have its key.
        update memberships m
        set may_have_keys = m.may_have_keys or becomes,
            first_epoch = case when becomes then greatest(m.first_epoch, changed.rotation_counter - 1)
                               else changed.rotation_counter end
        from changed
        where m.talkgroup_id = changed.id and (becomes or (ends and not m.may_have_keys))
      ), rotated as materialized (
        select id, rotation_counter, newest_use_at, gen_random_uuid() as notice_id from changed where becomes or ends
      ), ${announcing(sql)}
      select changed.id, changed.name, changed.rotation_counter, changed.created_at,
             case when changed.id is not null then ${notify(sql, notice)} end, ${rotationNotices(sql)}
      from before left join changed on true`,
  );
  if (found === undefined) return null;
  const { id, name: newName, rotation_counter, created_at, notices } = found;
  if (id === null) return 'no_secrets_key';
  return { talkgroup: { id, name: newName, rotation_counter, created_at }, notices: [notice, ...notices] };
}

/** `id` null: the talkgroup stayed as it was. */
type ChangedRow = Omit<Static<typeof Talkgroup>, 'id'> & Rotated & { readonly id: string | null };

interface MembershipChange {
  readonly user: UserId;
  readonly talkgroup: TalkgroupId;
  readonly notice: Notice;
}

/** Joins at the linked device's site. A second join keeps the first site. Without the talkgroup or the user, why not. */
export async function join(
  database: Database,
  deadline: Deadline,
  { user, talkgroup, notice }: MembershipChange,
): Promise<'joined' | 'talkgroup_not_found' | 'user_not_found'> {
  try {
    // The notice goes out for a join that changes nothing too: its caller may be repeating one that was not confirmed.
    const [found] = await database.write<{ has_user: boolean }>(
      deadline,
      (sql) => sql`
        with member as (
          select u.id, coalesce(d.site, 'unknown') as site
          from users u left join devices d on d.id = u.device_id
          where u.id = ${user}
        ), joined as (
          insert into memberships (user_id, talkgroup_id, site, first_epoch)
          select member.id, t.id, member.site, t.rotation_counter from talkgroups t cross join member where t.id = ${talkgroup}
          on conflict do nothing
        )
        select exists (select from member) as has_user,
               case when exists (select from member) then ${notify(sql, notice)} end
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
 * talkgroup rotate within the hour: a crowd at the end of a shift shares one rotation. The notifications. null: no such
 * talkgroup.
 */
export async function leave(
  database: Database,
  deadline: Deadline,
  { user, talkgroup, notice, isOwn }: MembershipChange & { readonly isOwn: boolean },
): Promise<readonly Notice[] | null> {
  const [left] = await database.write<Rotated>(
    deadline,
    (sql) => sql`
      with place as materialized (
        -- First, as every change of the talkgroup does: two orders of the same locks are a deadlock.
        select id from talkgroups where id = ${talkgroup} for no key update
      ), gone as (
        delete from memberships where user_id = ${user} and talkgroup_id = (select id from place)
        returning talkgroup_id, may_have_keys
      ), ${
        isOwn
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
      }
      select ${notify(sql, notice)}, ${isOwn ? sql`'[]'::json as notices` : rotationNotices(sql)}
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

/** Its memberships go with it. False: no such talkgroup. */
export async function deleteTalkgroup(
  database: Database,
  deadline: Deadline,
  { talkgroup, notice }: { talkgroup: TalkgroupId; notice: Notice },
): Promise<boolean> {
  const deleted = await database.write(
    deadline,
    (sql) => sql`delete from talkgroups where id = ${talkgroup} returning ${notify(sql, notice)}`,
  );
  return deleted.length > 0;
}
