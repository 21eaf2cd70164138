// Writes setup codes in PostgreSQL, and redeems them.
import { randomUUID } from 'node:crypto';
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { notifyOwnUser } from '../../db/notice.js';
import type { Sql } from '../../db/pool.js';
import { revoking } from '../../db/revocation.js';
import { rotationNotices } from '../../db/rotation.js';
import type { UserId } from '../../ids.js';
import { passwordToo } from '../setting/store.js';
import { moment, type Registered } from '../store.js';

export interface CodeWanted {
  readonly user: UserId;
  readonly hash: Buffer;
  readonly hours: number;
  /** false: the account of an administrator is left alone. */
  readonly mayBeAdmin: boolean;
  readonly by: Actor;
}

/** Replaces the code before. When it expires, in ISO 8601. null: no such user, or an administrator's account. */
export async function storeCode(
  database: Database,
  deadline: Deadline,
  { user, hash, hours, mayBeAdmin, by }: CodeWanted,
): Promise<string | null> {
  const [made] = await writeAct<{ expires_at: string }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with owner as materialized (
        select id from users where id = ${user} and (role = 'user' or ${mayBeAdmin}::boolean) for key share
      ), made as (
        insert into setup_codes (user_id, code_hash, expires_at)
        select id, ${hash}, now() + interval '1 hour' * ${hours}::integer from owner
        on conflict (user_id) do update set code_hash = excluded.code_hash, expires_at = excluded.expires_at
        returning user_id, expires_at
      ), ${acting(sql, by, {
        act: 'setup_code_made',
        from: sql`from made`,
        ...{ user: sql`user_id`, details: { expires_at: sql`expires_at` } },
      })}
      select expires_at ${noted} from made`,
  );
  return made?.expires_at ?? null;
}

/** Whether there is such a code. Asked before 50 ms are spent on a hash; `redeem` decides. */
export async function isCodeValid(database: Database, deadline: Deadline, hash: Buffer): Promise<boolean> {
  const rows = await database.read(
    deadline,
    (sql) => sql`select true as valid from setup_codes where code_hash = ${hash} and expires_at > now()`,
  );
  return rows.length > 0;
}

export interface Redemption {
  readonly hash: Buffer;
  readonly passwordHash: string;
  /** In NFC. null: the device stays as it is. */
  readonly serial: string | null;
  /** For a device that this creates. */
  readonly site: string;
}

/**
 * Uses the code: sets the password, links the device, and voids all tokens of the user, as a revocation does. Of two that use
 * it at once, one finds no code. With a disabled device nothing happens, and the code stays.
 */
export async function redeem(
  database: Database,
  deadline: Deadline,
  { hash, passwordHash, serial, site }: Redemption,
): Promise<Registered | 'setup_code_invalid' | 'device_inactive'> {
  const told = { id: randomUUID(), kind: 'user_revoked' } as const;
  const read = { id: randomUUID(), kind: 'user_promoted' } as const;
  const also = (sql: Sql) => sql`
    ${passwordToo(passwordHash)(sql)}, device_id = coalesce((select id from device), users.device_id)`;
  const [found] = await database.write<Registered | { id: null }>(
    deadline,
    // The update of a device changes nothing; it makes `returning` answer for one that already exists.
    (sql) => sql`
      with valid as materialized (
        select c.user_id, u.device_id from setup_codes c join users u on u.id = c.user_id
        where c.code_hash = ${hash} and c.expires_at > now() for update of c
      ), device as (
        insert into devices (name, site, serial)
        select ${serial}::text, ${site}, ${serial}::text from valid where ${serial}::text is not null
        on conflict (serial) do update set serial = excluded.serial
        returning id, active
      ), used as (
        delete from setup_codes c using valid
        where c.user_id = valid.user_id and coalesce(
          (select active from device), (select active from devices where id = valid.device_id), true)
        returning c.user_id
      ), ${revoking(sql, {
        whose: sql`id in (select user_id from used)`,
        ...{ isOwn: false, withLogins: true, also },
      })}
      select users.id, users.username, users.role, users.valid_from, ${moment(sql)},
             case when users.id is not null then ${notifyOwnUser(sql, told)} end,
             case when users.id is not null then ${notifyOwnUser(sql, read)} end, ${rotationNotices(sql)}
      from valid left join revoked users on users.id = valid.user_id`,
  );
  if (found === undefined) return 'setup_code_invalid';
  return found.id === null ? 'device_inactive' : found;
}
