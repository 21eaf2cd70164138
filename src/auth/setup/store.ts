// Writes setup codes in PostgreSQL, and redeems them.
import { randomUUID } from 'node:crypto';
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { type Notice, notifyOwnUser } from '../../db/notice.js';
import { isoTime } from '../../db/pages.js';
import type { Sql } from '../../db/pool.js';
import { revoking } from '../../db/revocation.js';
import { type Rotated, rotationNotices } from '../../db/rotation.js';
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
        select id, role, valid_from from users where id = ${user} and (role = 'user' or ${mayBeAdmin}::boolean) for no key update
      ), made as (
        insert into setup_codes (user_id, code_hash, expires_at, role, valid_from)
        select id, ${hash}, now() + interval '1 hour' * ${hours}::integer, role, valid_from from owner
        on conflict (user_id) do update
          set code_hash = excluded.code_hash, expires_at = excluded.expires_at,
              role = excluded.role, valid_from = excluded.valid_from
        returning user_id, expires_at
      ), ${acting(sql, by, {
        act: 'setup_code_made',
        from: sql`from made`,
        ...{ user: sql`user_id`, details: { expires_at: isoTime(sql, sql`expires_at`) } },
      })}
      select expires_at ${noted} from made`,
  );
  return made?.expires_at ?? null;
}

/**
 * Why a code would be refused, asked before 50 ms are spent on a hash. `redeem` decides. `serial`: of the device that the
 * user is to have, null: the present one.
 */
export async function obstacleToSetup(
  database: Database,
  deadline: Deadline,
  { hash, serial }: Pick<Redemption, 'hash' | 'serial'>,
): Promise<'setup_code_invalid' | 'device_inactive' | null> {
  const [row] = await database.read<{ active: boolean }>(
    deadline,
    (sql) => sql`
      select coalesce((select active from devices where id = u.device_id), true)
               and coalesce((select active from devices where serial = ${serial}::text), true) as active
      from setup_codes c join users u on u.id = c.user_id and u.role = c.role and u.valid_from = c.valid_from
      where c.code_hash = ${hash} and c.expires_at > now()`,
  );
  if (row === undefined) return 'setup_code_invalid';
  return row.active ? null : 'device_inactive';
}

export interface Redemption {
  readonly hash: Buffer;
  readonly passwordHash: string;
  /** In NFC. null: the device stays as it is. */
  readonly serial: string | null;
  /** For a device that this creates. */
  readonly site: string;
}

export interface Redeemed {
  readonly account: Registered;
  readonly notices: readonly Notice[];
}

/**
 * Uses the code: sets the password, links the device, and voids all tokens of the user, as a revocation does. Of two that use
 * it at once, one finds no code. With a disabled device nothing happens, and the code stays.
 */
export async function redeem(
  database: Database,
  deadline: Deadline,
  { hash, passwordHash, serial, site }: Redemption,
): Promise<Redeemed | 'setup_code_invalid' | 'device_inactive'> {
  const told = { id: randomUUID(), kind: 'user_revoked' } as const;
  const read = { id: randomUUID(), kind: 'user_promoted' } as const;
  const also = (sql: Sql) => sql`
    ${passwordToo(passwordHash)(sql)}, device_id = coalesce((select id from device), users.device_id)`;
  const [found] = await database.write<(Registered & Rotated) | { id: null }>(
    deadline,
    // The update of a device changes nothing. It makes `returning` answer for one that already exists.
    (sql) => sql`
      with owner as materialized (
        -- First, as every change of the account does: two orders of the same locks are a deadlock.
        select id, device_id, role, valid_from from users
        where id = (select user_id from setup_codes where code_hash = ${hash} and expires_at > now()) for no key update
      ), valid as materialized (
        select c.user_id, owner.device_id
        from setup_codes c join owner on owner.id = c.user_id and owner.role = c.role and owner.valid_from = c.valid_from
        where c.code_hash = ${hash} for update of c
      ), device as (
        insert into devices (name, site, serial)
        select ${serial}::text, ${site}, ${serial}::text from valid where ${serial}::text is not null
        on conflict (serial) do update set serial = excluded.serial
        returning id, active
      ), used as (
        delete from setup_codes c using valid
        where c.user_id = valid.user_id and coalesce((select active from device), true)
          and coalesce((select active from devices where id = valid.device_id), true)
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
  if (found.id === null) return 'device_inactive';
  const { notices, ...account } = found;
  const user = account.id;
  return { account, notices: [{ ...told, user }, { ...read, user }, ...notices] };
}
