// Seals the key of one recorded burst for a key holder. It follows from the master secret, also when its epoch is long over.
import assert from 'node:assert/strict';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { AppError } from '../errors.js';
import type { HolderId, TalkgroupId, UserId } from '../ids.js';
import type { Crypto } from '../protocol/bodies.js';
import {
  burstKey,
  epochSecret,
  fromBase64url,
  RECORDING_INFO,
  recordingAad,
} from '../protocol/encryption.js';
import { nodePrimitives } from '../protocol/node-primitives.js';
import type { Sealed } from './envelope.js';
import type { Sealing } from './sealing.js';
import { secretOfEpoch } from './store.js';
import type { Keyring } from './wrapping.js';

export interface RecordedBurst {
  readonly recording: string;
  readonly talkgroup: TalkgroupId;
  readonly talker: UserId;
  readonly crypto: Crypto;
  readonly holder: HolderId;
  /** Of the key holder, an uncompressed point of P-256 (65 bytes). */
  readonly publicKey: Uint8Array;
}

export interface BurstKeyOptions {
  readonly database: Database;
  readonly sealing: Sealing;
  readonly keyring: Pick<Keyring, 'unwrap'>;
  readonly log: { error(fields: object, message: string): void };
}

/** For GET /recordings/:id/key. The caller has judged who may have the key. */
export const createBurstKeys = ({ database, sealing, keyring, log }: BurstKeyOptions) => ({
  admit: (user: string) => sealing.admit(user),
  /**
   * One envelope. null: the database has no secret any more that the epoch follows from. Throws `too_many_keys` or
   * `sealing_unavailable`.
   */
  async seal(deadline: Deadline, burst: RecordedBurst): Promise<Sealed | null> {
    const { recording, talkgroup, talker, crypto, holder, publicKey } = burst;
    const { epoch: counter } = crypto;
    const stored = await secretOfEpoch(database, deadline, { talkgroup, counter });
    if (stored === null) return null;
    const master = keyring.unwrap(talkgroup, stored);
    if (typeof master === 'string') {
      log.error({ talkgroup, reason: master }, 'master secret not decrypted');
      throw new AppError('sealing_unavailable');
    }
    const salt = fromBase64url(crypto.salt);
    assert(salt !== null, 'the relay rejects any other salt');
    const secret = epochSecret(nodePrimitives, { master, talkgroupId: talkgroup, counter });
    const key = burstKey(nodePrimitives, { secret, salt, talkgroupId: talkgroup, userId: talker, counter });
    const aad = recordingAad({ recordingId: recording, holderId: holder });
    const [letter] = await sealing.seal(deadline, {
      ...{ publicKey, info: RECORDING_INFO },
      items: [{ secret: key, aad }],
    });
    assert(letter !== undefined, 'one envelope for each secret');
    return letter;
  },
});
