// Runs the relay's one timer: pings that no frame brought, talk that ends by time, late receivers, and what else is due
// now and then.
import { LOOP_DELAYS_MS, newHistogram, observe } from '../../histogram.js';
import type { Clock } from '../clock.js';
import type { Fanout } from '../delivery/fanout.js';
import { type Feed, markHeld } from '../delivery/feed.js';
import type { PulseFigures } from '../figures/present.js';
import type { Sampling } from '../figures/sampling.js';
import type { FloorControl } from '../floor/control.js';
import type { Talkgroup } from '../members/members.js';
import type { FairClock } from '../reception/fair-clock.js';
import { HEARD_MS } from '../reception/hearing.js';
import type { Pings } from '../reception/pings.js';
import type { Unanswered } from '../reception/receiver.js';

export interface PulseOptions {
  readonly clock: Clock;
  readonly fair: FairClock;
  readonly fanout: Pick<Fanout, 'hearers'>;
  readonly floor: Pick<FloorControl, 'active' | 'expire'>;
  readonly sampling: Sampling;
  readonly pings: Pick<Pings, 'walk' | 'stop'>;
  readonly unanswered: ReadonlySet<Unanswered>;
  /**
   * This relay decides all floors, at once. Answers of others are judged by the pulse, and floor control does not call them
   * active.
   */
  readonly isAlone: () => boolean;
  /** Work on the session with this number threw: only this session ends, and the others have their turn. */
  readonly fail: (session: number, error: unknown) => void;
  /** Up to ten times a second, after the sockets were read. `lateMs`: how late the tick came. */
  readonly often: readonly ((nowMs: number, lateMs: number) => void)[];
  /** Once a second at most. */
  readonly seldom: readonly ((nowMs: number) => void)[];
  readonly log: { error(fields: object, message: string): void };
}

/** Waking up costs a tenth of a millisecond, whatever there is to do: at 20 ms an idle relay used 1 % of a core. */
export const PULSE_MS = 50;
/** While the relay is alone, no burst runs, no receiver owes an answer, and nothing was heard lately. */
const IDLE_PULSE_MS = 250;
/** By the clock all of them, for under load the timer comes late. */
const OFTEN_MS = 100;
const SELDOM_MS = 1000;
export function startPulse(options: PulseOptions) {
  const { clock, fair, fanout, floor, sampling, pings, unanswered, isAlone, fail, often, seldom, log } =
    options;
  const { nowMs } = clock;
  const figures: PulseFigures = { delay: newHistogram(LOOP_DELAYS_MS), lagMsMax: 0 };
  let dueAtMs = nowMs() + PULSE_MS;
  let oftenAtMs = nowMs();
  let seldomAtMs = oftenAtMs;
  /** When last a mark found new frames anywhere. */
  let heardAtMs = Number.NEGATIVE_INFINITY;
  /** Talkgroups with frames since their last mark, or soon. */
  const marked = new Set<Talkgroup>();

  let isStopped = false;
  let timer = clock.every(PULSE_MS, tick);
  let isSlow = false;

  function tick(): void {
    const now = nowMs();
    const lateMs = now - dueAtMs;
    observe(figures.delay, lateMs);
    guarded(mark);
    pace(now, isIdle(now));
    guarded((now) => pings.walk(now, heardAtMs));
    const isJudging = now - oftenAtMs >= OFTEN_MS;
    // A frame of this turn would be timed until after `judge`, which is none of its way.
    sampling.isArmed = true;
    sampling.isTimed = !isJudging;
    if (!isJudging) return;
    oftenAtMs = now;
    // Timers run before sockets are read: judged right away, a stalled server would take its own pause for silence.
    // `soon` runs after them. By the time of now, for the server may stall between the two as well.
    clock.soon(guarded, () => judge(now, lateMs));
  }

  const isIdle = (now: number) =>
    isAlone() && marked.size === 0 && unanswered.size === 0 && now - heardAtMs > HEARD_MS;

  /** From now on it is idle, or not. */
  function pace(now: number, isIdleNow: boolean): void {
    dueAtMs = now + (isIdleNow ? IDLE_PULSE_MS : PULSE_MS);
    fair.expect(dueAtMs);
    if (!isIdleNow && !isSlow) return; // its timer goes on
    clock.stop(timer);
    timer = isIdleNow ? clock.after(IDLE_PULSE_MS, tick) : clock.every(PULSE_MS, tick);
    isSlow = isIdleNow;
  }

  function guarded(act: (now: number) => void): void {
    try {
      act(nowMs());
    } catch (error) {
      log.error({ err: error }, 'housekeeping failed');
    }
  }

  /** Before the sockets are read: nothing published is still on its way to a socket's buffer. */
  function mark(now: number): void {
    fair.tick(now);
    for (const talkgroup of floor.active()) marked.add(talkgroup);
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
      } else if (isSettled) marked.delete(talkgroup); // the next mark adds active ones again
    }
    sampling.add(framesIn, framesOut);
  }

  /** Of one frame: all who are given the audio, live or held, but its talker. */
  function receiversIn({ live, held }: Feed): number {
    let count = live.size;
    for (const { topic } of held ?? []) count += fanout.hearers(topic);
    return Math.max(0, count - 1);
  }

  function judge(now: number, lateMs: number): void {
    // A burst of this very turn may be over already: `expire` lets its talkgroup go before the next mark.
    for (const talkgroup of floor.active()) marked.add(talkgroup);
    // Each by itself: whatever throws in one is no reason to leave out the others.
    guarded(() => floor.expire(now));
    guarded(judgeReceivers);
    for (const act of often) guarded((now) => act(now, lateMs));
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
    for (const receiver of unanswered) {
      try {
        receiver.judge(fairMs);
        figures.lagMsMax = Math.max(figures.lagMsMax, receiver.lagMs(fairMs));
      } catch (error) {
        fail(receiver.number, error);
      }
    }
  }

  return {
    figures,
    /** A burst begins or a receiver is pinged: from now on the relay is not idle. */
    wake(): void {
      if (isSlow && !isStopped) pace(nowMs(), false);
    },
    stop() {
      isStopped = true;
      clock.stop(timer);
      pings.stop();
    },
  };
}
