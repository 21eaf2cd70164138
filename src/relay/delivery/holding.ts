// Delivers audio: live audio at once or, while the relay is under load, with others, and buffered audio when its window
// ends. One timer for each window, for all talkgroups together, only while it is needed.
//
// uWebSockets.js joins the messages published to a socket within one turn of the loop into one write. So a receiver of
// ten talkgroups gets the audio buffered in all of them in one write.

import { encodeBundle } from '../../protocol/bundle.js';
import { EMERGENCY, END, START } from '../../protocol/frame.js';
import type { Clock, Timer } from '../clock.js';
import type { Counts } from '../figures/counts.js';
import type { Fanout } from './fanout.js';
import { type Feed, heldBy, topicOf } from './feed.js';
import type { Hearer } from './hearer.js';
import { Held, type Hold } from './held.js';
import type { LoadStep } from './load.js';
import type { Voice } from './peer.js';
import type { Source } from './source.js';

export interface HoldingOptions {
  readonly fanout: Pick<Fanout, 'absent' | 'audio' | 'hearers' | 'sendsToEach'>;
  readonly counts: Counts;
  /** Live audio of the talkgroup was sent, and `feed.askAtMs` has come. */
  readonly behindFrame: (feed: Feed, nowMs: number) => void;
  /** Live audio that waited in the talkgroup was sent. */
  readonly left: (feed: Feed) => void;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

export type Holding = ReturnType<typeof createHolding>;

/** Between two rings of the window under load (ms), because each looks at all talkgroups with speech. */
const LOAD_PAUSE_MS = 5;

/** The beginning and the end of a burst, and a call for help, are heard at once, whatever the load. */
const URGENT = START | END | EMERGENCY;

export function createHolding({ fanout, counts, behindFrame, left, clock, log }: HoldingOptions) {
  const windows = new Map<Hold, WindowTimer>();
  /** Of live receivers while the relay is under load. It has no name, because their topic stays. */
  const load = { name: '', ms: 0, bundled: 1, frames: 1 };
  const loadWindow = createWindowTimer(load, { hears: () => true, pauseMs: LOAD_PAUSE_MS, clock, log });
  let isUnderLoad = false;

  /** null: the buffer for live receivers. What was published to those lately may not be written yet. */
  function open(feed: Feed, hold: Hold | null): Held {
    const known = heldBy(feed, hold);
    if (known !== undefined) return known;
    const relayed = hold === null ? feed.relayedAtMark : feed.relayed;
    const held: Held = new Held(hold ?? load, topicOf(feed, hold), relayed, (...message) =>
      publish(feed, held, ...message),
    );
    if (hold === null) feed.waiting = held;
    else feed.held = [...(feed.held ?? []), held];
    return held;
  }

  /** Checks the permission again: buffered audio must not outlive it. */
  function publish(
    feed: Feed,
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
    const from = source.socket ?? fanout.absent;
    if (hold === load && to === null) return sendWaiting(from, feed, messages);
    for (const message of messages) {
      if (to === null) from.publish(topic, message, true);
      else to.give(message, from);
    }
  }

  function sendWaiting(from: Voice, feed: Feed, frames: readonly ArrayBuffer[]): void {
    const nowMs = clock.nowMs();
    for (const frame of frames) fanout.audio(from, feed, frame, nowMs);
    ask(feed, nowMs);
    left(feed);
  }

  /** Behind all frames of this moment: a receiver that is pinged is written to by itself. */
  function ask(feed: Feed, nowMs: number): void {
    if (nowMs >= feed.askAtMs) behindFrame(feed, nowMs);
  }

  /** Not an urgent frame, and none where least is gained: for one receiver, and in a churn. */
  function mayWait(feed: Feed, flags: number, nowMs: number): boolean {
    return (flags & URGENT) === 0 && feed.live.size > 1 && !fanout.sendsToEach(nowMs);
  }

  /** Keeps a copy for live receivers. false: it left at once, with those before it. */
  function wait(feed: Feed, source: Source, message: ArrayBuffer, nowMs: number): boolean {
    const waiting = feed.waiting ?? open(feed, null);
    loadWindow.watch(feed, waiting);
    const waits = waiting.put(source, message.slice(0), nowMs);
    if (waits) counts.framesHeld++;
    return waits;
  }

  return {
    /**
     * Sends a relayed frame with these flags to all live receivers but `from`, at once or, under load, with others. `source`
     * is its talker. The buffer may change afterwards. false: it waits.
     */
    live(
      from: Voice,
      feed: Feed,
      source: Source,
      message: ArrayBuffer,
      flags: number,
      nowMs: number,
    ): boolean {
      if (isUnderLoad) {
        if (mayWait(feed, flags, nowMs)) return !wait(feed, source, message, nowMs);
        feed.waiting?.flush(); // it was said before
      }
      fanout.audio(from, feed, message, nowMs);
      ask(feed, nowMs);
      return true;
    },
    /** From now on live audio is held this way. null: it is sent at once, and so is what waits. */
    follow(step: LoadStep | null): void {
      isUnderLoad = step !== null;
      if (step === null) return loadWindow.flush();
      load.ms = step.ms;
      load.frames = step.frames;
    },
    /** The buffer for receivers with this hold. Frames relayed from now on go into it. */
    open,
    /** Keeps one relayed frame for all receivers of the talkgroup that are not live. */
    keep(feed: Feed, source: Source, message: ArrayBuffer, nowMs: number): void {
      const frame = message.slice(0); // the engine takes its buffer back
      for (const held of feed.held ?? []) {
        timerOf(held.hold).watch(feed, held);
        held.put(source, frame, nowMs);
      }
    },
    /** Its burst or its permission was revoked: the buffered frames reach no receiver. */
    discard(feed: Feed, source: Source): void {
      counts.discarded += feed.waiting?.discard(source) ?? 0;
      for (const held of feed.held ?? []) counts.discarded += held.discard(source);
    },
    close(): void {
      loadWindow.stop();
      for (const timer of windows.values()) timer.stop();
    },
  };

  function timerOf(hold: Hold): WindowTimer {
    let timer = windows.get(hold);
    if (timer === undefined) {
      timer = createWindowTimer(hold, {
        hears: ({ topic, isAwaited }) => isAwaited || fanout.hearers(topic) > 0,
        pauseMs: 0,
        ...{ clock, log },
      });
      windows.set(hold, timer);
    }
    return timer;
  }
}

interface WindowTimerOptions {
  /** Whether this has a receiver. */
  readonly hears: (held: Held) => boolean;
  /** It rings no sooner after the last time (ms). */
  readonly pauseMs: number;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

interface WindowTimer {
  /** A frame is about to be buffered there. */
  watch(feed: Feed, held: Held): void;
  /** Sends everything now. */
  flush(): void;
  stop(): void;
}

function createWindowTimer(hold: Hold, { hears, pauseMs, clock, log }: WindowTimerOptions): WindowTimer {
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
    if (watched.size > 0) timer = clock.after(Math.max(nextMs - now, pauseMs), ring);
  }

  return {
    watch(feed, held) {
      watched.set(held, feed);
      timer ??= clock.after(hold.ms - EARLY_MS, ring);
    },
    flush() {
      for (const held of watched.keys()) {
        try {
          held.flush();
        } catch (error) {
          log.error({ err: error }, 'delivery of buffered audio failed');
        }
      }
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
