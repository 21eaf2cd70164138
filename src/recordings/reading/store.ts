// Reads recordings for those who may hear them. The rights are part of each statement, and so is the note of who listened.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Fragment, Page } from '../../db/pages.js';
import type { Sql } from '../../db/pool.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { Codec, Crypto } from '../../protocol/bodies.js';
import { lowestIdFrom } from '../../protocol/recording-id.js';
import { isAdmin, isHeld } from '../holding/store.js';

/** RECORDING_ACCESS. */
export type Access = 'members' | 'admin';

export interface Reader {
  readonly user: UserId;
  readonly access: Access;
}

/**
 * Whether the reader may hear the recording `r`. The role is that of the account now, not of the token. A member hears what
 * was said since it joined, and of a time in which encryption was required only what it had the keys for.
 */
export const mayHear = (sql: Sql, { user, access }: Reader): Fragment => sql`(
  ${isAdmin(sql, user)} or (${access === 'members'} and exists (
    select from memberships m join talkgroups t on t.id = m.talkgroup_id
    where m.user_id = ${user} and m.talkgroup_id = r.talkgroup_id and ${couldHear(sql)})))`;

/** Whether the member `m` of the talkgroup `t` hears it live now. */
const hearsNow = (sql: Sql): Fragment => sql`(t.encryption <> 'required' or m.may_have_keys)`;

/** The lowest id of recordings since the member `m` joined, as in protocol/recording-id.ts. */
export const lowestIdOf = (sql: Sql): Fragment => sql`
  (lpad(to_hex(floor(extract(epoch from m.created_at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid`;

/** Whether the member `m` of the talkgroup `t` could hear the recording `r` live. */
export const couldHear = (sql: Sql): Fragment => sql`
  m.created_at <= r.started_at and ${hearsNow(sql)}
  and (not r.was_required or (m.may_have_keys and m.first_epoch <= r.epoch))`;

/**
 * Whether the recording `r` is listed. An expired one is for those who see what only a legal hold still keeps: administrators,
 * and the operator.
 */
export const isListed = (sql: Sql, seesHeld: Fragment): Fragment =>
  sql`(r.expires_at > now() or (${seesHeld} and ${isHeld(sql)}))`;

/** Whether its speech may be read. Of an erased one a hold may have kept it. */
const isReadable = (sql: Sql, seesHeld: Fragment): Fragment =>
  sql`(r.erased_at is null or (${seesHeld} and ${isHeld(sql)}))`;

/** Whether no speech of it is read any more. */
export const isErased = (sql: Sql, seesHeld: Fragment): Fragment => sql`(
  r.erased_at is not null and not (
    ${isReadable(sql, seesHeld)} and exists (select from recording_parts p where p.recording_id = r.id)))`;

/** Of a row of RecordingRow. */
export const columns = (sql: Sql, seesHeld: Fragment): Fragment => sql`
  r.id, r.talkgroup_id, r.talkgroup_name, r.user_id, r.username,
  (extract(epoch from r.started_at) * 1000)::float8 as started_at_ms, r.expires_at,
  r.priority, r.emergency, r.codec, r.crypto, r.frames::float8 as frames, r.duration_ms::float8 as duration_ms,
  case when r.code is null and r.started_at < now() - interval '11 minutes' then 'unknown' else r.code end as code,
  r.lost, r.erased_at, case when ${seesHeld} then ${isHeld(sql)} end as held,
  (select coalesce(sum(p.frames), 0)::float8 from recording_parts p
    where p.recording_id = r.id and ${isReadable(sql, seesHeld)}) as stored_frames`;

export interface RecordingRow {
  readonly id: string;
  readonly talkgroup_id: string;
  readonly talkgroup_name: string;
  readonly user_id: string | null;
  readonly username: string | null;
  readonly started_at_ms: number;
  readonly expires_at: string;
  readonly priority: number;
  readonly emergency: boolean;
  readonly codec: Codec | null;
  readonly crypto: Crypto | null;
  readonly frames: number | null;
  readonly duration_ms: number | null;
  readonly code: string | null;
  readonly lost: Readonly<Record<string, Readonly<Record<string, number>>>> | null;
  readonly erased_at: string | null;
  /** Whether a legal hold covers it. null: the reader is no administrator. */
  readonly held: boolean | null;
  readonly stored_frames: number;
}

export interface Wanted {
  readonly talkgroup: TalkgroupId | null;
  readonly user: UserId | null;
  readonly talker: string | null;
  /** Unix time (ms). */
  readonly since: number | null;
  readonly until: number | null;
  readonly isEmergency: boolean;
  readonly isOldestFirst: boolean;
  readonly page: Page;
}

/** Of all ids. */
const LOWEST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * One more than the page has. null: no talkgroup of the reader. The index is read from the time at which the reader joined, and
 * not at all for a reader that may hear nothing now.
 *
 * LIMIT: what was said after the reader joined and before it had the keys is read and left out.
 */
export async function readRecordings(
  database: Database,
  deadline: Deadline,
  reader: Reader,
  wanted: Wanted,
): Promise<readonly RecordingRow[] | null> {
  const { talkgroup, user, talker, since, until, isEmergency, isOldestFirst, page } = wanted;
  const { after } = page;
  const rows = await database.read<RecordingRow & { readonly is_known: boolean }>(
    deadline,
    (sql) => sql`
      with reader as materialized (
        select admin.is_admin or coalesce(member.is_member, false) as is_known,
               case when admin.is_admin then ${LOWEST_ID}::uuid else member.from_id end as from_id
        from (select ${isAdmin(sql, reader.user)} as is_admin) admin
        left join (
          select true as is_member, case when ${hearsNow(sql)} then ${lowestIdOf(sql)} end as from_id
          from memberships m join talkgroups t on t.id = m.talkgroup_id
          where ${reader.access === 'members'} and m.user_id = ${reader.user} and m.talkgroup_id = ${talkgroup}::uuid
        ) member on true
      ), found as (
        select ${columns(sql, isAdmin(sql, reader.user))}
        from recordings r
        where ${isListed(sql, isAdmin(sql, reader.user))} and ${mayHear(sql, reader)}
          and r.id >= (select from_id from reader)
          ${talkgroup === null ? sql`` : sql`and r.talkgroup_id = ${talkgroup}`}
          ${user === null ? sql`` : sql`and r.user_id = ${user}`}
          ${talker === null ? sql`` : sql`and r.username = ${talker}`}
          ${since === null ? sql`` : sql`and r.id >= ${lowestIdFrom(since)}::uuid`}
          ${until === null ? sql`` : sql`and r.id < ${lowestIdFrom(until)}::uuid`}
          ${isEmergency ? sql`and r.emergency` : sql``}
          ${after === null ? sql`` : isOldestFirst ? sql`and r.id > ${after}::uuid` : sql`and r.id < ${after}::uuid`}
        order by r.id ${isOldestFirst ? sql`` : sql`desc`}
        limit ${page.limit + 1}
      )
      select is_known, id, talkgroup_id, talkgroup_name, user_id, username, started_at_ms, expires_at, priority, emergency,
             codec, crypto, frames, duration_ms, code, lost, erased_at, held, stored_frames
      from reader left join found on true
      order by id ${isOldestFirst ? sql`` : sql`desc`}`,
  );
  if (rows[0]?.is_known !== true) return null;
  return rows.filter(({ id }) => id !== null);
}

/** null: there is none that the reader may hear. */
export async function readRecording(
  database: Database,
  deadline: Deadline,
  reader: Reader,
  id: string,
): Promise<RecordingRow | null> {
  const [row] = await database.read<RecordingRow>(
    deadline,
    (sql) => sql`
      select ${columns(sql, isAdmin(sql, reader.user))} from recordings r
      where r.id = ${id} and ${isListed(sql, isAdmin(sql, reader.user))} and ${mayHear(sql, reader)}`,
  );
  return row ?? null;
}

/** The stored speech of one recording. */
export interface Speech {
  /** Number of the talkgroup. */
  readonly talkgroup: number;
  /** All parts, one behind the other. */
  readonly speech: Buffer;
}

/**
 * Whether a row of `recording_reads` is of the recording. To be ordered by `recording_id, id`. When most rows are of one recording,
 * an equation would let PostgreSQL read the whole table in place of the index.
 */
export const areReadsOf = (sql: Sql, id: Fragment): Fragment => sql`recording_id between ${id} and ${id}`;

/** Of a recording, in which one of the reader is looked for. It bounds the rows that one request reads. */
const NEWEST_READS = 200;

/**
 * Notes that the reader listened, when it did not in the last 10 minutes. Requests that run at the same time may leave a row each.
 * null: there is none that the reader may hear.
 */
export async function readSpeech(
  database: Database,
  deadline: Deadline,
  reader: Reader,
  id: string,
): Promise<Speech | 'erased' | null> {
  const [row] = await database.write<{ number: string; is_erased: boolean; speech: Buffer | null }>(
    deadline,
    (sql) => sql`
      with heard as (
        select r.id, r.talkgroup_number, ${isErased(sql, isAdmin(sql, reader.user))} as is_erased from recordings r
        where r.id = ${id} and ${isListed(sql, isAdmin(sql, reader.user))} and ${mayHear(sql, reader)}
      ), noted as (
        insert into recording_reads (reader_id, reader_name, recording_id)
        select u.id, u.username, heard.id from heard, users u
        where u.id = ${reader.user} and not heard.is_erased and not exists (
          select from (
            select reader_id, of_key, at from recording_reads
            where ${areReadsOf(sql, sql`heard.id`)} order by recording_id desc, id desc limit ${NEWEST_READS}
          ) newest
          where reader_id = u.id and not of_key and at > now() - interval '10 minutes')
      )
      select talkgroup_number as number, is_erased,
             (select string_agg(bytes, '' order by from_frame) from recording_parts
               where recording_id = heard.id and not is_erased) as speech
      from heard`,
  );
  if (row === undefined) return null;
  if (row.is_erased) return 'erased';
  return { talkgroup: Number(row.number), speech: row.speech ?? Buffer.alloc(0) };
}
