// Sessions that may be resumed: their tokens, and those whose socket is gone, for a while.
import { createHash, randomBytes } from 'node:crypto';
import type { UserId } from '../ids.js';
import type { Session } from './session.js';

export interface Parking {
  /** A new token for the session, 128 random bits; the one before is void. */
  tokenFor(session: Session): string;
  /** The session this token resumes, of this user only; the token stays valid. */
  find(token: string, user: UserId): Session | null;
  /** Its socket is gone: kept for its return. Beyond the limits its user's, or of all, the longest parked is given up. */
  park(session: Session, nowMs: number): void;
  /** It has a socket again. */
  unpark(session: Session): void;
  /** It is over: its token is void. */
  forget(session: Session): void;
  /** Gives up those whose time is over. */
  expire(nowMs: number): void;
}

export interface ParkingOptions {
  /** How long one is kept. */
  readonly keepMs: number;
  readonly max: number;
  /** Of one user: nobody pushes out the others. */
  readonly maxOfUser: number;
  readonly giveUp: (session: Session) => void;
}

const TOKEN_BYTES = 16;

export function createParking({ keepMs, max, maxOfUser, giveUp }: ParkingOptions): Parking {
  /** By the hash of the token: what we hold resumes nothing. */
  const byHash = new Map<string, Session>();
  const hashes = new Map<Session, string>();
  /** When it was parked, the oldest first. */
  const parked = new Map<Session, number>();

  function forget(session: Session): void {
    const hash = hashes.get(session);
    if (hash !== undefined) byHash.delete(hash);
    hashes.delete(session);
    parked.delete(session);
  }

  const sinceOf = (session: Session) => parked.get(session) ?? 0;

  function giveUpFirst([oldest]: Iterable<Session>): void {
    if (oldest !== undefined) giveUp(oldest);
  }

  return {
    tokenFor(session) {
      forget(session);
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const hash = hashOf(token);
      byHash.set(hash, session);
      hashes.set(session, hash);
      return token;
    },
    find(token, user) {
      const session = byHash.get(hashOf(token));
      return session?.user.id === user ? session : null;
    },
    park(session, nowMs) {
      parked.set(session, nowMs);
      const own = [...session.user.sessions].filter((one) => parked.has(one));
      if (own.length > maxOfUser) giveUpFirst(own.sort((one, other) => sinceOf(one) - sinceOf(other)));
      if (parked.size > max) giveUpFirst(parked.keys());
    },
    unpark(session) {
      parked.delete(session);
    },
    forget,
    expire(nowMs) {
      for (const [session, sinceMs] of parked) {
        if (nowMs - sinceMs < keepMs) return;
        giveUp(session);
      }
    },
  };
}

/** Raw bytes as text, for the shortest key. */
const hashOf = (token: string) => createHash('sha256').update(token).digest('binary');
