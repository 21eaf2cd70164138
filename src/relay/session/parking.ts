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
  /** A new token for the session: the id of this relay if it has one, and 128 random bits. The one before is void. */
  tokenFor(session: Session): string;
  /** The session this token resumes, of this user only. The token stays valid. */
  find(token: string, user: UserId): Session | null;
  /** The same by the key of the token. */
  at(key: string, user: UserId): Session | null;
  /** The session comes from another relay: the token with this key resumes it here. */
  adopt(session: Session, key: string): void;
  /** For how long the session is still kept (ms). null: it is not parked. */
  leftMs(session: Session, nowMs: number): number | null;
  /** Its socket is gone: kept for its return, at most for `leftMs`. Beyond `maxOfUser` its user's longest parked is given up,
   * beyond `max` that of the user with the most. */
  park(session: Session, nowMs: number, leftMs?: number): void;
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
  /** Id of this relay, which its tokens name. null: no other relay could fetch a session. */
  readonly relay?: () => number | null;
  readonly giveUp: (session: Session) => void;
  readonly counts: Pick<Counts, 'forgotten'>;
}

const RANDOM_BYTES = 16;
const RELAY_BYTES = 4;
/** Of a token that names its relay. */
const NAMED_TOKEN = /^[\w-]{27}$/;
/** Random bytes are taken from the system for so many tokens at once: one by one they cost more than a signature. */
const TOKENS_AT_ONCE = 256;

export function createParking<Session extends Resumable>({
  keepMs,
  max,
  maxOfUser,
  relay = () => null,
  giveUp,
  counts,
}: ParkingOptions<Session>): Parking<Session> {
  /** By the hash of the token: what we hold resumes nothing. */
  const byHash = new Map<string, Session>();
  const parked = createParked<Session>();
  /** When each of them was parked (ms), the longest parked first. */
  const since = new Map<Session, number>();
  /** The same of those that were parked at another relay before: they are few, and in no order. */
  const sinceElsewhere = new Map<Session, number>();
  const random = Buffer.alloc(TOKENS_AT_ONCE * RANDOM_BYTES);
  let randomAt = random.length;

  function newToken(): string {
    if (randomAt === random.length) {
      randomFillSync(random);
      randomAt = 0;
    }
    const at = randomAt;
    randomAt += RANDOM_BYTES;
    const id = relay();
    if (id === null) return random.toString('base64url', at, randomAt);
    const named = Buffer.alloc(RELAY_BYTES + RANDOM_BYTES);
    named.writeUInt32BE(id);
    random.copy(named, RELAY_BYTES, at, randomAt);
    return named.toString('base64url');
  }

  function at(key: string, user: UserId): Session | null {
    const session = byHash.get(key);
    return session?.user.id === user ? session : null;
  }

  function forget(session: Session): void {
    if (session.resumeKey !== null) byHash.delete(session.resumeKey);
    session.resumeKey = null;
    unpark(session);
  }

  function unpark(session: Session): void {
    since.delete(session);
    sinceElsewhere.delete(session);
    parked.remove(session);
  }

  function adopt(session: Session, key: string): void {
    byHash.set(key, session);
    session.resumeKey = key;
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
      adopt(session, keyOf(token));
      return token;
    },
    find: (token, user) => at(keyOf(token), user),
    at,
    adopt,
    leftMs(session, nowMs) {
      const sinceMs = since.get(session) ?? sinceElsewhere.get(session);
      return sinceMs === undefined ? null : Math.max(0, keepMs - (nowMs - sinceMs));
    },
    park(session, nowMs, leftMs = keepMs) {
      if (leftMs < keepMs) sinceElsewhere.set(session, nowMs - (keepMs - leftMs));
      else since.set(session, nowMs);
      parked.add(session);
      if (parked.countOf(session.user) > maxOfUser) evict(parked.firstOf(session.user));
      if (parked.size > max) evict(parked.next());
    },
    unpark,
    forget,
    expire(nowMs) {
      for (const [session, sinceMs] of sinceElsewhere) if (nowMs - sinceMs >= keepMs) giveUp(session);
      for (const [session, sinceMs] of since) {
        if (nowMs - sinceMs < keepMs) return;
        giveUp(session);
      }
    },
  };
}

/** By which a token is found. Raw bytes as text, for the shortest key. */
export const keyOf = (token: string) => hash('sha256', token, 'binary');

/** The relay that gave the token. null: it names none. */
export const relayOf = (token: string): number | null =>
  NAMED_TOKEN.test(token) ? Buffer.from(token, 'base64url').readUInt32BE() : null;
