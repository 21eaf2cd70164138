// Writes the parts of a statement that rotate keys: the next epoch of talkgroups, and the notification of each.
import type postgres from 'postgres';
import { CHANNEL, type Notice } from './notice.js';
import type { Sql } from './pool.js';

type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** Between a rotation and the use of its epoch, where nothing is lost (ms). Devices fetch within two thirds of it. */
export const USE_IN_MS = 10_000;
/** At least (ms), and so much for each key holder: sealing takes 0.5 ms. Never 0: a talker must have the key first. */
const USE_IN_MS_MIN = 2000;
const MS_OF_HOLDER = 2;
/** The longest that an administrator may order (ms). What the talkgroup has beyond it came from a clock that was wrong. */
export const USE_IN_MS_MAX = 600_000;
/** Memberships of the talkgroups that one statement rotates: it counts their key holders. 20,000 with 8 each take 0.2 s. */
export const MEMBERS_AT_ONCE = 20_000;
/** Epochs that a talkgroup keeps. */
export const EPOCHS_KEPT = 64;

/**
 * The time of use of the next epoch of the talkgroup `t`, at least `useInMs` from now and never before that of the epoch
 * before. As a value of an UPDATE it is computed again when another rotation came first.
 */
export const nextUseAt = (sql: Sql, useInMs: number | Fragment) => sql`
  greatest(
    least(coalesce(t.newest_use_at, '-infinity'), clock_timestamp() + interval '1 millisecond' * ${USE_IN_MS_MAX}::integer),
    clock_timestamp() + interval '1 millisecond' * greatest((${useInMs})::integer,
    ${USE_IN_MS_MIN}::integer + ${MS_OF_HOLDER}::integer * (
      select count(*) from memberships m join key_holders h on h.user_id = m.user_id
      where m.talkgroup_id = t.id and h.accepted_at is not null)))`;

/** The talkgroups of a user in which a key that the user may have has to change. `users`: a statement with their ids. */
export const talkgroupsWithKeysOf = (sql: Sql, users: Fragment) => sql`
  select m.talkgroup_id from memberships m join talkgroups k on k.id = m.talkgroup_id
  where m.user_id in (${users}) and m.may_have_keys and k.encryption = 'required'`;

/**
 * The time at which a key holder of the user is accepted: now, and not before any epoch of its talkgroups. The clock may have
 * been ahead when that was announced, or was another one, of the database server before. Epochs from before are not for it.
 */
export const acceptedNow = (sql: Sql, user: Fragment) => sql`
  greatest(clock_timestamp(), (
    select max(e.announced_at) from memberships m join key_epochs e on e.talkgroup_id = m.talkgroup_id
    where m.user_id = ${user}))`;

/** The `rotate_due_at` of a rotation that was put off: before all others, and with no time for devices beyond the least. */
export const AT_ONCE = (sql: Sql) => sql`'-infinity'::timestamptz`;

interface Rotating {
  readonly which: Fragment;
  readonly useInMs: number | Fragment;
  /**
   * Where they have more than MEMBERS_AT_ONCE members, the statement only marks them: `keys/rotations/due.ts` rotates them
   * in parts. For statements that take away a right, which must not wait for a count.
   */
  readonly mayPutOff?: boolean;
  /** Of them only those in `required`, as the locked row says: `which` may not see a change that the lock waited for. */
  readonly onlyRequired?: boolean;
}

/**
 * CTEs that rotate the talkgroups whose ids the statement `which` finds. They end with `told`, for `rotationNotices`. Rows
 * are locked in the order of their ids, so two statements do not deadlock.
 */
export const rotating = (
  sql: Sql,
  { which, useInMs, onlyRequired = false, mayPutOff = false }: Rotating,
) => sql`
  due as materialized (
    select id, encryption from talkgroups where id in (${which}) order by id for no key update
  ), many as materialized (
    select ${mayPutOff}::boolean and count(*) > ${MEMBERS_AT_ONCE}::integer as are_put_off from (
      select from memberships where ${mayPutOff}::boolean and talkgroup_id in (select id from due)
      limit ${MEMBERS_AT_ONCE}::integer + 1
    ) m
  ), put_off as (
    update talkgroups t set rotate_due_at = ${AT_ONCE(sql)} from due, many
    where many.are_put_off and t.id = due.id and (due.encryption = 'required' or not ${onlyRequired}::boolean)
  ), rotated as (
    update talkgroups t
    set rotation_counter = t.rotation_counter + 1, newest_use_at = ${nextUseAt(sql, useInMs)}, rotate_due_at = null
    from due, many
    where not many.are_put_off and t.id = due.id and (due.encryption = 'required' or not ${onlyRequired}::boolean)
    returning t.id, t.rotation_counter, t.newest_use_at, gen_random_uuid() as notice_id
  ), ${announcing(sql)}`;

/** The same behind a CTE `rotated` with id, rotation_counter, newest_use_at and notice_id of each rotated talkgroup. */
export const announcing = (sql: Sql) => sql`
  announced as (
    insert into key_epochs (talkgroup_id, rotation_counter, announced_at, use_at)
    select id, rotation_counter, clock_timestamp(), newest_use_at from rotated
  ), forgotten as (
    delete from key_epochs e using rotated r
    where e.talkgroup_id = r.id and e.rotation_counter <= r.rotation_counter - ${EPOCHS_KEPT}::integer
  ), told as materialized (
    select n.notice, pg_notify(${CHANNEL}, n.notice::text)
    from rotated r cross join lateral (
      select json_build_object('id', r.notice_id, 'kind', 'key_rotated', 'talkgroup', r.id) as notice
    ) n
  )`;

/**
 * The value of the outermost SELECT that lists the notifications of `rotating`. Every such statement must have it: PostgreSQL
 * does not run a CTE that nothing reads, and then no relay is notified.
 */
export const rotationNotices = (sql: Sql) =>
  sql`(select coalesce(json_agg(notice), '[]') from told) as notices`;

/** A row with them, for the confirmation by the relay. */
export interface Rotated {
  readonly notices: readonly Notice[];
}
