// Controls the floor for the sessions of this relay: tells the authority what they want, give up and lose.
import type { UserId } from '../../ids.js';
import type { Ref } from '../../protocol/bodies.js';
import { Ask, type WaitingText } from '../delivery/ask.js';
import { isInEmergency, type Membership, type Talkgroup } from '../members/members.js';
import type { Authority, ClaimEvent, OnVerdicts } from './authority.js';
import type { Bursts } from './bursts.js';
import { DISPATCHER_PRIORITY_MAX, FRAME_PRIORITY } from './claim.js';
import type { MovedBurst } from './moved-burst.js';
import type { Removal } from './state.js';
import { forget, hasPart, isTalking, type Talk } from './talk.js';

/** After the relay itself answered a question with `retry_later`, the session may ask again after this time (ms). */
const RETRY_MS = 200;

export interface FloorControlOptions {
  /** Decides while the relay is alone. */
  readonly authority: Authority;
  /** Where the verdicts go. */
  readonly onVerdicts: OnVerdicts;
  readonly bursts: Bursts;
  /** T1. */
  readonly talkSilenceMs: number;
  readonly log: { error(fields: object, message: string): void };
}

/** What FLOOR_REQUEST asks for. */
interface Request {
  readonly priority: number;
  readonly queue: boolean;
  readonly ref: Ref | undefined;
}

/** Called by sessions, requests, permissions, emergencies and the relay's timer. */
export type FloorControl = ReturnType<typeof createFloorControl>;

export function createFloorControl(options: FloorControlOptions) {
  const { onVerdicts, bursts, talkSilenceMs, log } = options;
  let { authority } = options;
  const claimOf = ({ session, membership }: Talk, priority: number) => ({
    session: session.number,
    user: membership.user.id,
    priority: membership.user.isAdmin ? priority : Math.min(priority, DISPATCHER_PRIORITY_MAX),
    isAdmin: membership.user.mayDispatch,
    inEmergency: isInEmergency(membership),
  });

  /** Puts a question. The answer may have come when this returns. */
  function ask(talk: Talk, question: Ask, event: ClaimEvent, nowMs: number): void {
    talk.ask = question;
    authority.tell(talk.talkgroup, [event], nowMs);
    question.isLate = true;
  }

  /** Gives up what the talk has, waits for or asks for. */
  function release(talk: Talk, code: 'released' | 'silence', nowMs: number): void {
    if (!hasPart(talk)) return;
    authority.tell(talk.talkgroup, [{ kind: 'release', session: talk.session.number, code }], nowMs);
    answerAlone(talk, nowMs);
  }

  function remove(talk: Talk, code: Removal, nowMs: number): readonly WaitingText[] {
    if (!hasPart(talk)) return [];
    const texts = talk.ask?.takeTexts() ?? [];
    authority.tell(talk.talkgroup, [{ kind: 'removed', session: talk.session.number, code }], nowMs);
    answerAlone(talk, nowMs);
    return texts;
  }

  /** What the talk asks was withdrawn, so the authority does not answer it. The frames behind it are discarded. */
  function answerAlone({ ask, session, talkgroup }: Talk, nowMs: number): void {
    if (ask === null) return;
    ask.isHeld = false;
    const { isFirstFrame } = ask;
    const answer = { session: session.number, code: 'retry_later', retryMs: RETRY_MS, isFirstFrame } as const;
    onVerdicts(talkgroup, [{ kind: 'denied', ...answer }], nowMs);
  }

  function expireIn(talkgroup: Talkgroup, nowMs: number): void {
    for (const talk of bursts.in(talkgroup)) {
      // T1 does not run while the socket is dead: the floor is kept for the return, however long the talker was silent.
      const isCounted = talk.session.isLive || hasReturnedSilent(talk);
      if (isCounted && nowMs - talk.lastFrameAtMs >= talkSilenceMs) release(talk, 'silence', nowMs);
    }
    authority.expire(talkgroup, nowMs);
  }

  return {
    /** Talkgroups where a burst runs, or ran a moment ago, and those with a floor that is not free. */
    *active(): Iterable<Talkgroup> {
      yield* authority.active();
      yield* bursts.remoteLately();
    },

    /** The first frame of a burst. The answer begins the burst, or tells the talker why not. While it is out, `talk.ask` is set. */
    begin(talk: Talk, nowMs: number): void {
      if (talk.claim === 'none') talk.claim = 'asks';
      const event = { kind: 'frame', claim: claimOf(talk, FRAME_PRIORITY) } as const;
      ask(talk, new Ask(true, undefined), event, nowMs);
    },

    /** FLOOR_REQUEST. The answer is FLOOR_GRANTED, FLOOR_DENIED or FLOOR_QUEUED. */
    request(talk: Talk, { priority, queue, ref }: Request, nowMs: number): void {
      talk.hasAsked = true;
      talk.isMuted = false;
      if (talk.claim === 'none' || talk.claim === 'waits') talk.claim = 'asks';
      const event = { kind: 'request', claim: claimOf(talk, priority), queue } as const;
      ask(talk, new Ask(false, ref), event, nowMs);
    },

    /** The burst of a session that comes from another relay. false: it may not go on, and no member is told. */
    goOn(talk: Talk, moved: MovedBurst, nowMs: number): boolean {
      talk.claim = 'asks';
      talk.burst = moved.burst;
      talk.codec = moved.codec ?? null;
      talk.crypto = moved.crypto ?? null;
      talk.moved = moved;
      authority.tell(talk.talkgroup, [{ kind: 'frame', claim: claimOf(talk, moved.priority) }], nowMs);
      talk.moved = null;
      const goesOn = isTalking(talk);
      if (!goesOn) forget(talk);
      return goesOn;
    },

    release,

    /** The permission to talk there is revoked. Returns the texts that waited for an answer, for the caller to answer. */
    remove,

    /** The permission to talk there is in doubt: it asks for nothing. What it has it keeps. */
    withdraw(talk: Talk, nowMs: number): void {
      if (talk.claim === 'asks') release(talk, 'released', nowMs);
    },

    /** The sockets of a user send too much: of the bursts with these memberships the one that began last ends. */
    endNewest(memberships: Iterable<Membership>, nowMs: number): void {
      let newest: Talk | null = null;
      for (const membership of memberships) {
        for (const talk of bursts.in(membership.talkgroup)) {
          const isNewer = newest === null || talk.startedAtMs >= newest.startedAtMs;
          if (talk.membership === membership && isNewer) newest = talk;
        }
      }
      if (newest !== null) remove(newest, 'rate_limited', nowMs);
    },

    /** The socket died. In `open`, and `forGood`, everything ends. Else it is kept for a while, and a question goes on. */
    lose(talk: Talk, forGood: boolean, nowMs: number): void {
      if (!hasPart(talk)) return;
      if (forGood) talk.ask?.takeTexts();
      authority.tell(talk.talkgroup, [{ kind: 'lost', session: talk.session.number, forGood }], nowMs);
      if (forGood) answerAlone(talk, nowMs);
    },

    /** Its session has another socket, and gets the messages again that may have been lost with the old one. */
    returned(talk: Talk, nowMs: number): void {
      if (!hasPart(talk)) return;
      if (talk.claim === 'talks' && !hasReturnedSilent(talk)) {
        // T1 begins again, because its next frame is a round trip away.
        talk.lastFrameAtMs = nowMs;
        talk.relayedAtReturn = talk.relayed;
      }
      authority.tell(talk.talkgroup, [{ kind: 'returned', session: talk.session.number }], nowMs);
    },

    /** This one decides from now on. Before the first session. */
    decideWith(shared: Authority): void {
      authority = shared;
    },

    /** The talkgroup is deleted: all bursts end before a member is told, and no session is granted the floor. */
    close: (talkgroup: Talkgroup, nowMs: number) => authority.close(talkgroup, nowMs),

    /** Its floor mode or talk limit changed. */
    change: (talkgroup: Talkgroup, nowMs: number) => authority.change(talkgroup, nowMs),

    /** Encryption is required there from now on: bursts that are not end, but for those of open emergencies. */
    endUnencrypted(talkgroup: Talkgroup, nowMs: number): void {
      for (const talk of [...bursts.in(talkgroup)])
        if (talk.crypto === null && !isInEmergency(talk.membership)) remove(talk, 'mode', nowMs);
    },

    /** An emergency of the user there was raised or cleared. */
    followEmergency(talkgroup: Talkgroup, user: UserId, inEmergency: boolean, nowMs: number): void {
      const sessions = new Set<number>();
      for (const membership of talkgroup.memberships) {
        if (membership.user.id !== user) continue;
        for (const { number } of membership.user.sessions) sessions.add(number);
      }
      authority.tell(talkgroup, [{ kind: 'emergency', sessions, inEmergency }], nowMs);
    },

    /** Ends what took too long: T1, T2, unused grants, floors kept for a return. Called after the sockets were read. */
    expire(nowMs: number): void {
      for (const talkgroup of authority.active()) {
        try {
          expireIn(talkgroup, nowMs);
        } catch (error) {
          // A bug: the timers of the other talkgroups go on.
          log.error({ talkgroup: talkgroup.id, err: error }, 'talkgroup timers failed');
        }
      }
    },

    /** Running bursts, and places in the queues of all floors. */
    figures: () => ({ bursts: bursts.count, queued: authority.queued() }),
  };
}

/** It returned and sent no frame since: T1 runs, and neither the end of its socket nor another return stops T1. */
const hasReturnedSilent = ({ relayed, relayedAtReturn }: Talk) => relayed === relayedAtReturn;
