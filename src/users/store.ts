// Reads the list of users in PostgreSQL, and revokes their tokens.
import { randomUUID } from 'node:crypto';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify, notifyOwnUser } from '../db/notice.js';
import { type Fragment, holds, type Keys, type Listing, listingBy, sortKeyOf } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import { type Rotated, rotating, rotationNotices, talkgroupsWithKeysOf } from '../db/rotation.js';
import type { UserId } from '../ids.js';
import type { Static } from '../typebox.js';
import type { USER_COLUMNS, User } from './schemas.js';

type Column = keyof typeof USER_COLUMNS;

/** As the index users_start_of_name has the name. */
const keysOf = (sql: Sql): Keys<Column> => ({
  username: sql`lower(username collate "C")`,
  role: sql`role collate "C"`,
  created_at: sql`(extract(epoch from created_at) * 1000000)::bigint`,
});

/** Rows of the page in its order. `start` is the start of the username, in NFC. null: any name. */
export function usersNamed(
  database: Database,
  deadline: Deadline,
  { start, page }: { start: string | null; page: Listing<Column> },
): Promise<(Static<typeof User> & { sort_key?: string })[]> {
  return database.read(
    deadline,
    // Written as the index users_start_of_name has it. `^@` takes no character for a wildcard.
    (sql) => sql`
      select id, username, role, device_id, created_at ${sortKeyOf(sql, keysOf(sql), page)} from users
      where true
      ${start === null ? sql`` : sql`and lower(username collate "C") ^@ lower(${start} collate "C")`}
      ${page.find === null ? sql`` : foundIn(sql, page.find)}
      ${listingBy(sql, keysOf(sql), page)}`,
  );
}

/** PostgreSQL reads the devices once, and not for each user. */
const foundIn = (sql: Sql, find: string) => sql`
  and (${holds(sql, sql`username`, find)} or device_id in (
    select d.id from devices d
    where ${holds(sql, sql`d.name`, find)} or ${holds(sql, sql`d.serial`, find)} or ${holds(sql, sql`d.site`, find)}
  ))`;

/**
 * Rejects every token issued to that user so far, on all nodes within 250 ms, deletes the user's key holders and rotates
 * the keys that they had. A user that logs out everywhere rotates only what a key holder could have: each rotation makes
 * all members ask for keys. The notifications. null: no such user.
 */
export async function revokeTokens(
  database: Database,
  deadline: Deadline,
  { user, notice, isOwn, also }: Revocation,
): Promise<readonly Notice[] | null> {
  const [revoked] = await database.write<Rotated>(
    deadline,
    (sql) => sql`
      with ${revoking(sql, {
        whose: also === undefined ? sql`id = ${user}` : sql`id = ${user} and role = 'user'`,
        withLogins: also !== undefined,
        ...{ isOwn, also },
      })}
      select ${notify(sql, notice)}, ${rotationNotices(sql)} from revoked`,
  );
  return revoked === undefined ? null : [notice, ...revoked.notices];
}

export interface Revocation {
  readonly user: UserId;
  readonly notice: Notice;
  readonly isOwn: boolean;
  /** What the statement sets besides, in an account that is no administrator's. Logins that are under way end, too. */
  readonly also?: (sql: Sql) => Fragment;
}

export interface TakingBack {
  readonly username: string;
  /** Also the tokens of logins that are under way, with the password or the role of before. A login waits some seconds then. */
  readonly withLogins?: boolean;
  /** An admin becomes a plain user. The only admin stays one. */
  readonly isDemoted?: boolean;
}

/** Voids the tokens of that user, as the above, for the command line. False: no such user, or the only admin. */
export async function takeBack(
  database: Database,
  deadline: Deadline,
  { username, withLogins = false, isDemoted = false }: TakingBack,
): Promise<boolean> {
  const notice = { id: randomUUID(), kind: 'user_revoked' } as const;
  const taken = await database.write(
    deadline,
    // Two demotions lock the same rows in the same order: the second one sees what the first one left.
    (sql) => sql`
      with admins as materialized (
        select id from users where ${isDemoted}::boolean and role = 'admin' order by id for no key update
      ), ${revoking(sql, {
        whose: sql`username = ${username} and (not ${isDemoted}::boolean or (select count(*) from admins) > 1)`,
        ...{ isOwn: false, withLogins, isDemoted },
      })}
      select ${notifyOwnUser(sql, notice)}, ${rotationNotices(sql)} from revoked users`,
  );
  return taken.length > 0;
}

/** A login reads the account, and issues its token at most so long after (s): the wait for the hash is 2.5 s at most. */
const LOGIN_S_MAX = 4;

interface Revoking extends Pick<TakingBack, 'withLogins' | 'isDemoted'> {
  readonly whose: ReturnType<Sql>;
  readonly isOwn: boolean;
  readonly also?: Revocation['also'];
}

/**
 * CTEs: `revoked` has the id of the user. The first key holder after it needs no acceptance, unless the user revoked: who
 * has the password could otherwise log out everywhere, log in, and have keys that nobody accepted.
 */
const revoking = (
  sql: Sql,
  { whose, isOwn, withLogins = false, isDemoted = false, also = () => sql`` }: Revoking,
) => sql`
  revoked as (
    update users
    set valid_from = ${nextMoment(sql, withLogins ? LOGIN_S_MAX : 1)},
        had_holder = had_holder and ${isOwn}::boolean,
        role = case when ${isDemoted}::boolean then 'user' else role end
        ${also(sql)}
    where ${whose} returning id
  ), lost as (
    delete from key_holders where user_id in (select id from revoked) returning user_id
  ), ${rotating(sql, {
    which: talkgroupsWithKeysOf(sql, isOwn ? sql`select user_id from lost` : sql`select id from revoked`),
    useInMs: 0,
    mayPutOff: true,
  })}`;

/**
 * Beyond every token that was issued, also by a clock that was ahead. The clock is read when the row is locked, so that a
 * revocation that waited is not earlier than the logins of that time.
 */
const nextMoment = (sql: Sql, aheadS: number) => sql`
  greatest(valid_from + 1, (select newest_iat + 1 from token_times),
           floor(extract(epoch from clock_timestamp()))::bigint + ${aheadS}::integer)`;
