// The relay's one timer: the pings that no frame brought, talk that ended by time, receivers that are late, and what
// else is due now and then.
import { LOOP_DELAYS_MS, newHistogram, observe } from '../histogram.js';
import type { Asking } from './asking.js';
import type { Fanout } from './delivery/fanout.js';
import { type Feed, markHeld } from './delivery/feed.js';
import type { PulseFigures } from './figures/present.js';
import type { Sampling } from './figures/sampling.js';
import type { Floors } from './floors.js';
import type { Talkgroup } from './members/members.js';
import type { FairClock } from './reception/fair-clock.js';
import type { Session } from './session.js';

export interface PulseOptions {
  readonly nowMs: () => number;
  readonly fair: FairClock;
  readonly fanout: Pick<Fanout, 'hearers'>;
  readonly floors: Floors;
  readonly sampling: Sampling;
  readonly asking: Asking;
  readonly unanswered: ReadonlySet<Session>;
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

/** Waking up costs a tenth of a millisecond, whatever there is to do: at 20 ms an idle relay used 1 % of a core. */
export const PULSE_MS = 50;
/** By the clock all of them, for under load the timer comes late. */
const OFTEN_MS = 100;
const SELDOM_MS = 1000;
export function startPulse(options: PulseOptions): Pulse {
  const { nowMs, fair, fanout, floors, sampling, asking, unanswered, fail, often, seldom, log } = options;
  const figures: PulseFigures = { delay: newHistogram(LOOP_DELAYS_MS), lagMsMax: 0 };
  let dueAtMs = nowMs() + PULSE_MS;
  let oftenAtMs = nowMs();
  let seldomAtMs = oftenAtMs;
  /** When last a mark found new frames anywhere. */
  let heardAtMs = Number.NEGATIVE_INFINITY;
  /** Talkgroups with frames since their last mark, or soon. */
  const marked = new Set<Talkgroup>();

  const timer = setInterval(() => {
    const now = nowMs();
    observe(figures.delay, now - dueAtMs);
    dueAtMs = now + PULSE_MS;
    guarded(mark);
    guarded((now) => asking.walk(now, heardAtMs));
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
      log.error({ err: error }, 'housekeeping failed');
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
      const { feed } = talkgroup;
      const isSettled = markHeld(feed);
      if (feed.relayed !== feed.relayedAtMark) {
        framesIn += feed.relayed - feed.relayedAtMark;
        framesOut += (feed.relayed - feed.relayedAtMark) * receiversIn(feed);
        feed.relayedAtMark = feed.relayed;
        feed.heardAtMs = now;
        heardAtMs = now;
      } else if (isSettled && !floors.active.has(talkgroup)) marked.delete(talkgroup);
    }
    sampling.add(framesIn, framesOut);
  }

  /** Of one frame: all who are given the audio, live or held, but its talker. */
  function receiversIn({ live, held }: Feed): number {
    let count = live.size;
    for (const { topic } of held ?? []) count += fanout.hearers(topic);
    return Math.max(0, count - 1);
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
      asking.stop();
    },
  };
}
