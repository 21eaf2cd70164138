// The relay: sessions, their rights and their talk, put together behind one listener.

import type { VerifyToken } from '../auth/tokens.js';
import type { Notice } from '../db/notices.js';
import type { Account } from '../talk/store.js';
import { type Close, closes } from './closes.js';
import { type Counts, newCounts } from './counts.js';
import { createFanout, type Peer, type Publisher } from './fanout.js';
import type { Membership, Talkgroup } from './members.js';
import { say } from './messages.js';
import { createRights, type Loaded, type Rights, type RightsReads } from './rights.js';
import { type House, Session } from './session.js';
import type { RightsEffects } from './settle.js';

export interface RelayOptions {
  readonly verifyToken: VerifyToken;
  /** false: the database is not yet known to be ours to read. */
  readonly started: () => boolean;
  readonly reads: RightsReads;
  /** The next session number, or null while there is none: before the start, and when the database gives no more. */
  readonly takeNumber: () => number | null;
  readonly publisher: Publisher;
  readonly limits: House['limits'] & {
    readonly socketsPerUser: number;
    readonly upgradesLoading: number;
    readonly upgradesWaiting: number;
  };
  readonly storeFix: House['storeFix'];
  readonly talkgroupNumbered: (number: number) => Promise<boolean>;
  readonly log: House['log'];
  /** Monotonic milliseconds; passed in by tests. */
  readonly nowMs?: () => number;
}

/** The claims of a token, null when it was refused. */
export type Verified = ReturnType<VerifyToken>;

/** What a handshake gets: a session to open, or the close to answer with. */
export type Admission = { readonly session: Session; readonly account: Account } | { readonly close: Close };

export interface Relay {
  readonly counts: Counts;
  readonly verifyToken: VerifyToken;
  /** Loads what the session of a verified token needs; `done` is called exactly once, with null claims at once. */
  admit(claims: Verified, done: (admission: Admission) => void): void;
  /** The handshake completed: the session says WELCOME. Must follow `done` in the same step. */
  open(session: Session, peer: Peer, account: Account): void;
  /** A socket is gone. */
  closed(session: Session, code: number): void;
  /** A callback of this session threw: it alone ends. */
  fail(session: Session, error: unknown): void;
  notice(notice: Notice): Promise<void>;
  gap(): void;
  /** Says GOAWAY to all, closes every socket with 1012, admits nobody any more. */
  close(): void;
}

/** T1 and load deadlines are judged ten times a second. */
const TICK_MS = 100;
/** Told to the radios of a server that goes; they add jitter of their own. */
const RECONNECT_AFTER_MS = 1000;

export function createRelay(options: RelayOptions): Relay {
  const { verifyToken, takeNumber, limits, log, nowMs = () => performance.now() } = options;
  const fanout = createFanout(options.publisher);
  const counts = newCounts();
  let closing = false;

  const rights: Rights = createRights({
    reads: options.reads,
    effects: effectsOn(fanout.event),
    nowMs,
    batch: limits.upgradesLoading,
    waitingMax: limits.upgradesLoading + limits.upgradesWaiting,
    log,
  });

  const house: House = {
    limits,
    fanout,
    counts,
    log,
    nowMs,
    storeFix: options.storeFix,
    talkgroupExists: async (number) => rights.hasNumber(number) || options.talkgroupNumbered(number),
    ended(session) {
      rights.drop(session.user.id);
    },
  };

  // Timers run before sockets are read: judged right away, a stalled server would take its own pause for silence.
  // setImmediate runs after them.
  const tick = setInterval(() => setImmediate(judge), TICK_MS);

  function judge(): void {
    try {
      judgeNow(nowMs());
    } catch (error) {
      log.error({ err: error }, 'tick failed');
    }
  }

  function judgeNow(now: number): void {
    rights.expire();
    for (const talkgroup of rights.talkgroups.values()) {
      for (const talk of talkgroup.talking) {
        if (now - talk.lastFrameAtMs >= limits.talkSilenceMs) talk.session.endBurst(talk, 'silence');
      }
    }
  }

  function admit(claims: Verified, done: (admission: Admission) => void): void {
    if (claims === null) return done({ close: closes.invalid_token });
    if (closing || !options.started()) return done({ close: closes.overloaded });
    rights.load(claims.sub, (loaded) => done(seat(loaded, claims.iat)));
  }

  function seat(loaded: Loaded, issuedAt: number): Admission {
    if (loaded.kind === 'failed') return { close: closes.overloaded };
    if (loaded.kind === 'unknown') return { close: closes.unknown_user };
    const { account, user } = loaded;
    const refused = refusalOf(account, issuedAt);
    if (refused !== null) return { close: refused };
    const number = takeNumber();
    if (number === null) return { close: closes.overloaded };
    return { session: new Session(house, number, user, issuedAt), account };
  }

  function open(session: Session, peer: Peer, account: Account): void {
    const { user } = session;
    // First of all: a user whose last session is closed is held no longer, and this one would stand outside.
    user.sessions.add(session);
    if (user.sessions.size > limits.socketsPerUser) longestSilent(session)?.close(closes.replaced);
    session.open(peer, account);
    log.info({ session: session.number, user: session.user.id }, 'connected');
  }

  return {
    counts,
    verifyToken,
    admit,
    open,
    closed: (session, code) => session.closed(code),
    fail(session, error) {
      counts.failed++;
      log.error({ session: session.number, err: error }, 'session failed');
      session.close(closes.internal);
    },
    async notice(notice) {
      return rights.notice(notice);
    },
    gap: rights.gap,
    close() {
      closing = true;
      clearInterval(tick);
      rights.close();
      fanout.all(say.goaway(RECONNECT_AFTER_MS));
      for (const user of [...rights.users.values()]) {
        for (const session of [...user.sessions]) session.close(closes.restart);
      }
    },
  };
}

/** What a read says about a token that once was good. */
function refusalOf(account: Account | null, issuedAt: number): Close | null {
  if (account === null) return closes.unknown_user;
  if (issuedAt < account.valid_from) return closes.invalid_token;
  return account.device_active ? null : closes.device_disabled;
}

/** Of the user's other sessions, so that a flapping phone never locks itself out. */
function longestSilent(newest: Session): Session | null {
  let oldest: Session | null = null;
  for (const session of newest.user.sessions) {
    if (session !== newest && (oldest === null || session.heardAtMs < oldest.heardAtMs)) oldest = session;
  }
  return oldest;
}

function effectsOn(event: (talkgroup: Talkgroup, make: (event: number) => string) => void): RightsEffects {
  const each = ({ user }: Membership, act: (session: Session) => void) => {
    for (const session of [...user.sessions]) act(session);
  };
  return {
    withdrawn: (membership) => each(membership, (session) => session.unhear(membership.talkgroup)),
    granted: (membership) => each(membership, (session) => session.hear(membership.talkgroup)),
    missed: (user) => {
      for (const session of [...user.sessions]) session.resync();
    },
    joined: (membership) =>
      each(membership, (session) => {
        session.hear(membership.talkgroup);
        session.send(say.talkgroupJoined(session.snapshot(membership.talkgroup)));
      }),
    left: (membership) => each(membership, (session) => dismiss(session, membership.talkgroup, 'left')),
    deleted: (talkgroup) => {
      // All bursts end before anybody is dismissed, so that every member hears of every end.
      for (const talk of [...talkgroup.talking]) talk.session.forget(talkgroup, 'deleted');
      for (const membership of talkgroup.memberships)
        each(membership, (session) => dismiss(session, talkgroup, 'deleted'));
    },
    rotated: (talkgroup) => event(talkgroup, (number) => say.keyRotated(talkgroup, number)),
    checked: (user, account) => {
      for (const session of [...user.sessions]) {
        const refused = refusalOf(account, session.issuedAt);
        if (refused !== null) session.close(refused, 'disabled');
      }
    },
  };
}

function dismiss(session: Session, talkgroup: Talkgroup, reason: 'left' | 'deleted'): void {
  session.forget(talkgroup, reason);
  session.unhear(talkgroup);
  session.send(say.talkgroupLeft(talkgroup, reason));
}
