// The JSON Web Token of the seed: one set of rules for both doors.
import { createVerifier } from 'fast-jwt';
import { readId, type UserId } from '../ids.js';

export type Role = 'admin' | 'user';

/** Who a token speaks for. `iat` is Unix seconds; there is no `exp` (seed, Authentication 5). */
export interface Claims {
  readonly sub: UserId;
  readonly username: string;
  readonly role: Role;
  readonly iat: number;
}

/** A token's claims, or null when its signature, its header or a claim's type is wrong. Synchronous. */
export type VerifyToken = (token: string) => Claims | null;

/** HS256 pinned in both directions; @fastify/jwt in the REST door and fast-jwt in the relay get the same options. */
export const signing = { algorithm: 'HS256' } as const;
export const verification = {
  algorithms: ['HS256' as const],
  requiredClaims: ['sub', 'username', 'role', 'iat'],
};

/** The verifier for a listener without fastify; @fastify/jwt wraps the very same library. */
export function createTokenVerifier(secret: string): VerifyToken {
  const verify = createVerifier({ key: secret, ...verification });
  return (token) => {
    try {
      return readClaims(verify(token));
    } catch {
      // Expected: every broken, forged or foreign token.
      return null;
    }
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

/** Now, or the moment before which the user's tokens are refused, whichever is later (Unix seconds). */
export const issuedAt = (nowMs: number, validFrom: number) => Math.max(Math.floor(nowMs / 1000), validFrom);
