// Reads recordings for those who may hear them. The rights are part of each statement, and so is the note of who listened.
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import type { Fragment, Page } from '../db/pages.js';
import type { Sql } from '../db/pool.js';
import type { TalkgroupId, UserId } from '../ids.js';
import { BURST_AT, FLAGS_AT, HEADER_BYTES, SENDER_AT, TALKGROUP_AT } from '../protocol/frame.js';
import { lowestIdFrom, readRecordingId } from '../protocol/recording-id.js';
import { losses } from '../relay/taping/batch.js';
import type { Static } from '../typebox.js';
import type { Recording } from './schemas.js';

/** RECORDING_ACCESS. */
export type Access = 'members' | 'admin';

export interface Reader {
  readonly user: UserId;
  readonly access: Access;
}

/** Without an end for so long, a recording will have none: its relay was killed. A piece is at most 10 minutes long. */
const UNKNOWN_AFTER = '11 minutes';

/**
 * Whether the reader may hear the recording `r`. The role is that of the account now, not of the token. A member hears what
 * was said since it joined, and of a time in which encryption was required only what it had the keys for.
 */
const mayHear = (sql: Sql, { user, access }: Reader): Fragment => sql`(
  ${isAdmin(sql, user)} or (${access === 'members'} and exists (
    select from memberships m join talkgroups t on t.id = m.talkgroup_id
    where m.user_id = ${user} and m.talkgroup_id = r.talkgroup_id and m.created_at <= r.started_at
      and (t.encryption <> 'required' or m.may_have_keys)
      and (not r.was_required or (m.may_have_keys and m.first_epoch <= r.epoch)))))`;

const isAdmin = (sql: Sql, user: UserId): Fragment =>
  sql`exists (select from users where id = ${user} and role = 'admin')`;

const columns = (sql: Sql): Fragment => sql`
  r.id, r.talkgroup_id, r.talkgroup_name, r.user_id, r.username,
  (extract(epoch from r.started_at) * 1000)::float8 as started_at_ms, r.expires_at,
  r.priority, r.emergency, r.codec, r.crypto, r.frames::float8 as frames, r.duration_ms::float8 as duration_ms,
  case when r.code is null and r.started_at < now() - interval '${sql.unsafe(UNKNOWN_AFTER)}' then 'unknown' else r.code end as code,
  r.lost, r.erased_at,
  (select coalesce(sum(p.frames), 0)::float8 from recording_parts p where p.recording_id = r.id) as stored_frames`;

interface Row {
  readonly id: string;
  readonly talkgroup_id: string;
  readonly talkgroup_name: string;
  readonly user_id: string | null;
  readonly username: string | null;
  readonly started_at_ms: number;
  readonly expires_at: string;
  readonly priority: number;
  readonly emergency: boolean;
  readonly codec: Static<typeof Recording>['codec'] | null;
  readonly crypto: Static<typeof Recording>['crypto'] | null;
  readonly frames: number | null;
  readonly duration_ms: number | null;
  readonly code: string | null;
  readonly lost: Readonly<Record<string, Readonly<Record<string, number>>>> | null;
  readonly erased_at: string | null;
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

/** One more than the page has. null: no talkgroup of the reader. */
export async function recordingsOf(
  database: Database,
  deadline: Deadline,
  reader: Reader,
  wanted: Wanted,
): Promise<Static<typeof Recording>[] | null> {
  const { talkgroup, user, talker, since, until, isEmergency, isOldestFirst, page } = wanted;
  const rows = await database.read<Row & { readonly is_known: boolean }>(
    deadline,
    (sql) => sql`
      with reader as (
        select ${isAdmin(sql, reader.user)} as is_admin, ${isAdmin(sql, reader.user)} or (
          ${reader.access === 'members'} and exists (select from memberships
            where user_id = ${reader.user} and talkgroup_id = ${talkgroup}::uuid)) as is_known
      ), found as (
        select ${columns(sql)}
        from recordings r
        where r.expires_at > now() and ${mayHear(sql, reader)}
          ${talkgroup === null ? sql`` : sql`and r.talkgroup_id = ${talkgroup}`}
          ${user === null ? sql`` : sql`and r.user_id = ${user}`}
          ${talker === null ? sql`` : sql`and r.username = ${talker}`}
          ${since === null ? sql`` : sql`and r.id >= ${lowestIdFrom(since)}::uuid`}
          ${until === null ? sql`` : sql`and r.id < ${lowestIdFrom(until)}::uuid`}
          ${isEmergency ? sql`and r.emergency` : sql``}
          ${page.after === null ? sql`` : isOldestFirst ? sql`and r.id > ${page.after}::uuid` : sql`and r.id < ${page.after}::uuid`}
        order by r.id ${isOldestFirst ? sql`` : sql`desc`}
        limit ${page.limit + 1}
      )
      select found.*, reader.is_known from reader left join found on true
      order by found.id ${isOldestFirst ? sql`` : sql`desc`}`,
  );
  if (rows[0]?.is_known !== true) return null;
  return rows.filter(({ id }) => id !== null).map(recordingOf);
}

/** null: there is none that the reader may hear. */
export async function recording(
  database: Database,
  deadline: Deadline,
  reader: Reader,
  id: string,
): Promise<Static<typeof Recording> | null> {
  const [row] = await database.read<Row>(
    deadline,
    (sql) => sql`
      select ${columns(sql)} from recordings r
      where r.id = ${id} and r.expires_at > now() and ${mayHear(sql, reader)}`,
  );
  return row === undefined ? null : recordingOf(row);
}

/** The frames as they were relayed: of each u16 length and the frame. Stores that the reader listened. */
export async function framesOf(
  database: Database,
  deadline: Deadline,
  reader: Reader,
  id: string,
): Promise<Buffer | 'erased' | null> {
  const [row] = await database.write<{
    number: string;
    is_erased: boolean;
    /** null: nothing is stored. */
    speech: Buffer | null;
  }>(
    deadline,
    (sql) => sql`
      with heard as (
        select r.id, r.talkgroup_number, r.erased_at is not null as is_erased from recordings r
        where r.id = ${id} and r.expires_at > now() and ${mayHear(sql, reader)}
      ), noted as (
        insert into recording_reads (reader_id, reader_name, recording_id)
        select u.id, u.username, heard.id from heard, users u where u.id = ${reader.user} and not heard.is_erased
      )
      select talkgroup_number as number, is_erased,
             (select string_agg(bytes, '' order by from_frame) from recording_parts where recording_id = heard.id) as speech
      from heard`,
  );
  if (row === undefined) return null;
  if (row.is_erased) return 'erased';
  return framesIn(row.speech ?? Buffer.alloc(0), { id, talkgroup: Number(row.number) });
}

/** In front of a payload in a part: the first four bytes of its header, and its length. */
const PART_HEAD_BYTES = 6;
const LENGTH_AT = 4;

/** Of all parts, one behind the other. */
function framesIn(
  speech: Buffer,
  { id, talkgroup }: { readonly id: string; readonly talkgroup: number },
): Buffer {
  const name = readRecordingId(id);
  const frames: Buffer[] = [];
  for (let at = 0; at < speech.length; ) {
    const length = speech.readUInt16BE(at + LENGTH_AT);
    const frame = Buffer.alloc(2 + HEADER_BYTES + length);
    frame.writeUInt16BE(HEADER_BYTES + length);
    const header = frame.subarray(2);
    speech.copy(header, FLAGS_AT, at, at + LENGTH_AT);
    header.writeUInt32BE(talkgroup, TALKGROUP_AT);
    header.writeUInt32BE(name?.session ?? 0, SENDER_AT);
    header.writeUInt32BE(name?.burst ?? 0, BURST_AT);
    speech.copy(header, HEADER_BYTES, at + PART_HEAD_BYTES, at + PART_HEAD_BYTES + length);
    frames.push(frame);
    at += PART_HEAD_BYTES + length;
  }
  return Buffer.concat(frames);
}

function recordingOf(row: Row): Static<typeof Recording> {
  const { id, frames, stored_frames, codec, crypto, erased_at } = row;
  const name = readRecordingId(id);
  const missing = frames === null ? null : Math.max(0, frames - stored_frames);
  return {
    recording_id: id,
    talkgroup_id: row.talkgroup_id,
    talkgroup_name: row.talkgroup_name,
    session: name?.session ?? 0,
    burst: name?.burst ?? 0,
    piece: name?.piece ?? 0,
    user_id: row.user_id,
    username: row.username,
    started_at: new Date(row.started_at_ms).toISOString(),
    expires_at: row.expires_at,
    duration_ms: row.duration_ms,
    frames,
    stored_frames,
    missing,
    missing_because: becauseOf(row, missing),
    code: row.code,
    priority: row.priority,
    emergency: row.emergency,
    ...(codec && { codec }),
    ...(crypto && { crypto }),
    erased_at,
  };
}

/** Frames by reason, of all relays that relayed the recording. An erased one has no other reason. */
function becauseOf({ lost, erased_at }: Row, missing: number | null): Record<string, number> {
  if (missing === null || missing === 0) return {};
  if (erased_at !== null) return { erased: missing };
  const sums: Record<string, number> = {};
  for (const share of Object.values(lost ?? {}))
    for (const reason of losses)
      if ((share[reason] ?? 0) > 0) sums[reason] = (sums[reason] ?? 0) + (share[reason] ?? 0);
  return sums;
}
