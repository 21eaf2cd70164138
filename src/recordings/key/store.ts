// Reads who may have the key of a recording, and notes who got it. The key itself is elsewhere.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { HolderId, TalkgroupId, UserId } from '../../ids.js';
import type { Crypto } from '../../protocol/bodies.js';
import { isAdmin } from '../holding/store.js';
import { isErased, isListed, mayHear, type Reader } from '../reading/store.js';

/** The burst that a key is of, and for whom it is sealed. */
export interface KeyOfBurst {
  readonly talkgroup: TalkgroupId;
  readonly talker: UserId;
  readonly crypto: Crypto;
  /** Of the key holder, an uncompressed point of P-256 (65 bytes). */
  readonly publicKey: Buffer;
}

/** `no_holder`: the key is not for this key holder. `lost`: its talkgroup was deleted, or has another master secret. */
export type WhyNoKey = 'erased' | 'clear' | 'no_holder' | 'lost';

interface Row {
  readonly talkgroup_id: TalkgroupId;
  readonly user_id: UserId | null;
  readonly crypto: Crypto | null;
  readonly is_erased: boolean;
  readonly has_secret: boolean;
  readonly public_key: Buffer | null;
}

/**
 * The burst of the recording, when the reader may have its key with this key holder. Notes that the reader got it. A key holder
 * of a member was accepted before the recording began. Where encryption was required, the member had the epoch of the talker.
 * null: there is no recording that the reader may hear.
 *
 * LIMIT: the pieces of a burst share its key, and acceptance counts from the start of the piece. A running burst gives a key
 * holder that is accepted then the pieces before as well, as its epoch does.
 */
export async function readKey(
  database: Database,
  deadline: Deadline,
  reader: Reader,
  { id, holder }: { readonly id: string; readonly holder: HolderId },
): Promise<KeyOfBurst | WhyNoKey | null> {
  const [row] = await database.write<Row>(
    deadline,
    (sql) => sql`
      with heard as (
        select r.id, r.talkgroup_id, r.user_id, r.crypto, (r.crypto ->> 'epoch')::bigint as epoch, r.was_required,
               r.started_at, ${isErased(sql, isAdmin(sql, reader.user))} as is_erased
        from recordings r
        where r.id = ${id} and ${isListed(sql, isAdmin(sql, reader.user))} and ${mayHear(sql, reader)}
      ), held as (
        select heard.id, h.public_key
        from heard join key_holders h on h.id = ${holder} and h.user_id = ${reader.user}
        where not is_erased and h.accepted_at is not null and (${isAdmin(sql, reader.user)} or (
          h.accepted_at <= heard.started_at and (not was_required or exists (
            select from memberships m
            where m.user_id = ${reader.user} and m.talkgroup_id = heard.talkgroup_id and m.first_epoch <= heard.epoch))))
      ), found as (
        select heard.id, heard.talkgroup_id, heard.user_id, heard.crypto, heard.is_erased, held.public_key, exists (
                 select from talkgroups t where t.id = heard.talkgroup_id and t.master_since <= heard.epoch) as has_secret
        from heard left join held on true
      ), noted as (
        insert into recording_reads (reader_id, reader_name, recording_id, of_key)
        select u.id, u.username, found.id, true from found, users u
        where u.id = ${reader.user} and public_key is not null and has_secret
      )
      select talkgroup_id, user_id, crypto, is_erased, has_secret, public_key from found`,
  );
  if (row === undefined) return null;
  const { talkgroup_id: talkgroup, user_id: talker, crypto, public_key: publicKey } = row;
  if (row.is_erased || talker === null) return 'erased';
  if (crypto === null) return 'clear';
  if (publicKey === null) return 'no_holder';
  return row.has_secret ? { talkgroup, talker, crypto, publicKey } : 'lost';
}
