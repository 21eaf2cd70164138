// Sessions that may be resumed: their tokens, and those whose socket is gone, for a while.
import { hash, randomFillSync } from 'node:crypto';
import type { UserId } from '../ids.js';
import type { Counts } from './counts.js';
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
  readonly counts: Counts;
}

const TOKEN_BYTES = 16;
/** Random bytes are taken from the system for so many tokens at once: one by one they cost more than a signature. */
const TOKENS_AT_ONCE = 256;

export function createParking({ keepMs, max, maxOfUser, giveUp, counts }: ParkingOptions): Parking {
  /** By the hash of the token: what we hold resumes nothing. */
  const byHash = new Map<string, Session>();
  /** When it was parked, the oldest first. */
  const parked = new Map<Session, number>();
  const random = Buffer.alloc(TOKENS_AT_ONCE * TOKEN_BYTES);
  let randomAt = random.length;

  function newToken(): string {
    if (randomAt === random.length) {
      randomFillSync(random);
      randomAt = 0;
    }
    const at = randomAt;
    randomAt += TOKEN_BYTES;
    return random.toString('base64url', at, randomAt);
  }

  function forget(session: Session): void {
    if (session.resumeKey !== null) byHash.delete(session.resumeKey);
    session.resumeKey = null;
    parked.delete(session);
  }

  const sinceOf = (session: Session) => parked.get(session) ?? 0;

  function giveUpFirst([oldest]: Iterable<Session>): void {
    if (oldest === undefined) return;
    counts.forgotten++;
    giveUp(oldest);
  }

  return {
    tokenFor(session) {
      forget(session);
      const token = newToken();
      const key = hashOf(token);
      byHash.set(key, session);
      session.resumeKey = key;
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
const hashOf = (token: string) => hash('sha256', token, 'binary');
