// Opens encrypted recordings. It neither uses nor changes the replay window and the accepted epochs of live speech.
import { fromBase64url, type Primitives, SUITE } from '../../protocol/encryption.js';
import { ENCRYPTED, type Frame } from '../../protocol/frame.js';
import { decodeSframeHeader, deriveSframeKey, KEY_IDS, metadataFrom } from '../../protocol/sframe.js';
import type { Crypto } from '../../protocol/types.js';
import type { Rest, RestError } from '../rest.js';
import { type Holder, openRecordingKey } from './holder.js';
import type { UnopenedReason } from './opening.js';

/**
 * Why a frame of a recording is not open. `no_key`: the service gave no key, because this key holder was accepted later, or the
 * key was destroyed. The others are those of live speech.
 */
export type UnopenedRecorded = Extract<
  UnopenedReason,
  'no_key' | 'suite' | 'changed' | 'repeated' | 'clear' | 'unannounced'
>;

/** What opening needs of a recording. */
export type EncryptedRecording = {
  readonly recording_id: string;
  /** Left out: the talker announced no encryption. */
  readonly crypto?: Crypto;
};

/** Opens one frame, as it was relayed: its payload, or why there is none. */
export type OpenRecorded = (frame: Frame) => Uint8Array | UnopenedRecorded;

/** Opens encrypted recordings with the private key of a key holder. */
export type KeysOfRecordings = {
  /**
   * Fetches the key of the recording, and resolves with what opens its frames once, in their order. Rejects with RestError
   * while the service gives no answer, or has too much to do.
   */
  opener(recording: EncryptedRecording): Promise<OpenRecorded>;
};

export type RecordingKeysOptions = {
  /** See createRest. */
  rest: Pick<Rest, 'get'>;
  /** An accepted key holder of the user. */
  holder: Holder;
};

/** It keeps no key. */
export function recordingKeysWith(
  primitives: Pick<Primitives, 'hkdf' | 'aes128Gcm'>,
  { rest, holder }: RecordingKeysOptions,
): KeysOfRecordings {
  return {
    async opener({ recording_id: recordingId, crypto }) {
      if (!crypto) return openUnannounced;
      if (crypto.suite !== SUITE) return closedBecause('suite');
      const baseKey = await keyOf(recordingId);
      return baseKey === null ? closedBecause('no_key') : openWith(primitives, { baseKey, crypto });
    },
  };

  /** null: this holder may not have it, or it is sealed for another one. */
  async function keyOf(recordingId: string): Promise<Uint8Array | null> {
    const path = `/recordings/${encodeURIComponent(recordingId)}/key?holder_id=${holder.holderId}`;
    const answer = await rest.get<Answer>(path).catch((error: RestError): Answer => {
      if (NO_KEY.has(error.status)) return {};
      throw error;
    });
    const [enc, sealed] = [answer.enc, answer.sealed].map((text) =>
      typeof text === 'string' ? fromBase64url(text) : null,
    );
    return enc && sealed ? openRecordingKey(holder, { enc, sealed, recordingId }) : null;
  }
}

/** As a service may answer it that lies. */
type Answer = { readonly enc?: unknown; readonly sealed?: unknown };

/** `recording_key_not_found` or `recording_not_found`, and `recording_key_lost` or `recording_erased`. */
const NO_KEY = new Set([404, 410]);

const openUnannounced: OpenRecorded = ({ flags, payload }) =>
  (flags & ENCRYPTED) === 0 ? payload : 'unannounced';

/** A relay may have written an END without speech. */
const closedBecause =
  (reason: UnopenedRecorded): OpenRecorded =>
  ({ flags, payload }) => {
    if ((flags & ENCRYPTED) !== 0) return reason;
    return payload.byteLength === 0 ? payload : 'clear';
  };

function openWith(
  primitives: Pick<Primitives, 'hkdf' | 'aes128Gcm'>,
  { baseKey, crypto }: { baseKey: Uint8Array; crypto: Crypto },
): OpenRecorded {
  const key = deriveSframeKey(primitives, { baseKey, keyId: crypto.epoch % KEY_IDS });
  const closed = closedBecause('changed');
  /** The highest counter that opened: a frame that is stored twice is heard once. */
  let highest = -1;
  return (frame) => {
    const header = (frame.flags & ENCRYPTED) === 0 ? null : decodeSframeHeader(frame.payload);
    if (!header) return closed(frame);
    const isFitting = (header.counter & 0xffff) === frame.sequence && frame.epoch === (crypto.epoch & 0xff);
    const payload = isFitting ? key.open(metadataFrom(frame), frame.payload) : null;
    if (!payload) return 'changed';
    if (header.counter <= highest) return 'repeated';
    highest = header.counter;
    return payload;
  };
}
