// Keeps all sessions of this relay. A bug that one of them meets ends this session alone.
import { closes } from '../../protocol/closes.js';
import type { Clock } from '../clock.js';
import type { Ask } from '../delivery/ask.js';
import type { Counts } from '../figures/counts.js';
import type { Talk } from '../floor/talk.js';
import type { Talkgroup } from '../members/members.js';
import type { Unanswered } from '../reception/receiver.js';
import type { Session } from '../session/session.js';

export interface SessionsOptions {
  readonly counts: Pick<Counts, 'failed'>;
  readonly clock: Pick<Clock, 'soon'>;
  /** Those that owe an answer to a ping. */
  readonly unanswered: Set<Unanswered>;
  /** No token resumes the session any more. */
  readonly unresumable: (session: Session) => void;
  /** The session is over. */
  readonly ended: (session: Session) => void;
  readonly log: { error(fields: object, message: string): void };
}

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions(options: SessionsOptions) {
  const { counts, clock, unanswered, unresumable, ended, log } = options;
  const byNumber = new Map<number, Session>();

  function fail(session: Session, error: unknown): void {
    counts.failed++;
    log.error({ session: session.number, err: error }, 'session failed');
    try {
      session.close(closes.internal);
    } catch (again) {
      log.error({ session: session.number, err: again }, 'failed session not closed');
    }
    if (byNumber.has(session.number)) abandon(session);
  }

  /** Its end threw half way: each part that knows it forgets it, whatever the others do. No caller above could catch a throw. */
  function abandon(session: Session): void {
    for (const forget of [
      ...session.abandoning(),
      () => unresumable(session),
      () => unanswered.delete(session.reception),
      () => session.user.sessions.delete(session),
      () => end(session),
    ]) {
      try {
        forget();
      } catch (error) {
        log.error({ session: session.number, err: error }, 'failed session not cleaned up');
      }
    }
  }

  function end(session: Session): void {
    byNumber.delete(session.number);
    ended(session);
  }

  function attempt(session: Session, act: () => void): void {
    try {
      act();
    } catch (error) {
      fail(session, error);
    }
  }

  function failNumber(number: number, error: unknown): void {
    const session = byNumber.get(number);
    if (session !== undefined) return fail(session, error);
    counts.failed++;
    log.error({ session: number, err: error }, 'session failed');
  }

  /** A session that is over by then, by another such bug or by itself, needs nothing. */
  function failLater(number: number, error: unknown): void {
    const session = byNumber.get(number);
    clock.soon(() => {
      if (session !== undefined && byNumber.get(number) === session) fail(session, error);
    });
  }

  return {
    /** Live ones, and those that may still be resumed. */
    byNumber: byNumber as ReadonlyMap<number, Session>,
    add(session: Session): void {
      byNumber.set(session.number, session);
    },
    /** The session is over, and no client can resume it. */
    end,
    /** A bug in what is done for this session: it alone ends. */
    fail,
    /** The same of the session with this number. */
    failNumber,
    /** The same in the next turn of the loop. */
    failLater,
    /** A throw ends this session alone. */
    attempt,
    /** Does it in the next turn of the loop. A throw ends this session alone. */
    later: (session: Session, act: () => void) => clock.soon(attempt, session, act),
    /** The talk of the session with this number there. */
    talkOf: (number: number, talkgroup: Talkgroup): Talk | undefined =>
      byNumber.get(number)?.talkAt(talkgroup.number),
    /** What the talk asked is answered, and what its session sent there meanwhile goes on. */
    answered: (talk: Talk, ask: Ask, nowMs: number) =>
      byNumber.get(talk.sender)?.uplink.answered(talk, ask, nowMs),
  };
}
