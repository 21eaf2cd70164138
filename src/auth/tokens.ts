// Reads, verifies and signs the JSON Web Token of the seed, with the same rules for REST and WebSocket.
import { createSigner, createVerifier, TokenError } from 'fast-jwt';
import { readId, type UserId } from '../ids.js';

export type Role = 'admin' | 'user';

/** Who a token speaks for. `iat` is Unix seconds. There is no `exp` (seed, Authentication 5). */
export interface Claims {
  readonly sub: UserId;
  readonly username: string;
  readonly role: Role;
  readonly iat: number;
}

/** A token's claims, or null when its signature, its header or a claim's type is wrong. Synchronous. */
export type VerifyToken = (token: string) => Claims | null;

/** HS256 pinned in both directions, whatever a token's header says. */
export const signing = { algorithm: 'HS256' } as const;
export const verification = {
  algorithms: ['HS256' as const],
  requiredClaims: ['sub', 'username', 'role', 'iat'],
};

/** Keys of the tokens, at least 32 bytes each: the first signs, all of them verify, so that the first can be replaced. */
export type TokenKeys = readonly [current: string, ...previous: string[]];

/** Signs tokens without REST, for the command line. */
export const createTokenSigner = (key: string): ((claims: Claims) => string) =>
  createSigner({ key, ...signing });

/** The verifier of REST and WebSocket. A token of the first key costs one check, and so does a malformed one. */
export function createTokenVerifier(keys: TokenKeys): VerifyToken {
  const verifiers = keys.map((key) => createVerifier({ key, ...verification }));
  return (token) => {
    for (const verify of verifiers) {
      try {
        return readClaims(verify(token));
      } catch (error) {
        // Expected: every broken, forged or foreign token. Of these only the last kind may be another key's.
        if ((error as TokenError).code !== TokenError.codes.invalidSignature) return null;
      }
    }
    return null;
  };
}

/** Checks the claims' types: a signature says who wrote them, not that they make sense. */
export function readClaims(payload: unknown): Claims | null {
  if (typeof payload !== 'object' || payload === null) return null;
  const { sub, username, role, iat } = payload as Record<string, unknown>;
  const id = readId<UserId>(sub);
  if (id === null || typeof username !== 'string' || !Number.isSafeInteger(iat)) return null;
  if (role !== 'admin' && role !== 'user') return null;
  return { sub: id, username, role, iat: iat as number };
}
