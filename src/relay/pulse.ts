// The relay's one timer: pings, talk that ended by time, receivers that are late, and what else is due now and then.
import type { Floors } from './floors.js';
import { markHeld } from './held.js';
import type { FairClock } from './lag.js';
import type { Talkgroup } from './members.js';
import { HEARD_MS } from './reception.js';
import type { Session } from './session.js';

export interface PulseOptions {
  readonly nowMs: () => number;
  readonly fair: FairClock;
  readonly floors: Floors;
  readonly sessions: ReadonlyMap<number, Session>;
  readonly unanswered: ReadonlySet<Session>;
  /** Each receiver of audio is pinged so often; 0: only those that are behind already, when their buffer empties. */
  readonly pingMs: number;
  /** Up to ten times a second, after the sockets were read. */
  readonly often: (nowMs: number) => void;
  /** Once a second at most. */
  readonly seldom: (nowMs: number) => void;
  readonly log: { error(fields: object, message: string): void };
}

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

/** Runs until the answered function is called. */
export function startPulse(options: PulseOptions): () => void {
  const { nowMs, fair, floors, sessions, unanswered, pingMs, often, seldom, log } = options;
  let oftenAtMs = nowMs();
  let seldomAtMs = oftenAtMs;
  let pingedAtMs = oftenAtMs;
  /** When last a mark found new frames anywhere. */
  let heardAtMs = Number.NEGATIVE_INFINITY;
  let walk = sessions.values();
  /** Sessions whose turn it is, and the fraction carried over: a single one is pinged once a second, not each time. */
  let due = 0;
  /** Talkgroups with frames since their last mark, or soon. */
  const marked = new Set<Talkgroup>();

  const timer = setInterval(() => {
    const now = nowMs();
    guarded(mark);
    guarded(ping);
    if (now - oftenAtMs < OFTEN_MS) return;
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

  /** Before the sockets are read: nothing published is still on its way to a socket's buffer. */
  function mark(now: number): void {
    fair.tick(now);
    for (const talkgroup of floors.active) marked.add(talkgroup);
    for (const talkgroup of marked) {
      const isSettled = markHeld(talkgroup);
      if (talkgroup.relayed !== talkgroup.relayedAtMark) {
        talkgroup.relayedAtMark = talkgroup.relayed;
        talkgroup.heardAtMs = now;
        heardAtMs = now;
      } else if (isSettled && !floors.active.has(talkgroup)) marked.delete(talkgroup);
    }
  }

  function ping(now: number): void {
    const isQuiet = now - heardAtMs > HEARD_MS && unanswered.size === 0;
    // Else the first frame after a silence would find all of them due.
    if (isQuiet) pingedAtMs = now;
    if (isQuiet || pingMs === 0) return;
    const text = String(fair.at(now));
    due += (sessions.size * Math.min(now - pingedAtMs, PINGS_LATE_MS_MAX)) / pingMs;
    pingedAtMs = now;
    for (; due >= 1; due--) {
      let next = walk.next();
      if (next.done === true) {
        walk = sessions.values();
        next = walk.next();
      }
      if (next.done !== true) next.value.reception.pulse(now, text);
    }
  }

  function judge(now: number): void {
    // A burst of this very turn may be over already: `expire` lets its talkgroup go before the next mark.
    for (const talkgroup of floors.active) marked.add(talkgroup);
    floors.expire(now);
    const fairMs = fair.at(now);
    for (const session of unanswered) session.reception.judge(fairMs);
    often(now);
    if (now - seldomAtMs < SELDOM_MS) return;
    seldomAtMs = now;
    seldom(now);
  }

  return () => clearInterval(timer);
}
