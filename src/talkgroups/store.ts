// Reads and writes talkgroups and their members in PostgreSQL.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Static } from 'typebox';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify } from '../db/notice.js';
import { type Page, pageBy } from '../db/pages.js';
import type { TalkgroupId, UserId } from '../ids.js';
import type { FloorMode } from '../protocol/codes.js';
import type { ManagedTalkgroup, Member, Talkgroup, TalkgroupSettings } from './schemas.js';

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

/** The same with settings and number of members. */
export function managedTalkgroups(
  database: Database,
  deadline: Deadline,
  page: Page,
): Promise<Static<typeof ManagedTalkgroup>[]> {
  return database.read(
    deadline,
    (sql) => sql`
      select id, number, name, rotation_counter, floor_mode, max_talk_ms, created_at,
             (select count(*)::int from memberships where talkgroup_id = talkgroups.id) as members
      from talkgroups
      where true ${pageBy(sql, sql`id`, page)}`,
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

/** The talkgroup after the change; without settings it stays as it is. null: no such talkgroup. */
export async function changeTalkgroup(
  database: Database,
  deadline: Deadline,
  { talkgroup, settings, notice }: { talkgroup: TalkgroupId; settings: TalkgroupSettings; notice: Notice },
): Promise<Static<typeof Talkgroup> | null> {
  const { name = null, floor_mode = null, max_talk_ms = null } = settings;
  const [changed] = await database.write<Static<typeof Talkgroup>>(
    deadline,
    (sql) => sql`
      update talkgroups
      set name = coalesce(${name}, name),
          floor_mode = coalesce(${floor_mode}, floor_mode),
          max_talk_ms = coalesce(${max_talk_ms}, max_talk_ms),
          revision = revision + 1
      where id = ${talkgroup}
      returning id, name, rotation_counter, created_at, ${notify(sql, notice)}`,
  );
  return changed ?? null;
}

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
          insert into memberships (user_id, talkgroup_id, site)
          select member.id, t.id, member.site from talkgroups t cross join member where t.id = ${talkgroup}
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

/** Also true when the user was no member. False: no such talkgroup. */
export async function leave(
  database: Database,
  deadline: Deadline,
  { user, talkgroup, notice }: MembershipChange,
): Promise<boolean> {
  const found = await database.write(
    deadline,
    (sql) => sql`
      with gone as (delete from memberships where user_id = ${user} and talkgroup_id = ${talkgroup})
      select ${notify(sql, notice)} from talkgroups where id = ${talkgroup}`,
  );
  return found.length > 0;
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
