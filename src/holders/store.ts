// Reads and writes key holders in PostgreSQL.
import { type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify, notifyOwnHolders } from '../db/notice.js';
import { type Page, pageBy } from '../db/pages.js';
import {
  acceptedNow,
  type Rotated,
  rotating,
  rotationNotices,
  talkgroupsWithKeysOf,
} from '../db/rotation.js';
import type { HolderId, UserId } from '../ids.js';

/** Key holders of an account. One more replaces one that waits. */
const HOLDERS_MAX = 8;

export interface HolderRow {
  readonly id: HolderId;
  readonly user_id: UserId;
  readonly name: string;
  readonly public_key: Buffer;
  /** ISO 8601. */
  readonly created_at: string;
  readonly accepted: boolean;
}

interface NewHolder {
  readonly user: UserId;
  readonly publicKey: Buffer;
  readonly name: string;
  readonly notice: Notice;
}

/**
 * The first one of an account, or since an administrator revoked it, is accepted at once. A key that is registered again
 * keeps its row. The ninth holder replaces the one that waits longest. `full`: none waits. A thief with the password would
 * otherwise push out those that can accept, and a key in use would lose its holder without a rotation. Rejects with
 * `device_disabled` for who was disabled meanwhile. null: no such user.
 */
export async function addHolder(
  database: Database,
  deadline: Deadline,
  { user, publicKey, name, notice }: NewHolder,
): Promise<{ readonly id: HolderId; readonly accepted: boolean } | 'full' | 'device_disabled' | null> {
  const [added] = await database.write<{ id: HolderId | null; accepted: boolean; is_off: boolean }>(
    deadline,
    // The locks read the account as the registration before left it, so that only one can be the first, and the device as
    // it is. Who disables it waits for this statement, or this one for it.
    (sql) => sql`
      with owner as materialized (
        select id, device_id, had_holder from users where id = ${user} for no key update
      ), device as materialized (
        select id from devices where id = (select device_id from owner) and active for share
      ), admitted as (
        select id, device_id, had_holder, device_id is not null and not exists (select from device) as is_off
        from owner
      ), marked as (
        update users set had_holder = true from admitted a where users.id = a.id and not a.had_holder and not a.is_off
      ), present as materialized (
        select h.id, h.public_key, h.accepted_at, h.used_at from owner join lateral (
          select id, public_key, accepted_at, used_at from key_holders where user_id = owner.id for update
        ) h on true
      ), replaced as (
        delete from key_holders
        where not exists (select from present where public_key = ${publicKey}) and id in (
          select id from present where accepted_at is null order by used_at
          limit greatest(0, (select count(*) from present) - ${HOLDERS_MAX}::integer + 1)
        )
      ), added as (
        insert into key_holders (user_id, device_id, public_key, name, accepted_at)
        select a.id, a.device_id, ${publicKey}, ${name}, case when not a.had_holder then ${acceptedNow(sql, sql`a.id`)} end
        from admitted a
        where not a.is_off and (
          exists (select from present where public_key = ${publicKey})
          or (select count(*) from present where accepted_at is not null) < ${HOLDERS_MAX}::integer
        )
        on conflict (user_id, public_key) do update set used_at = now()
        returning id, accepted_at is not null as accepted, ${notify(sql, notice)}
      )
      select added.id, added.accepted, a.is_off from admitted a left join added on true`,
  );
  if (added === undefined) return null;
  if (added.is_off) return 'device_disabled';
  return added.id === null ? 'full' : { id: added.id, accepted: added.accepted };
}

/** Rows of the page in the order of ids. null: no such user. */
export async function holdersOf(
  database: Database,
  deadline: Deadline,
  { user, page }: { user: UserId; page: Page },
): Promise<HolderRow[] | null> {
  // One row without a key holder stands for a user without any.
  const rows = await database.read<HolderRow | { id: null }>(
    deadline,
    (sql) => sql`
      select h.id, u.id as user_id, h.name, h.public_key, h.created_at, h.accepted_at is not null as accepted
      from users u
      left join lateral (
        select id, name, public_key, created_at, accepted_at from key_holders
        where user_id = u.id ${pageBy(sql, sql`id`, page)}
      ) h on true
      where u.id = ${user}
      order by h.id`,
  );
  return rows.length === 0 ? null : rows.filter((row) => row.id !== null);
}

/** The public key of `by` when it may accept `holder`: both are the owner's, and it is accepted. null: it may not. */
export async function acceptingKey(
  database: Database,
  deadline: Deadline,
  { owner, by, holder }: { owner: UserId; by: HolderId; holder: HolderId },
): Promise<Buffer | null> {
  const [row] = await database.read<{ public_key: Buffer }>(
    deadline,
    (sql) => sql`
      select a.public_key from key_holders a
      where a.id = ${by} and a.user_id = ${owner} and a.accepted_at is not null
        and exists (select from key_holders where id = ${holder} and user_id = ${owner})`,
  );
  return row?.public_key ?? null;
}

/** Who accepts: an administrator, or the owner, who names an accepted holder of the account. */
export interface Accepting {
  readonly id: HolderId;
  readonly noticeId: string;
  readonly by: { readonly admin: Actor } | { readonly owner: UserId; readonly holder: HolderId };
}

/** Also when it was accepted before. The notification. null: no such holder, or the owner named none that may accept. */
export async function acceptHolder(
  database: Database,
  deadline: Deadline,
  { id, noticeId, by }: Accepting,
): Promise<Notice | null> {
  const admin = 'admin' in by ? by.admin : null;
  const [accepted] = await writeAct<{ user_id: UserId }>(
    database,
    deadline,
    admin,
    (sql, noted) => sql`
      with before as materialized (
        select id, accepted_at is null as is_news from key_holders where id = ${id} for no key update
      ), accepted as (
        update key_holders h set accepted_at = coalesce(h.accepted_at, ${acceptedNow(sql, sql`h.user_id`)})
        from before
        where h.id = before.id ${
          'admin' in by
            ? sql``
            : sql`and h.user_id = ${by.owner} and exists (
                select from key_holders a
                where a.id = ${by.holder} and a.user_id = h.user_id and a.accepted_at is not null)`
        }
        returning h.id, h.user_id, is_news
      ), ${acting(sql, admin, {
        act: 'holder_accepted',
        from: sql`from accepted where is_news`,
        ...{ user: sql`user_id`, details: { holder_id: sql`id` } },
      })}
      select user_id, ${notifyOwnHolders(sql, noticeId)} ${noted} from accepted`,
  );
  return accepted === undefined ? null : { id: noticeId, kind: 'holders_changed', user: accepted.user_id };
}

export interface Deleting {
  readonly id: HolderId;
  readonly noticeId: string;
  /** An administrator, who deletes that of any user, or the owner. */
  readonly by: { readonly admin: Actor } | { readonly owner: UserId };
}

/** Rotates the `required` talkgroups of its owner when it was accepted. The notifications. null: no such holder. */
export async function deleteHolder(
  database: Database,
  deadline: Deadline,
  { id, noticeId, by }: Deleting,
): Promise<readonly Notice[] | null> {
  const [admin, owner] = 'admin' in by ? [by.admin, null] : [null, by.owner];
  const [deleted] = await writeAct<{ user_id: UserId } & Rotated>(
    database,
    deadline,
    admin,
    (sql, noted) => sql`
      with lost as (
        delete from key_holders where id = ${id} and (${owner}::uuid is null or user_id = ${owner}::uuid)
        returning id, user_id, accepted_at
      ), ${rotating(sql, {
        which: talkgroupsWithKeysOf(sql, sql`select user_id from lost where accepted_at is not null`),
        useInMs: 0,
        mayPutOff: true,
      })}, ${acting(sql, admin, {
        act: 'holder_deleted',
        from: sql`from lost`,
        ...{ user: sql`user_id`, details: { holder_id: sql`id` } },
      })}
      select user_id, ${rotationNotices(sql)}, ${notifyOwnHolders(sql, noticeId)} ${noted}
      from lost`,
  );
  if (deleted === undefined) return null;
  return [{ id: noticeId, kind: 'holders_changed', user: deleted.user_id }, ...deleted.notices];
}
