// Judges how a burst may be encrypted. Pure: the hot path compares two numbers that follow from it.
import type { Crypto } from '../../protocol/bodies.js';
import type { CryptoRefusal, Encryption } from '../../protocol/codes.js';
import { ENCRYPTED } from '../../protocol/frame.js';
import type { EpochVerdict } from './epochs.js';

/** The burst that is to begin, its talker, and its talkgroup. */
export interface Judged {
  readonly encryption: Encryption;
  /** As the talker announced it. null: it did not. */
  readonly crypto: Crypto | null;
  /** Of `crypto`. */
  readonly epoch: EpochVerdict;
  readonly mayHaveKeys: boolean;
  /** The talker has an open emergency, and the talkgroup lets it talk in the clear. */
  readonly mayBeClear: boolean;
}

/** Why the burst may not begin, before its first frame. null: it may. */
export function judgeBurst(judged: Judged): Exclude<CryptoRefusal, 'encryption_unannounced'> | null {
  const { encryption, crypto, epoch, mayHaveKeys, mayBeClear } = judged;
  if (crypto === null) {
    if (encryption !== 'required' || mayBeClear) return null;
    return mayHaveKeys ? 'encryption_required' : 'keys_forbidden';
  }
  if (encryption === 'off') return 'encryption_off';
  if (encryption === 'required' && !mayHaveKeys) return 'keys_forbidden';
  return epoch === 'accepted' ? null : 'stale_epoch';
}

/** The first two bytes of a frame: flags and epoch. `(bytes & mask) === bits` in each frame with a payload. */
export interface Expected {
  readonly mask: number;
  readonly bits: number;
}

const ENCRYPTED_BIT = ENCRYPTED << 8;

/** What all frames of a burst must have. In `allowed`, a burst without `crypto` may be encrypted in a way of its clients. */
export function expectedOf(encryption: Encryption, crypto: Crypto | null): Expected {
  if (crypto !== null) return { mask: ENCRYPTED_BIT | 0xff, bits: ENCRYPTED_BIT | (crypto.epoch & 0xff) };
  return { mask: encryption === 'allowed' ? 0 : ENCRYPTED_BIT, bits: 0 };
}

export const fits = (bytes: number, { mask, bits }: Expected) => (bytes & mask) === bits;

/** Why a frame does not fit its burst. */
export function misfitOf(bytes: number, encryption: Encryption): CryptoRefusal {
  if ((bytes & ENCRYPTED_BIT) === 0) return 'encryption_required';
  return encryption === 'off' ? 'encryption_off' : 'encryption_unannounced';
}

export const isSameCrypto = (one: Crypto | null, other: Crypto | null) =>
  one?.suite === other?.suite && one?.epoch === other?.epoch && one?.salt === other?.salt;
