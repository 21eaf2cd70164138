// Times the delivery of buffered audio: one timer for each window, for all talkgroups together, only while it is needed.
//
// uWebSockets.js joins the messages published to a socket within one turn of the loop into one write. So a receiver of
// ten talkgroups gets the audio buffered in all of them in one write.

import { encodeBundle } from '../../protocol/bundle.js';
import type { Clock, Timer } from '../clock.js';
import type { Counts } from '../figures/counts.js';
import type { Fanout } from './fanout.js';
import { type Feed, heldBy, topicOf } from './feed.js';
import type { Hearer } from './hearer.js';
import { Held, type Hold } from './held.js';
import type { Source } from './source.js';

export interface HoldingOptions {
  readonly fanout: Fanout;
  readonly counts: Counts;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

export type Holding = ReturnType<typeof createHolding>;

export function createHolding({ fanout, counts, clock, log }: HoldingOptions) {
  const windows = new Map<Hold, WindowTimer>();

  function open(feed: Feed, hold: Hold): Held {
    const known = heldBy(feed, hold);
    if (known !== undefined) return known;
    const topic = topicOf(feed, hold);
    const held: Held = new Held(hold, topic, feed.relayed, (...message) => publish(held, ...message));
    feed.held = [...(feed.held ?? []), held];
    return held;
  }

  /** Checks the permission again: buffered audio must not outlive it. */
  function publish(
    { topic, hold }: Held,
    source: Source,
    frames: readonly ArrayBuffer[],
    to: Hearer | null,
  ): void {
    if (!source.mayTalk()) {
      if (to === null) counts.discarded += frames.length; // for all
      return;
    }
    // A single frame needs no bundle.
    const messages = hold.bundled > 1 && frames.length > 1 ? [encodeBundle(frames)] : frames;
    for (const message of messages) {
      if (to === null) fanout.held(source.socket, topic, message);
      else to.give(message, source.socket);
    }
  }

  function keep(feed: Feed, source: Source, message: ArrayBuffer, nowMs: number): void {
    const frame = message.slice(0); // the engine takes its buffer back
    for (const held of feed.held ?? []) {
      timerOf(held.hold).watch(feed, held);
      held.put(source, frame, nowMs);
    }
  }

  function timerOf(hold: Hold): WindowTimer {
    let timer = windows.get(hold);
    if (timer === undefined) {
      timer = createWindowTimer(hold, {
        hears: ({ topic, isAwaited }) => isAwaited || fanout.hearers(topic) > 0,
        clock,
        log,
      });
      windows.set(hold, timer);
    }
    return timer;
  }

  return {
    /** The buffer for receivers with this hold. Frames relayed from now on go into it. */
    open,
    /** Keeps one relayed frame for all receivers of the talkgroup that are not live. */
    keep,
    /** Its burst or its permission was revoked: the buffered frames reach no receiver. */
    discard(feed: Feed, source: Source): void {
      for (const held of feed.held ?? []) counts.discarded += held.discard(source);
    },
    close(): void {
      for (const timer of windows.values()) timer.stop();
    },
  };
}

interface WindowTimerOptions {
  /** Whether this has a receiver. */
  readonly hears: (held: Held) => boolean;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

interface WindowTimer {
  /** A frame is about to be buffered there. */
  watch(feed: Feed, held: Held): void;
  stop(): void;
}

function createWindowTimer({ ms }: Hold, { hears, clock, log }: WindowTimerOptions): WindowTimer {
  const watched = new Map<Held, Feed>();
  let timer: Timer | null = null;

  function ring(): void {
    timer = null;
    try {
      expire(clock.nowMs() + EARLY_MS);
    } catch (error) {
      log.error({ err: error }, 'delivery of buffered audio failed');
    }
  }

  function expire(now: number): void {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [held, feed] of watched) {
      const dueMs = held.expire(now);
      if (dueMs !== null) nextMs = Math.min(nextMs, dueMs);
      const isHeard = hears(held);
      // The last receiver left: from the next frame on it costs the talkgroup nothing.
      if (!isHeard) close(feed, held);
      if (!isHeard || dueMs === null) watched.delete(held);
    }
    if (watched.size > 0) timer = clock.after(nextMs - now, ring);
  }

  return {
    watch(feed, held) {
      watched.set(held, feed);
      timer ??= clock.after(ms - EARLY_MS, ring);
    },
    stop() {
      if (timer !== null) clock.stop(timer);
    },
  };
}

/**
 * Node's timers may fire this much early (whole milliseconds of another clock), and more often this much late. They are
 * set this much earlier, so that buffered audio is sent when its window ends and not after it.
 */
const EARLY_MS = 1;

function close(feed: Feed, held: Held): void {
  const others = (feed.held ?? []).filter((one) => one !== held);
  feed.held = others.length === 0 ? null : others;
}
