// Reads and writes master secrets in PostgreSQL. Only this file selects a stored secret.
import { type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { encryptedRecordings } from '../db/encrypted-recordings.js';
import { announcing, EPOCHS_KEPT, nextUseAt, rotationNotices, USE_IN_MS } from '../db/rotation.js';
import type { HolderId, TalkgroupId, UserId } from '../ids.js';
import type { Static } from '../typebox.js';
import type { Rotation } from './schemas.js';
import type { StoredSecret } from './wrapping.js';

export interface EpochQuery {
  readonly talkgroup: TalkgroupId;
  readonly holder: HolderId;
  /** null: the owner of the holder, any user. */
  readonly user: UserId | null;
  /** The newest counter of the page. null: the present one. */
  readonly from: number | null;
  readonly limit: number;
}

export interface EpochsOfHolder {
  readonly rotation_counter: number;
  readonly publicKey: Buffer;
  readonly stored: StoredSecret;
  /** Whether its last noted use is an hour ago (`noteUse`). */
  readonly isUseDue: boolean;
  /** Counters, newest first, at most one more than `limit`. */
  readonly counters: readonly number[];
}

/**
 * The epochs whose keys the holder may have, read with membership, permission and counter in one statement. null: none of
 * them, because it is not the user's, or not accepted, or the user is no member or may not have keys.
 */
export async function epochsOfHolder(
  database: Database,
  deadline: Deadline,
  { talkgroup, holder, user, from, limit }: EpochQuery,
): Promise<EpochsOfHolder | null> {
  const [row] = await database.read<{
    rotation_counter: number;
    public_key: Buffer;
    master_secret: Buffer;
    wrapped_by: string | null;
    is_use_due: boolean;
    counters: number[];
  }>(
    deadline,
    // An epoch whose successor was announced before the holder was accepted is not for it. A successor without a row is
    // older than all rows. The newest epoch has no successor.
    (sql) => sql`
      select t.rotation_counter, h.public_key, t.master_secret, t.wrapped_by,
             h.used_at < now() - interval '1 hour' as is_use_due, coalesce((
               select json_agg(e.n order by e.n desc) from (
                 select n from generate_series(
                   least(t.rotation_counter, ${from}::bigint),
                   greatest(m.first_epoch, t.master_since, t.rotation_counter - ${EPOCHS_KEPT - 1}::integer,
                            case when not m.may_have_keys then t.open_since end), -1) as n
                 where n = t.rotation_counter or exists (
                   select from key_epochs e
                   where e.talkgroup_id = t.id and e.rotation_counter = n + 1 and e.announced_at > h.accepted_at)
                 order by n desc limit ${limit + 1}
               ) e
             ), '[]') as counters
      from talkgroups t
      join key_holders h on h.id = ${holder} and h.user_id = coalesce(${user}::uuid, h.user_id)
      join memberships m on m.talkgroup_id = t.id and m.user_id = h.user_id
      where t.id = ${talkgroup} and h.accepted_at is not null
        and (t.encryption = 'allowed' or (t.encryption = 'required' and m.may_have_keys))`,
  );
  if (row === undefined) return null;
  const { rotation_counter, public_key: publicKey, is_use_due: isUseDue, counters } = row;
  const stored = { bytes: row.master_secret, wrappedBy: row.wrapped_by };
  return { rotation_counter, publicKey, stored, isUseDue, counters };
}

/**
 * The stored secret that the epoch of this counter follows from. null: there is none, because the talkgroup was deleted or has
 * another master secret since then.
 */
export async function secretOfEpoch(
  database: Database,
  deadline: Deadline,
  { talkgroup, counter }: { talkgroup: TalkgroupId; counter: number },
): Promise<StoredSecret | null> {
  const [row] = await database.read<{ master_secret: Buffer; wrapped_by: string | null }>(
    deadline,
    (sql) => sql`
      select master_secret, wrapped_by from talkgroups
      where id = ${talkgroup} and master_since <= ${counter}::bigint`,
  );
  return row === undefined ? null : { bytes: row.master_secret, wrappedBy: row.wrapped_by };
}

/** Notes that the holder asked for keys: the ninth one replaces the one not used for longest. */
export async function noteUse(database: Database, deadline: Deadline, holder: HolderId): Promise<void> {
  await database.write(
    deadline,
    (sql) => sql`
      update key_holders set used_at = now() where id = ${holder}
      returning id`,
  );
}

/** How many talkgroups' secrets each key wraps. null: none does. */
export function secretsByKey(
  database: Database,
  deadline: Deadline,
): Promise<{ wrapped_by: string | null; talkgroups: number }[]> {
  return database.read(
    deadline,
    (sql) => sql`select wrapped_by, count(*)::int as talkgroups from talkgroups group by wrapped_by`,
  );
}

export interface SecretOfTalkgroup {
  readonly talkgroup: TalkgroupId;
  readonly stored: StoredSecret;
}

/** The next secrets, in the order of their talkgroups' ids, that another key wraps, or none. */
export async function secretsNotWrappedBy(
  database: Database,
  deadline: Deadline,
  { keyId, after, limit }: { keyId: string; after: TalkgroupId | null; limit: number },
): Promise<SecretOfTalkgroup[]> {
  const rows = await database.read<{ id: TalkgroupId; master_secret: Buffer; wrapped_by: string | null }>(
    deadline,
    (sql) => sql`
      select id, master_secret, wrapped_by from talkgroups
      where wrapped_by is distinct from ${keyId} and (${after}::uuid is null or id > ${after}::uuid)
      order by id limit ${limit}`,
  );
  return rows.map(({ id, master_secret, wrapped_by }) => ({
    talkgroup: id,
    stored: { bytes: master_secret, wrappedBy: wrapped_by },
  }));
}

export interface NewSecret {
  readonly by: Actor;
  readonly talkgroup: TalkgroupId;
  readonly secret: StoredSecret;
  /** The database is a restored one: the counter goes beyond all that may have been used since the backup. */
  readonly isRestored: boolean;
  /** Also when encrypted recordings are lost. */
  readonly mayForget: boolean;
}

/** `recordings_encrypted`: so many would be lost, and nothing changed. `no_secrets_key`: the secret was encrypted, and the new one is not. */
export type Renewed = Static<typeof Rotation> | 'no_secrets_key' | { readonly recordings_encrypted: number };

/** Rotations between a backup and its restore: one in 30 s for a year. Devices never go back to a lower counter. */
const RESTORED_STEP = 1_000_000;

/**
 * Replaces the master secret and rotates: the next epoch is the first one that follows from the new one. Talkers use it after
 * `USE_IN_MS`. null: no such talkgroup.
 */
export async function renewSecret(
  database: Database,
  deadline: Deadline,
  { talkgroup, secret: { bytes, wrappedBy }, isRestored, mayForget, by }: NewSecret,
): Promise<Renewed | null> {
  const step = isRestored ? RESTORED_STEP : 1;
  const [found] = await writeAct<RenewedRow>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with due as materialized (
        select id, master_since, wrapped_by is null or ${wrappedBy}::text is not null as is_kept_safe
        from talkgroups where id = ${talkgroup} for no key update
      ), kept as materialized (
        select due.id, is_kept_safe, (
          select count(*)::int ${encryptedRecordings(sql, { talkgroup: sql`due.id`, since: sql`due.master_since` })}
        ) as recordings
        from due
      ), rotated as (
        update talkgroups t
        set rotation_counter = t.rotation_counter + ${step}::integer,
            master_since = t.rotation_counter + ${step}::integer,
            master_secret = ${bytes}, wrapped_by = ${wrappedBy},
            newest_use_at = ${nextUseAt(sql, USE_IN_MS)}, rotate_due_at = null
        from kept where t.id = kept.id and is_kept_safe and (${mayForget} or recordings = 0)
        returning t.id, t.rotation_counter, t.newest_use_at, gen_random_uuid() as notice_id, recordings
      ), ${announcing(sql)}, ${acting(sql, by, {
        act: 'secret_renewed',
        from: sql`from rotated`,
        ...{
          talkgroup: sql`id`,
          details: {
            ...{ rotation_counter: sql`rotation_counter`, restored: isRestored || null },
            recordings_lost: sql`nullif(recordings > 0, false)`,
          },
        },
      })}
      select kept.id as talkgroup_id, is_kept_safe, kept.recordings, rotated.rotation_counter, ${rotationNotices(sql)} ${noted}
      from kept left join rotated on true`,
  );
  if (found === undefined) return null;
  const { talkgroup_id, rotation_counter, is_kept_safe, recordings } = found;
  if (!is_kept_safe) return 'no_secrets_key';
  return rotation_counter === null
    ? { recordings_encrypted: recordings }
    : { talkgroup_id, rotation_counter };
}

/** `rotation_counter` null: nothing changed. */
interface RenewedRow {
  readonly talkgroup_id: string;
  readonly rotation_counter: number | null;
  readonly is_kept_safe: boolean;
  readonly recordings: number;
}

export interface SecretChange {
  readonly talkgroup: TalkgroupId;
  readonly from: StoredSecret;
  readonly to: StoredSecret;
}

/** Replaces the secrets that are still what they were, and answers how many. The act names no talkgroup. */
export async function replaceSecrets(
  database: Database,
  deadline: Deadline,
  { changes, by }: { changes: readonly SecretChange[]; by: Actor },
): Promise<number> {
  const column = (of: (change: SecretChange) => string | null) => `{${changes.map(of).join(',')}}`;
  const [replaced] = await writeAct<{ secrets: number }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with replaced as (
        update talkgroups t set master_secret = decode(c.after, 'hex'), wrapped_by = c.wrapped_by
        from unnest(
          ${column(({ talkgroup }) => talkgroup)}::uuid[],
          ${column(({ from }) => from.bytes.toString('hex'))}::text[],
          ${column(({ to }) => to.bytes.toString('hex'))}::text[],
          ${column(({ to }) => to.wrappedBy)}::text[]
        ) as c (id, before, after, wrapped_by)
        where t.id = c.id and t.master_secret = decode(c.before, 'hex')
        returning t.id
      ), counted as (
        select count(*)::int as secrets from replaced
      ), ${acting(sql, by, {
        act: 'secrets_rewrapped',
        from: sql`from counted where secrets > 0`,
        details: { secrets: sql`secrets` },
      })}
      select secrets ${noted} from counted`,
  );
  return replaced?.secrets ?? 0;
}
