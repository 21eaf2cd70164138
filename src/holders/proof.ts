// The proof of an accepted key holder that accepts another one: what only its private key opens.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { HolderId } from '../ids.js';
import { acceptanceAad, fromBase64url } from '../protocol/encryption.js';

/** `by` accepts `holder`. */
export interface AcceptancePair {
  readonly by: HolderId;
  readonly holder: HolderId;
}

export type Proofs = ReturnType<typeof createProofs>;

/**
 * 32 bytes for each pair of key holders, the same on all nodes, and stored by none. `keys` are those of the tokens. They need no end: who knows them has
 * opened the challenge, and accepting again changes nothing.
 */
export function createProofs(keys: readonly [current: string, ...previous: string[]]) {
  const derived = keys.map((key) => createHmac('sha256', key).update('proof of a key holder').digest());
  const [current = Buffer.alloc(0)] = derived; // there is one
  const proof = (key: Buffer, pair: AcceptancePair) =>
    createHmac('sha256', key).update(acceptanceAad(pair)).digest();
  return {
    of: (pair: AcceptancePair): Buffer => proof(current, pair),
    /** Also one of a key before, so that the keys of tokens can be replaced meanwhile. */
    isRight(pair: AcceptancePair, text: string): boolean {
      const given = fromBase64url(text);
      return derived.some((key) => {
        const right = proof(key, pair);
        return given?.byteLength === right.length && timingSafeEqual(given, right);
      });
    },
  };
}
