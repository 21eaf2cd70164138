// When held audio leaves: one timer for each window, for all talkgroups together, and only while something waits.
//
// The engine joins what is published to a socket within one turn of the loop into one write. So who hears ten talkgroups
// gets what waited in all of them in one.

import { encodeBundle } from '../protocol/bundle.js';
import type { Fanout } from './fanout.js';
import type { Counts } from './figures/counts.js';
import { type Hearer, Held, type Hold, heldBy } from './held.js';
import { mayTalk, type Talkgroup } from './members.js';
import type { Talk } from './talk.js';

export interface HoldingOptions {
  readonly fanout: Fanout;
  readonly counts: Counts;
  readonly nowMs: () => number;
  readonly log: { error(fields: object, message: string): void };
}

export type Holding = ReturnType<typeof createHolding>;

export function createHolding({ fanout, counts, nowMs, log }: HoldingOptions) {
  const clocks = new Map<Hold, Clock>();

  function open(talkgroup: Talkgroup, hold: Hold): Held {
    const known = heldBy(talkgroup, hold);
    if (known !== undefined) return known;
    const held: Held = new Held(hold, talkgroup, (...message) => publish(held, ...message));
    talkgroup.held = [...(talkgroup.held ?? []), held];
    return held;
  }

  /** Permission is asked again: what waits must not outlive it. */
  function publish(
    { topic, hold }: Held,
    talk: Talk,
    frames: readonly ArrayBuffer[],
    to: Hearer | null,
  ): void {
    const { session, membership } = talk;
    if (!mayTalk(membership)) {
      if (to === null) counts.discarded += frames.length; // for all
      return;
    }
    // One by itself needs no bundle.
    const messages = hold.bundled > 1 && frames.length > 1 ? [encodeBundle(frames)] : frames;
    for (const message of messages) {
      if (to === null) fanout.held(session.socket, topic, message);
      else to.session.reception.give(message, session.socket);
    }
  }

  function keep(talk: Talk, message: ArrayBuffer, nowMs: number): void {
    const { talkgroup } = talk;
    const frame = message.slice(0); // the engine takes its buffer back
    for (const held of talkgroup.held ?? []) {
      clockOf(held.hold).watch(talkgroup, held);
      held.put(talk, frame, nowMs);
    }
  }

  function clockOf(hold: Hold): Clock {
    let clock = clocks.get(hold);
    if (clock === undefined) {
      clock = createClock(hold, {
        hears: ({ topic, isAwaited }) => isAwaited || fanout.hearers(topic) > 0,
        nowMs,
        log,
      });
      clocks.set(hold, clock);
    }
    return clock;
  }

  return {
    /** The talkgroup's audio for those who are given it this way; what is relayed from here on comes there. */
    open,
    /** One relayed frame, for everybody in the talkgroup who is not live. */
    keep,
    /** Its burst was taken back, or its right is gone: what waits of it reaches nobody. */
    discard(talk: Talk): void {
      for (const held of talk.talkgroup.held ?? []) counts.discarded += held.discard(talk);
    },
    close(): void {
      for (const clock of clocks.values()) clock.stop();
    },
  };
}

interface ClockOptions {
  /** Whether anybody is given this. */
  readonly hears: (held: Held) => boolean;
  readonly nowMs: () => number;
  readonly log: { error(fields: object, message: string): void };
}

interface Clock {
  /** Something is about to wait there. */
  watch(talkgroup: Talkgroup, held: Held): void;
  stop(): void;
}

function createClock({ ms }: Hold, { hears, nowMs, log }: ClockOptions): Clock {
  const watched = new Map<Held, Talkgroup>();
  let timer: NodeJS.Timeout | null = null;

  function ring(): void {
    timer = null;
    try {
      expire(nowMs() + EARLY_MS);
    } catch (error) {
      log.error({ err: error }, 'delivery of buffered audio failed');
    }
  }

  function expire(now: number): void {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [held, talkgroup] of watched) {
      const dueMs = held.expire(now);
      if (dueMs !== null) nextMs = Math.min(nextMs, dueMs);
      const isHeard = hears(held);
      // The last receiver went since: from the next frame on the talkgroup pays nothing for it.
      if (!isHeard) close(talkgroup, held);
      if (!isHeard || dueMs === null) watched.delete(held);
    }
    if (watched.size > 0) timer = setTimeout(ring, nextMs - now);
  }

  return {
    watch(talkgroup, held) {
      watched.set(held, talkgroup);
      timer ??= setTimeout(ring, ms - EARLY_MS);
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/**
 * Node's timers may come that much before their time (whole milliseconds of another clock), and more often that much
 * behind it: they are set so much earlier, that what is held leaves with its window and not behind it.
 */
const EARLY_MS = 1;

function close(talkgroup: Talkgroup, held: Held): void {
  const others = (talkgroup.held ?? []).filter((one) => one !== held);
  talkgroup.held = others.length === 0 ? null : others;
}
