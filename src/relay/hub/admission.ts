// Admits a client with a verified token: reads what its session needs, and opens a new session or continues one.
import { createBuckets } from '../../buckets.js';
import type { UserId } from '../../ids.js';
import { type Close, closes } from '../../protocol/closes.js';
import type { Peer } from '../delivery/peer.js';
import { type Counts, countHandshake } from '../figures/counts.js';
import { type LiveSession, named, type User } from '../members/members.js';
import type { Loaded } from '../rights/loads.js';
import { refusalOf } from '../rights/refusal.js';
import type { Parking } from '../session/parking.js';
import type { Session } from '../session/session.js';
import type { createArrivals } from './arrivals.js';
import type { Moving } from './moving.js';
import type { From, Rejections } from './rejections.js';
import type { Sessions } from './sessions.js';

/** The claims of a verified token that are read here. */
export interface Claims {
  readonly sub: UserId;
  /** Unix seconds. */
  readonly iat: number;
}

/** What a handshake brought. */
export interface Handshake {
  readonly from: From;
  /** null: the token was rejected. */
  readonly claims: Claims | null;
  /** The token of the session that the client would continue. null: none. */
  readonly resume: string | null;
}

/** What a handshake gets: a session to open, or the close to answer with. */
export type Admission<S> = Seat<S> | { readonly close: Close };

/** A session to open: a new one, or one that the client continues. */
export interface Seat<S> {
  readonly from: From;
  readonly session: S;
  readonly isResumed: boolean;
  readonly issuedAt: number;
}

/** A handshake with a token that is valid. */
type Arriving = Pick<Handshake, 'resume' | 'from'> & { readonly issuedAt: number };

export interface AdmissionOptions {
  /** false: the relay must not read the database yet. */
  readonly started: () => boolean;
  readonly closing: () => boolean;
  /** Reads the user, and calls `done` exactly once. */
  readonly load: (user: UserId, done: (loaded: Loaded) => void) => void;
  /** Waits until WELCOME can name the talkers elsewhere. */
  readonly arrive: ReturnType<typeof createArrivals>['arrive'];
  /** Begins to look for the session that the client would continue at the other relays. null: none of them can have it. */
  readonly seek: Moving['seek'];
  /** The next session number. null while there is none: before the start, and when the database gives no more. */
  readonly takeNumber: () => number | null;
  readonly newSession: (number: number, user: User) => Session;
  readonly sessions: Sessions;
  readonly parking: Parking<Session>;
  readonly socketsPerUser: number;
  readonly rejections: Rejections;
  readonly nowMs: () => number;
  readonly counts: Counts;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

/**
 * Of one user at each relay: all its sockets twice, then 5 a second. Each takes a session number and a snapshot of all its
 * talkgroups: 3,600 to 4,160 a second were a third to half of a core.
 */
const HANDSHAKES_AT_ONCE = 64;
const HANDSHAKES_PER_MINUTE = 300;

export function createAdmission(options: AdmissionOptions) {
  const { started, closing, load, arrive, seek, takeNumber, newSession } = options;
  const { sessions, parking, socketsPerUser, rejections, nowMs, counts, log } = options;
  const atOnce = Math.max(HANDSHAKES_AT_ONCE, 2 * socketsPerUser);
  const handshakes = createBuckets({ atOnce, perMinute: HANDSHAKES_PER_MINUTE });
  function mayTry(who: string): boolean {
    const isFree = handshakes.waitMs(who, nowMs()) === 0;
    if (isFree) handshakes.take(who, nowMs());
    return isFree;
  }

  /** An exception is answered, too: else the client would wait until it takes the server for dead. */
  function seatOrClose(loaded: Loaded, arriving: Arriving): Admission<Session> {
    try {
      return seat(loaded, arriving);
    } catch (error) {
      log.error({ err: error }, 'admission failed');
      return { close: closes.internal };
    }
  }

  function seat(loaded: Loaded, { issuedAt, resume, from }: Arriving): Admission<Session> {
    if (closing()) return { close: closes.restart };
    if (loaded.kind === 'failed') return { close: closes.overloaded };
    if (loaded.kind === 'unknown') return { close: closes.unknown_user };
    const { account, user } = loaded;
    const refused = refusalOf(account, issuedAt);
    if (refused !== null) return { close: refused };
    const known = resume === null ? null : parking.find(resume, user.id);
    if (known !== null) return { session: known, isResumed: true, issuedAt, from };
    let number = takeNumber();
    // After 2^32 sessions the numbers begin again.
    while (number !== null && sessions.byNumber.has(number)) number = takeNumber();
    if (number === null) return { close: closes.overloaded };
    return { session: newSession(number, user), isResumed: false, issuedAt, from };
  }

  /** For one more socket of the user. */
  function closeLongestSilent({ sessions: all }: User): void {
    const live = [...all].filter((session) => session.isLive);
    const leaving = live.length >= socketsPerUser ? longestSilent(live) : undefined;
    const session = leaving && sessions.byNumber.get(leaving.number);
    if (session !== undefined) sessions.attempt(session, () => session.close(closes.replaced));
  }

  return {
    /** Reads what the session of a verified token needs. Calls `answer` exactly once, without claims at once. */
    admit({ claims, resume, from }: Handshake, answer: (admission: Admission<Session>) => void): void {
      const answered = countHandshake(counts);
      let username: string | null = null;
      const done = (admission: Admission<Session>) => {
        const close = 'close' in admission ? admission.close : null;
        answered(close);
        if (close !== null)
          rejections.add(
            {
              ...(claims !== null && { user: claims.sub, issuedAt: claims.iat }),
              ...(username !== null && { username }),
              ...from,
            },
            close,
          );
        answer(admission);
      };
      if (claims === null) return done({ close: closes.invalid_token });
      if (closing()) return done({ close: closes.restart });
      if (!started()) return done({ close: closes.overloaded });
      // A revoked token must not use up what its owner may have: until it is read it counts for itself.
      if (!mayTry(`${claims.sub} ${claims.iat}`)) return done({ close: closes.rate_limited });
      const issuedAt = claims.iat;
      const seeking = seek(resume, claims.sub);
      load(claims.sub, (loaded) => {
        if (loaded.kind === 'loaded') username = loaded.user.username;
        const settle = (refused: Close | null) =>
          done(refused === null ? seatOrClose(loaded, { issuedAt, resume, from }) : { close: refused });
        if (!mayCome(loaded, issuedAt)) return settle(null);
        if (!mayTry(claims.sub)) return settle(closes.rate_limited);
        arrive({ user: loaded.user, issuedAt, seeking }, settle);
      });
    },

    /** The session says WELCOME on this socket. Must follow the answer of `admit` in the same step. */
    open({ session, isResumed, issuedAt, from }: Seat<Session>, peer: Peer): void {
      const { user } = session;
      // First of all: a user whose last session is closed leaves memory, and this session would be outside.
      user.sessions.add(session);
      sessions.add(session);
      session.issuedAt = issuedAt;
      rejections.admitted(user.id);
      session.arrival = { ...from, atMs: nowMs(), isResumed };
      // Before another one is parked: beyond the limit the one parked longest is evicted, and that may be this one.
      parking.unpark(session);
      if (isResumed) counts.resumed++;
      if (!session.isLive) closeLongestSilent(user);
      session.open(peer, isResumed);
      counts.handshakes.admitted++;
      log.info({ session: session.number, ...named(user), isResumed, ...from }, 'session connected');
    },
  };
}

/** A token that is rejected asks no other relay. */
const mayCome = (loaded: Loaded, issuedAt: number): loaded is Extract<Loaded, { kind: 'loaded' }> =>
  loaded.kind === 'loaded' && refusalOf(loaded.account, issuedAt) === null;

/** The session to close for a new one: a phone whose network flaps never locks itself out. */
const longestSilent = (sessions: readonly LiveSession[]): LiveSession | undefined =>
  sessions.toSorted((one, other) => one.heardAtMs - other.heardAtMs)[0];
