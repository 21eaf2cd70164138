// The relay's one timer: pings, talk that ended by time, receivers that are late, and what else is due now and then.
import { type Histogram, newHistogram, observe } from '../histogram.js';
import type { Fanout } from './fanout.js';
import type { Floors } from './floors.js';
import { markHeld } from './held.js';
import type { FairClock } from './lag.js';
import type { Talkgroup } from './members.js';
import { HEARD_MS } from './reception.js';
import type { Sampling } from './sampling.js';
import type { Session } from './session.js';

export interface PulseOptions {
  readonly nowMs: () => number;
  readonly fair: FairClock;
  readonly fanout: Pick<Fanout, 'hearers'>;
  readonly floors: Floors;
  readonly sampling: Sampling;
  readonly sessions: ReadonlyMap<number, Session>;
  readonly unanswered: ReadonlySet<Session>;
  /** Each receiver of audio is pinged so often; 0: only those that are behind already, when their buffer empties. */
  readonly pingMs: number;
  /** A look at this session threw: it alone ends, and the others have their turn. */
  readonly fail: (session: Session, error: unknown) => void;
  /** Up to ten times a second, after the sockets were read. */
  readonly often: (nowMs: number) => void;
  /** Once a second at most. */
  readonly seldom: readonly ((nowMs: number) => void)[];
  readonly log: { error(fields: object, message: string): void };
}

export interface Pulse {
  readonly figures: PulseFigures;
  stop(): void;
}

/** Plain numbers, as the pulse finds them in passing. */
export interface PulseFigures {
  /** How late each pulse came: what everything on this thread waits for its turn. */
  readonly delay: Histogram;
  /** Lag of the slowest receiver that owes an answer. */
  lagMsMax: number;
}

/** From what a timer is late on an idle machine to a stall that everybody hears. */
export const LOOP_DELAYS_MS = [1, 2.5, 5, 10, 20, 50, 100, 250, 500, 1000, 2500];

/**
 * Pings are spread over the second, each time a twentieth of the sessions. Waking up costs a tenth of a millisecond,
 * whatever there is to do: at 20 ms an idle relay used 1 % of a core.
 */
export const PULSE_MS = 50;
/** By the clock all of them, for under load the timer comes late. */
const OFTEN_MS = 100;
const SELDOM_MS = 1000;
/** After a long stall the pings that it left out are not sent all at once. */
const PINGS_LATE_MS_MAX = 100;
/** In one turn of the loop, at 10 µs each: with 10,000 receivers 500 are due at once, and frames do not wait for them. */
const PINGS_EACH_TURN = 100;

export function startPulse(options: PulseOptions): Pulse {
  const { nowMs, fair, fanout, floors, sampling, sessions, unanswered, pingMs, fail, often, seldom, log } =
    options;
  const figures: PulseFigures = { delay: newHistogram(LOOP_DELAYS_MS), lagMsMax: 0 };
  let dueAtMs = nowMs() + PULSE_MS;
  let oftenAtMs = nowMs();
  let seldomAtMs = oftenAtMs;
  let pingedAtMs = oftenAtMs;
  /** When last a mark found new frames anywhere. */
  let heardAtMs = Number.NEGATIVE_INFINITY;
  let walk = sessions.values();
  /** Sessions whose turn it is, and the fraction carried over: a single one is pinged once a second, not each time. */
  let due = 0;
  let isPinging = false;
  /** Talkgroups with frames since their last mark, or soon. */
  const marked = new Set<Talkgroup>();

  const timer = setInterval(() => {
    const now = nowMs();
    observe(figures.delay, now - dueAtMs);
    dueAtMs = now + PULSE_MS;
    guarded(mark);
    guarded(ping);
    const isJudging = now - oftenAtMs >= OFTEN_MS;
    // A frame of this turn would be timed until after `judge`, which is none of its way.
    sampling.isArmed = true;
    sampling.isTimed = !isJudging;
    if (!isJudging) return;
    oftenAtMs = now;
    // Timers run before sockets are read: judged right away, a stalled server would take its own pause for silence.
    // setImmediate runs after them.
    setImmediate(guarded, judge);
  }, PULSE_MS);

  function guarded(act: (now: number) => void): void {
    try {
      act(nowMs());
    } catch (error) {
      log.error({ err: error }, 'pulse failed');
    }
  }

  function ofSession(session: Session, act: (session: Session) => void): void {
    try {
      act(session);
    } catch (error) {
      fail(session, error);
    }
  }

  /** Before the sockets are read: nothing published is still on its way to a socket's buffer. */
  function mark(now: number): void {
    fair.tick(now);
    for (const talkgroup of floors.active) marked.add(talkgroup);
    let framesIn = 0;
    let framesOut = 0;
    for (const talkgroup of marked) {
      const isSettled = markHeld(talkgroup);
      if (talkgroup.relayed !== talkgroup.relayedAtMark) {
        framesIn += talkgroup.relayed - talkgroup.relayedAtMark;
        framesOut += (talkgroup.relayed - talkgroup.relayedAtMark) * receiversIn(talkgroup);
        talkgroup.relayedAtMark = talkgroup.relayed;
        talkgroup.heardAtMs = now;
        heardAtMs = now;
      } else if (isSettled && !floors.active.has(talkgroup)) marked.delete(talkgroup);
    }
    sampling.add(framesIn, framesOut);
  }

  /** Of one frame: all who are given the audio, live or held, but its talker. */
  function receiversIn({ live, held }: Talkgroup): number {
    let count = live.size;
    for (const { topic } of held ?? []) count += fanout.hearers(topic);
    return Math.max(0, count - 1);
  }

  function ping(now: number): void {
    const isQuiet = now - heardAtMs > HEARD_MS && unanswered.size === 0;
    // Else the first frame after a silence would find all of them due.
    if (isQuiet) pingedAtMs = now;
    if (isQuiet || pingMs === 0) return;
    // Turns are longer than pulses: what is left of the last pulse goes at once, or ever more would be left.
    if (isPinging) pingDue(now, due);
    due += (sessions.size * Math.min(now - pingedAtMs, PINGS_LATE_MS_MAX)) / pingMs;
    pingedAtMs = now;
    if (!isPinging) pingSome(now);
  }

  function pingSome(now: number): void {
    isPinging = false; // also if one throws
    pingDue(now, PINGS_EACH_TURN);
    if (due < 1) return;
    isPinging = true;
    setImmediate(guarded, pingSome);
  }

  function pingDue(now: number, max: number): void {
    const text = String(fair.at(now));
    for (let left = max; due >= 1 && left > 0; due--, left--) {
      let next = walk.next();
      if (next.done === true) {
        walk = sessions.values();
        next = walk.next();
      }
      if (next.done !== true) ofSession(next.value, ({ reception }) => reception.pulse(now, text));
    }
  }

  function judge(now: number): void {
    // A burst of this very turn may be over already: `expire` lets its talkgroup go before the next mark.
    for (const talkgroup of floors.active) marked.add(talkgroup);
    // Each by itself: whatever throws in one is no reason to leave out the others.
    guarded(floors.expire);
    guarded(judgeReceivers);
    guarded(often);
    if (now - seldomAtMs >= SELDOM_MS) {
      seldomAtMs = now;
      for (const act of seldom) guarded(act);
    }
    sampling.isArmed = true;
    sampling.isTimed = true;
  }

  function judgeReceivers(now: number): void {
    const fairMs = fair.at(now);
    figures.lagMsMax = 0;
    for (const session of unanswered) {
      ofSession(session, ({ reception }) => {
        reception.judge(fairMs);
        figures.lagMsMax = Math.max(figures.lagMsMax, reception.lagMs(fairMs));
      });
    }
  }

  return {
    figures,
    stop() {
      clearInterval(timer);
      due = 0; // nor do turns to come go on with it
    },
  };
}
