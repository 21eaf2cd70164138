// Reads and writes talkgroups and their members in PostgreSQL.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify } from '../db/notice.js';
import { holds, type Keys, type Listing, listingBy, type Page, pageBy, sortKeyOf } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import { announcing, nextUseAt, type Rotated, rotationNotices, USE_IN_MS } from '../db/rotation.js';
import type { TalkgroupId, UserId } from '../ids.js';
import type { FloorMode } from '../protocol/codes.js';
import type { Static } from '../typebox.js';
import type { MANAGED_COLUMNS, ManagedTalkgroup, Talkgroup, TalkgroupSettings } from './schemas.js';

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
      select id, number, name, rotation_counter, floor_mode, max_talk_ms, encryption, clear_emergency, recording_days, created_at,
             ${memberCount(sql)} as members ${sortKeyOf(sql, keysOf(sql), page)}
      from talkgroups
      where true ${page.find === null ? sql`` : sql`and ${holds(sql, sql`name`, page.find)}`}
      ${listingBy(sql, keysOf(sql), page)}`,
  );
}

/** Makes a fresh secret ready to be stored. `wrappedBy` names the key that wraps it, null: none does. */
export type WrapSecret = (
  talkgroup: TalkgroupId,
  secret: Buffer,
) => { readonly bytes: Buffer; readonly wrappedBy: string | null };

interface NewTalkgroup {
  readonly name: string;
  readonly floor_mode?: FloorMode;
  readonly wrap: WrapSecret;
  readonly by: Actor;
}

export async function createTalkgroup(
  database: Database,
  deadline: Deadline,
  { name, floor_mode = 'open', wrap, by }: NewTalkgroup,
): Promise<Static<typeof Talkgroup>> {
  const id = randomUUID() as TalkgroupId; // known before the row is, for a wrapped secret is bound to it
  const { bytes, wrappedBy } = wrap(id, randomBytes(MASTER_SECRET_BYTES));
  const [talkgroup] = await writeAct<Static<typeof Talkgroup>>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with created as (
        insert into talkgroups (id, name, floor_mode, master_secret, wrapped_by)
        values (${id}, ${name}, ${floor_mode}, ${bytes}, ${wrappedBy})
        returning id, name, rotation_counter, created_at
      ), ${acting(sql, by, {
        act: 'talkgroup_created',
        from: sql`from created`,
        ...{ talkgroup: sql`id`, details: { talkgroup: name, floor_mode } },
      })}
      select id, name, rotation_counter, created_at ${noted} from created`,
  );
  assert(talkgroup !== undefined, 'an insert returns its row');
  return talkgroup;
}

interface Change {
  readonly by: Actor;
  readonly talkgroup: TalkgroupId;
  readonly settings: TalkgroupSettings;
  readonly notice: Notice;
}

export interface Changed {
  readonly talkgroup: Static<typeof Talkgroup>;
  readonly notices: readonly Notice[];
}

/**
 * The talkgroup after the change. Without settings it stays as it is. A talkgroup that becomes `required` rotates, and all
 * present members may have its keys. One that is `required` no longer rotates as well: members without keys get the new one
 * and none of the time before. null: no such talkgroup.
 */
export async function changeTalkgroup(
  database: Database,
  deadline: Deadline,
  { talkgroup, settings, notice, by }: Change,
): Promise<Changed | 'no_secrets_key' | null> {
  const { name = null, floor_mode = null, max_talk_ms = null } = settings;
  const { encryption = null, clear_emergency = null, recording_days = null } = settings;
  const [found] = await writeAct<ChangedRow>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with before as materialized (
        select id, encryption <> 'required' and ${encryption}::text = 'required' as becomes,
               encryption = 'required' and ${encryption}::text <> 'required' as ends,
               wrapped_by is not null as is_wrapped, name, floor_mode, max_talk_ms, encryption, clear_emergency,
               recording_days
        from talkgroups where id = ${talkgroup} for no key update
      ), changed as (
        update talkgroups t
        set name = coalesce(${name}, t.name),
            floor_mode = coalesce(${floor_mode}, t.floor_mode),
            max_talk_ms = coalesce(${max_talk_ms}, t.max_talk_ms),
            encryption = coalesce(${encryption}, t.encryption),
            clear_emergency = coalesce(${clear_emergency}, t.clear_emergency),
            recording_days = coalesce(${recording_days}, t.recording_days),
            revision = revision + 1,
            rotation_counter = rotation_counter + case when becomes or ends then 1 else 0 end,
            open_since = case when ends then rotation_counter + 1 else open_since end,
            newest_use_at = case when becomes or ends then ${nextUseAt(sql, USE_IN_MS)} else newest_use_at end,
            rotate_due_at = case when becomes or ends then null else rotate_due_at end
        from before where t.id = before.id and (is_wrapped or not coalesce(becomes, false))
        returning t.id, t.name, t.rotation_counter, t.created_at, t.newest_use_at, becomes, ends, (
                    select coalesce(jsonb_object_agg(after.key, after.value), '{}')
                    from jsonb_each(jsonb_build_object('name', t.name, 'floor_mode', t.floor_mode,
                      'max_talk_ms', t.max_talk_ms, 'encryption', t.encryption, 'clear_emergency', t.clear_emergency,
                      'recording_days', t.recording_days)) after
                    where after.value <> to_jsonb(before) -> after.key
                  ) as news
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
      ), ${announcing(sql)}, ${acting(sql, by, {
        act: 'talkgroup_changed',
        from: sql`from changed where news <> '{}'`,
        ...{ talkgroup: sql`id`, details: settingsIn(sql) },
      })}
      select changed.id, changed.name, changed.rotation_counter, changed.created_at,
             case when changed.id is not null then ${notify(sql, notice)} end, ${rotationNotices(sql)} ${noted}
      from before left join changed on true`,
  );
  if (found === undefined) return null;
  const { id, name: newName, rotation_counter, created_at, notices } = found;
  if (id === null) return 'no_secrets_key';
  return { talkgroup: { id, name: newName, rotation_counter, created_at }, notices: [notice, ...notices] };
}

/** Those that changed. */
const settingsIn = (sql: Sql) => ({
  name: sql`news -> 'name'`,
  floor_mode: sql`news -> 'floor_mode'`,
  max_talk_ms: sql`news -> 'max_talk_ms'`,
  encryption: sql`news -> 'encryption'`,
  clear_emergency: sql`news -> 'clear_emergency'`,
  recording_days: sql`news -> 'recording_days'`,
});

/** `id` null: the talkgroup stayed as it was. */
type ChangedRow = Omit<Static<typeof Talkgroup>, 'id'> & Rotated & { readonly id: string | null };
