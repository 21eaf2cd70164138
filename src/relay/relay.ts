// The relay: sessions, their rights and their talk, put together behind one listener.
import type { VerifyToken } from '../auth/tokens.js';
import type { Notice } from '../db/notice.js';
import { type Close, closes } from '../protocol/closes.js';
import { createAsking } from './asking.js';
import { type Churn, createChurn } from './delivery/churn.js';
import { createFanout } from './delivery/fanout.js';
import { createHolding } from './delivery/holding.js';
import { type Peer, type Publisher, SERVICE_TOPIC } from './delivery/peer.js';
import { drain, drainMsMax } from './drain.js';
import { createEffects } from './effects.js';
import { createEmergencies, type EmergencyWrites } from './emergencies.js';
import { type Counts, countClose, countHandshake, newCounts } from './figures/counts.js';
import { createSampling } from './figures/sampling.js';
import { createFloors } from './floors.js';
import type { House } from './house.js';
import type { User } from './members/members.js';
import { say } from './messages.js';
import { createParking } from './parking.js';
import { createPresence } from './presence.js';
import { PULSE_MS, startPulse } from './pulse.js';
import { FairClock } from './reception/fair-clock.js';
import type { RelayFigures } from './relay-side.js';
import type { Loaded } from './rights/loads.js';
import { refusalOf } from './rights/refusal.js';
import { createRights, type Rights, type RightsReads } from './rights/rights.js';
import { Session } from './session.js';

export interface RelayOptions {
  readonly verifyToken: VerifyToken;
  /** false: the database is not yet known to be ours to read. */
  readonly started: () => boolean;
  readonly reads: RightsReads;
  /** The next session number, or null while there is none: before the start, and when the database gives no more. */
  readonly takeNumber: () => number | null;
  readonly publisher: Publisher;
  readonly limits: House['limits'] & {
    readonly lagPingMs: number;
    readonly sessionsParked: number;
    readonly drainMs: number;
    readonly socketsPerUser: number;
    readonly upgradesLoading: number;
    readonly upgradesWaiting: number;
  };
  readonly emergencyWrites: EmergencyWrites;
  readonly storeFix: House['storeFix'];
  readonly log: House['log'];
  /** Monotonic milliseconds; passed in by tests. */
  readonly nowMs?: () => number;
}

/** The claims of a token, null when it was refused. */
export type Verified = ReturnType<VerifyToken>;

/** What a handshake brought. */
export interface Handshake {
  readonly claims: Verified;
  /** The token of the session it would go on with. */
  readonly resume: string | null;
}

/** What it gets: a session to open, one of before or a new one; or the close to answer with. */
export type Admission = Seat | { readonly close: Close };

export interface Seat {
  readonly session: Session;
  readonly isResumed: boolean;
  readonly issuedAt: number;
}

export interface Relay {
  readonly counts: Counts;
  readonly churn: Churn;
  /** For the metrics. */
  figures(): Pick<RelayFigures, 'counts' | 'sampled' | 'pulse' | 'present'>;
  readonly verifyToken: VerifyToken;
  /** Loads what the session of a verified token needs; `done` is called exactly once, with null claims at once. */
  admit(handshake: Handshake, done: (admission: Admission) => void): void;
  /** The session says WELCOME on this socket. Must follow `done` in the same step. */
  open(seat: Seat, peer: Peer): void;
  /** A socket is gone. */
  closed(session: Session, code: number): void;
  /** A callback of this session threw: it alone ends. */
  fail(session: Session, error: unknown): void;
  notice(notice: Notice): Promise<void>;
  gap(): void;
  /** Says GOAWAY to all and admits nobody any more; resolves when every socket was closed with 1012. */
  close(): Promise<void>;
  /** Behind `close`: resolves when what was announced is stored, or half a second later. */
  stored(): Promise<void>;
}

/** Behind the drain, for what ends after the sockets; radios add jitter of their own. */
const RECONNECT_AFTER_MS = 1000;

export function createRelay(options: RelayOptions): Relay {
  const { verifyToken, takeNumber, limits, log, nowMs = () => performance.now() } = options;
  const churn = createChurn(nowMs);
  const fanout = createFanout(options.publisher, churn);
  const counts = newCounts();
  const sampling = createSampling(nowMs);
  let closing = false;

  const sessions = new Map<number, Session>();
  const unanswered = new Set<Session>();
  const fair = new FairClock(PULSE_MS);
  const asking = createAsking({ nowMs, fair, sessions, unanswered, pingMs: limits.lagPingMs, fail, log });
  const holding = createHolding({ fanout, counts, nowMs, log });
  const floors = createFloors({
    fanout,
    counts,
    sessions,
    discard: (talk) => holding.discard(talk.feed, talk),
    talkSilenceMs: limits.talkSilenceMs,
    talkLimits: limits,
    failLater: (session, error) =>
      setImmediate(() => {
        // Unless it is over by then, by another one of its outcomes or by itself.
        if (sessions.get(session.number) === session) fail(session, error);
      }),
    log,
  });
  const presence = createPresence(fanout);
  const parking = createParking({
    keepMs: limits.resumeMs,
    max: limits.sessionsParked,
    maxOfUser: limits.socketsPerUser,
    giveUp: (session) => attempt(session, () => session.end('disconnected')),
    counts,
  });
  const rights: Rights = createRights({
    reads: options.reads,
    effects: createEffects({
      fanout,
      floors,
      discard: (talk) => holding.discard(talk.feed, talk),
      followEmergencies: (...shown) => emergencies.follow(...shown),
      nowMs,
      fail,
      log,
    }),
    nowMs,
    batch: limits.upgradesLoading,
    waitingMax: limits.upgradesLoading + limits.upgradesWaiting,
    log,
  });
  const emergencies = createEmergencies({
    writes: options.emergencyWrites,
    talkgroups: rights.talkgroups,
    fanout,
    floors,
    noticed: (notice) => void rights.notice(notice),
    nowMs,
    log,
  });

  const house: House = {
    limits,
    fanout,
    counts,
    sampling,
    asking,
    floors,
    holding,
    presence,
    emergencies,
    parking,
    talkgroups: rights.talkgroups,
    unanswered,
    log,
    nowMs,
    fair,
    storeFix: options.storeFix,
    fail,
    later,
    ended(session) {
      sessions.delete(session.number);
      rights.drop(session.user.id);
    },
  };

  const pulse = startPulse({
    nowMs,
    fair,
    fanout,
    floors,
    sampling,
    asking,
    unanswered,
    fail,
    often: () => rights.expire(),
    seldom: [() => presence.announce(), (now) => parking.expire(now)],
    log,
  });

  function admit({ claims, resume }: Handshake, answer: (admission: Admission) => void): void {
    const answered = countHandshake(counts);
    const done = (admission: Admission) => {
      answered('close' in admission ? admission.close : null);
      answer(admission);
    };
    if (claims === null) return done({ close: closes.invalid_token });
    if (closing) return done({ close: closes.restart });
    if (!options.started()) return done({ close: closes.overloaded });
    rights.load(claims.sub, (loaded) => done(seatOrClose(loaded, claims.iat, resume)));
  }

  /** A throw is answered, too: whoever knocked would else wait until he is taken for dead. */
  function seatOrClose(loaded: Loaded, issuedAt: number, resume: string | null): Admission {
    try {
      return seat(loaded, issuedAt, resume);
    } catch (error) {
      log.error({ err: error }, 'admission failed');
      return { close: closes.internal };
    }
  }

  function seat(loaded: Loaded, issuedAt: number, resume: string | null): Admission {
    if (closing) return { close: closes.restart };
    if (loaded.kind === 'failed') return { close: closes.overloaded };
    if (loaded.kind === 'unknown') return { close: closes.unknown_user };
    const { account, user } = loaded;
    const refused = refusalOf(account, issuedAt);
    if (refused !== null) return { close: refused };
    const known = resume === null ? null : parking.find(resume, user.id);
    if (known !== null) return { session: known, isResumed: true, issuedAt };
    const number = takeNumber();
    if (number === null) return { close: closes.overloaded };
    return { session: new Session(house, number, user), isResumed: false, issuedAt };
  }

  function open({ session, isResumed, issuedAt }: Seat, peer: Peer): void {
    const { user } = session;
    // First of all: a user whose last session is closed is held no longer, and this one would stand outside.
    user.sessions.add(session);
    sessions.set(session.number, session);
    session.issuedAt = issuedAt;
    // Before another one is parked: beyond the limit the one parked longest goes, and that may be this one.
    parking.unpark(session);
    if (isResumed) counts.resumed++;
    if (!session.isLive) makeRoom(user);
    session.open(peer, isResumed);
    counts.handshakes.admitted++;
    log.info({ session: session.number, user: session.user.id, isResumed }, 'session connected');
  }

  function fail(session: Session, error: unknown): void {
    counts.failed++;
    log.error({ session: session.number, err: error }, 'session failed');
    try {
      session.close(closes.internal);
    } catch (again) {
      log.error({ session: session.number, err: again }, 'failed session not closed');
    }
    if (sessions.has(session.number)) abandon(session);
  }

  /** Its end threw half way: each who knows it forgets it, whatever the others do. Nobody above could catch a throw. */
  function abandon(session: Session): void {
    for (const forget of [
      ...session.abandoning(),
      () => parking.forget(session),
      () => unanswered.delete(session),
      () => session.user.sessions.delete(session),
      () => house.ended(session),
    ]) {
      try {
        forget();
      } catch (error) {
        log.error({ session: session.number, err: error }, 'failed session not cleaned up');
      }
    }
  }

  /** A throw ends this session alone. */
  function attempt(session: Session, act: () => void): void {
    try {
      act();
    } catch (error) {
      fail(session, error);
    }
  }

  function later(session: Session, act: () => void): void {
    setImmediate(attempt, session, act);
  }

  /** For one more socket of the user. */
  function makeRoom(user: User): void {
    const others = [...user.sessions].filter((session) => session.isLive);
    const leaving = others.length >= limits.socketsPerUser ? longestSilent(others) : null;
    if (leaving !== null) attempt(leaving, () => leaving.close(closes.replaced));
  }

  function present(): RelayFigures['present'] {
    const active = [...floors.active];
    const live = fanout.hearers(SERVICE_TOPIC);
    return {
      sessions: live,
      parked: sessions.size - live,
      users: rights.users.size,
      talkgroups: rights.talkgroups.size,
      bursts: active.reduce((sum, { talking }) => sum + talking.size, 0),
      queued: active.reduce((sum, { floor }) => sum + floor.waiting.length, 0),
    };
  }

  return {
    counts,
    churn,
    figures: () => ({ counts, sampled: sampling.sampled, pulse: pulse.figures, present: present() }),
    verifyToken,
    admit,
    open,
    closed(session, code) {
      countClose(counts, code);
      session.closed(code);
    },
    fail,
    notice: async (notice) => rights.notice(notice),
    gap: rights.gap,
    async close() {
      closing = true;
      const msMax = drainMsMax(sessions, limits.drainMs);
      fanout.all(say.goaway(msMax + RECONNECT_AFTER_MS));
      await drain({
        sessions,
        msMax,
        close: (session) => attempt(session, () => session.close(closes.restart)),
      });
      rights.close();
      pulse.stop();
      holding.close();
    },
    stored: emergencies.close,
  };
}

/** The session to close for a new one: a flapping phone never locks itself out. */
const longestSilent = (sessions: readonly Session[]): Session | null =>
  sessions.toSorted((one, other) => one.heardAtMs - other.heardAtMs)[0] ?? null;
