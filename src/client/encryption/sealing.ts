// Seals the frames of one run: those between two moments at which the talker's sequence begins at 0.
import {
  burstKey,
  fromBase64url,
  type Primitives,
  SALT_BYTES,
  SUITE,
  toBase64url,
} from '../../protocol/encryption.js';
import { ENCRYPTED, encodeFrame } from '../../protocol/frame.js';
import { deriveSframeKey, KEY_IDS, metadataFrom } from '../../protocol/sframe.js';
import type { Crypto } from '../../protocol/types.js';

/** A frame before it is sealed. `sequence`: unwrapped, from 0. */
export type ClearFrame = { flags: number; sequence: number; talkgroup: number; payload: Uint8Array };

export type Run = {
  /** For FLOOR_REQUEST. */
  readonly crypto: Crypto;
  /** Whether a frame was sealed. */
  readonly hasBegun: boolean;
  /** The frame as it is sent. A frame once sealed counts as sent. Throws if a later frame was sealed before. */
  seal(frame: ClearFrame): Uint8Array<ArrayBuffer>;
};

/** Seals with one key. `next`: the least counter that it still takes. */
export type Sealer = {
  readonly next: number;
  /** Throws RangeError on a counter below `next`: AES-GCM with a nonce used twice gives the key of its tags away. */
  seal(counter: number, metadata: Uint8Array, plaintext: Uint8Array): Uint8Array<ArrayBuffer>;
};

/** The key stays inside, so nothing else can seal with it, and the counter cannot be set back. */
export function createSealer(primitives: Primitives, key: { baseKey: Uint8Array; keyId: number }): Sealer {
  const sframe = deriveSframeKey(primitives, key);
  let next = 0;
  return {
    get next() {
      return next;
    },
    seal(counter, metadata, plaintext) {
      if (!Number.isSafeInteger(counter) || counter < next) {
        throw new RangeError(`counter ${counter} was used: the next one is ${next}`);
      }
      // Before the bytes exist, so that a failure below cannot leave the counter free.
      next = counter + 1;
      return sframe.seal(counter, metadata, plaintext);
    },
  };
}

/** Begins a run with a new salt. `userId`: the talker, which is this radio's user. */
export function beginRun(
  primitives: Primitives,
  inputs: { secret: Uint8Array; talkgroupId: string; userId: string; counter: number },
): Run {
  const salt = primitives.randomBytes(SALT_BYTES);
  const { counter } = inputs;
  const baseKey = burstKey(primitives, { ...inputs, salt });
  const sealer = createSealer(primitives, { baseKey, keyId: counter % KEY_IDS });
  return {
    crypto: { suite: SUITE, epoch: counter, salt: toBase64url(salt) },
    get hasBegun() {
      return sealer.next > 0;
    },
    seal(frame) {
      const header = { ...frame, flags: frame.flags | ENCRYPTED, epoch: counter & 0xff };
      // The metadata has the low 16 bits of the sequence, as the header has.
      const metadata = metadataFrom({ ...header, sequence: frame.sequence & 0xffff });
      return encodeFrame({ ...header, payload: sealer.seal(frame.sequence, metadata, frame.payload) });
    },
  };
}

/** The salt of a burst as bytes. null: it is none. */
export function saltBytes({ salt }: Crypto): Uint8Array | null {
  const bytes = fromBase64url(salt);
  return bytes?.byteLength === SALT_BYTES ? bytes : null;
}
