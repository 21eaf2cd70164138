// Sessions that may be resumed: their tokens, and those whose socket is gone, for a while.
import { hash, randomFillSync } from 'node:crypto';
import type { UserId } from '../../ids.js';
import type { Counts } from '../figures/counts.js';
import { createParked } from './parked.js';

/** A session as it is kept for its return. */
export interface Resumable {
  readonly user: { readonly id: UserId };
  /** By which it is found. null: no token resumes it. */
  resumeKey: string | null;
}

export interface Parking<Session extends Resumable> {
  /** A new token for the session, 128 random bits; the one before is void. */
  tokenFor(session: Session): string;
  /** The session this token resumes, of this user only; the token stays valid. */
  find(token: string, user: UserId): Session | null;
  /** Its socket is gone: kept for its return. Beyond `maxOfUser` its user's longest parked is given up, beyond `max` that
   * of the user with the most. */
  park(session: Session, nowMs: number): void;
  /** It has a socket again. */
  unpark(session: Session): void;
  /** It is over: its token is void. */
  forget(session: Session): void;
  /** Gives up those whose time is over. */
  expire(nowMs: number): void;
}

export interface ParkingOptions<Session> {
  /** How long one is kept. */
  readonly keepMs: number;
  readonly max: number;
  /** Of one user. */
  readonly maxOfUser: number;
  readonly giveUp: (session: Session) => void;
  readonly counts: Pick<Counts, 'forgotten'>;
}

const TOKEN_BYTES = 16;
/** Random bytes are taken from the system for so many tokens at once: one by one they cost more than a signature. */
const TOKENS_AT_ONCE = 256;

export function createParking<Session extends Resumable>({
  keepMs,
  max,
  maxOfUser,
  giveUp,
  counts,
}: ParkingOptions<Session>): Parking<Session> {
  /** By the hash of the token: what we hold resumes nothing. */
  const byHash = new Map<string, Session>();
  const parked = createParked<Session>();
  /** When each of them was parked (ms), the longest parked first. */
  const since = new Map<Session, number>();
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
    unpark(session);
  }

  function unpark(session: Session): void {
    since.delete(session);
    parked.remove(session);
  }

  function evict(session: Session | undefined): void {
    if (session === undefined) return;
    counts.forgotten++;
    giveUp(session);
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
      since.set(session, nowMs);
      parked.add(session);
      if (parked.countOf(session.user) > maxOfUser) evict(parked.firstOf(session.user));
      if (parked.size > max) evict(parked.next());
    },
    unpark,
    forget,
    expire(nowMs) {
      for (const [session, sinceMs] of since) {
        if (nowMs - sinceMs < keepMs) return;
        giveUp(session);
      }
    },
  };
}

/** Raw bytes as text, for the shortest key. */
const hashOf = (token: string) => hash('sha256', token, 'binary');
