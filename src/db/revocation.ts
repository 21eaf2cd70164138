// Voids the tokens of a user, in one statement with what else is taken from the account.
import { randomUUID } from 'node:crypto';
import type { UserId } from '../ids.js';
import { type Act, type Actor, acting, writeAct } from './acts.js';
import type { Database } from './client.js';
import type { Deadline } from './deadline.js';
import { type Notice, noticeOf, notifyAll, notifyOwnUser } from './notice.js';
import type { Fragment } from './pages.js';
import type { Sql } from './pool.js';
import { type Rotated, rotating, rotationNotices, talkgroupsWithKeysOf } from './rotation.js';

/**
 * Rejects every token issued to that user so far, on all nodes within 250 ms, deletes the user's key holders and rotates
 * the keys that they had. A user that logs out everywhere rotates only what a key holder could have: each rotation makes
 * all members ask for keys. The notifications. null: no such user.
 */
export async function revokeTokens(
  database: Database,
  deadline: Deadline,
  { user, by, act, also, isRelinked = false, mustWait = by === null, who = 'any' }: Revocation,
): Promise<readonly Notice[] | null> {
  const notices = isRelinked ? relinkNotices(user) : [noticeOf({ kind: 'user_revoked', user })];
  const [revoked] = await writeAct<Rotated>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with ${revoking(sql, {
        whose: sql`id = ${user} ${only(sql, also === undefined || who !== 'any' ? who : 'user')}`,
        withLogins: also !== undefined,
        ...{ isOwn: by === null, mustWait, also },
      })}, ${actOf(sql, by, act)}
      select ${notifyAll(sql, notices)}, ${rotationNotices(sql)} ${noted} from revoked`,
  );
  return revoked === undefined ? null : [...notices, ...revoked.notices];
}

/** Of who has another device, or none: the second one makes the relays read which devices they show. */
export const relinkNotices = (user: UserId): readonly Notice[] =>
  (['user_revoked', 'user_promoted'] as const).map((kind) => noticeOf({ kind, user }));

export interface Revocation {
  readonly user: UserId;
  /** null: the user. */
  readonly by: Actor | null;
  readonly act: RevokingAct;
  /** What the statement sets besides, in an account that is no administrator's. Logins that are under way end, too. */
  readonly also?: (sql: Sql) => Fragment;
  /** With `relinkNotices`. */
  readonly isRelinked?: boolean;
  /** The next key holder waits to be accepted: the caller may revoke, and not accept. */
  readonly mustWait?: boolean;
  readonly who?: Who;
}

/** The tokens that are revoked: those of any user, of a user with or without the rights of a dispatcher, or of one kind alone. */
type Who = 'any' | 'user' | 'plain' | 'dispatcher';

function only(sql: Sql, who: Who): Fragment {
  if (who === 'any') return sql``;
  if (who === 'user') return sql`and role = 'user'`;
  return sql`and role = 'user' and is_dispatcher = ${who === 'dispatcher'}`;
}

/** For an `update` of the user that sets other columns too. */
export const dispatcherToo = (isDispatcher: boolean) => (sql: Sql) => sql`, is_dispatcher = ${isDispatcher}`;

/** Acts that revoke tokens. */
type RevokingAct = Extract<
  Act,
  | 'tokens_revoked'
  | 'password_set'
  | 'user_locked'
  | 'device_linked'
  | 'device_unlinked'
  | 'admin_removed'
  | 'dispatcher_removed'
>;

export interface TakingBack {
  readonly username: string;
  readonly by: Actor;
  readonly act: RevokingAct;
  /** Also the tokens of logins that are under way, with the password or the role of before. A login waits some seconds then. */
  readonly withLogins?: boolean;
  /** An admin becomes a plain user. The only admin stays one. */
  readonly isDemoted?: boolean;
  /** What the statement sets besides, also in the account of an administrator. */
  readonly also?: (sql: Sql) => Fragment;
  readonly isRelinked?: boolean;
  readonly who?: Who;
}

/** Voids the tokens of that user, as the above, for the command line. False: no such user of that kind, or the only admin. */
export async function takeBack(
  database: Database,
  deadline: Deadline,
  {
    username,
    by,
    act,
    withLogins = false,
    isDemoted = false,
    isRelinked = false,
    also,
    who = 'any',
  }: TakingBack,
): Promise<boolean> {
  const told = { id: randomUUID(), kind: 'user_revoked' } as const;
  const read = { id: randomUUID(), kind: 'user_promoted' } as const;
  const taken = await writeAct(
    database,
    deadline,
    by,
    // Two demotions lock the same rows in the same order: the second one sees what the first one left.
    (sql, noted) => sql`
      with admins as materialized (
        select id from users where ${isDemoted}::boolean and role = 'admin' order by id for no key update
      ), ${revoking(sql, {
        whose: sql`username = ${username} ${only(sql, who)}
          and (not ${isDemoted}::boolean or (select count(*) from admins) > 1)`,
        ...{ isOwn: false, withLogins, isDemoted, also },
      })}, ${actOf(sql, by, act)}
      select ${notifyOwnUser(sql, told)}, case when ${isRelinked}::boolean then ${notifyOwnUser(sql, read)} end,
             ${rotationNotices(sql)} ${noted} from revoked users`,
  );
  return taken.length > 0;
}

/** The act of `revoked`. One that takes a device away names that device, and is none where another one came first. */
const actOf = (sql: Sql, by: Actor | null, act: RevokingAct) =>
  acting(sql, by, {
    act,
    from: sql`from revoked ${act === 'device_unlinked' ? sql`where device_before is not null` : sql``}`,
    user: sql`id`,
    device:
      act === 'device_unlinked' ? sql`device_before` : act === 'device_linked' ? sql`device_id` : sql`null`,
    details:
      act === 'device_linked'
        ? { serial_before: sql`(select serial from devices where id = device_before)` }
        : {},
  });

/** A login reads the account, and issues its token at most so long after (s): the wait for the hash is 2.5 s at most. */
const LOGIN_S_MAX = 4;

interface Revoking extends Pick<TakingBack, 'withLogins' | 'isDemoted'> {
  readonly whose: ReturnType<Sql>;
  readonly isOwn: boolean;
  readonly mustWait?: boolean;
  readonly also?: Revocation['also'];
}

/**
 * CTEs: `revoked` has the user. The first key holder after it needs no acceptance, unless the user revoked: who has the
 * password could otherwise log out everywhere, log in, and have keys that were not accepted. A setup code of the user is void, too
 * (sql/019): it could be in the hands that the tokens are taken from.
 */
export const revoking = (
  sql: Sql,
  { whose, isOwn, mustWait = isOwn, withLogins = false, isDemoted = false, also = () => sql`` }: Revoking,
) => sql`
  held as materialized (
    select id, device_id from users where ${whose} for no key update
  ), revoked as (
    update users
    set valid_from = ${nextMoment(sql, withLogins ? LOGIN_S_MAX : 1)},
        had_holder = had_holder and ${mustWait}::boolean
        ${isDemoted ? sql`, role = 'user', is_dispatcher = false` : sql``}
        ${also(sql)}
    from held where users.id = held.id
    returning users.id, users.username, users.role, users.valid_from, users.device_id, held.device_id as device_before
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
