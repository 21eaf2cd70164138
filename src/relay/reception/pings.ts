// Asks the receivers of audio whether they keep up: each about once in `pingMs`, spread over the frames they are given. One
// that answers at once is asked about once in twice that time.
//
// A ping costs as much as a delivery, and its pong as much again. Sent by a timer, 5,000 a second came 250 at a time,
// and frames waited 5 ms for them. Sent behind a frame, to as many of its receivers as have become due since the frame
// before, they come a few at a time. Right behind it the engine writes frame and ping to such a receiver one after the
// other: a delivery costs 1.17 times what it costs an engine that pings as often, and 1.26 times with pings a turn of the
// loop later (scenario lag-pings, one run of each on Node 24).
import type { Clock } from '../clock.js';
import type { Feed } from '../delivery/feed.js';
import type { FairClock } from './fair-clock.js';
import { HEARD_MS } from './hearing.js';
import type { Reception } from './reception.js';

/** A session as it is pinged. */
interface Pinged {
  readonly number: number;
  readonly reception: Pick<Reception, 'ask'>;
}

export interface PingsOptions {
  readonly clock: Pick<Clock, 'nowMs' | 'soon'>;
  readonly fair: FairClock;
  readonly sessions: ReadonlyMap<number, Pinged>;
  readonly unanswered: { readonly size: number };
  /** Milliseconds between two pings of a receiver. 0: no receiver is pinged for hearing audio. */
  readonly pingMs: number;
  /** Work on the session with this number threw: only this session ends. */
  readonly fail: (session: number, error: unknown) => void;
  readonly log: { error(fields: object, message: string): void };
}

export interface Pings {
  /**
   * A frame of the talkgroup was published and `feed.askAtMs` has come: pings those of its live receivers that have
   * become due, at most PINGS_MAX.
   */
  behindFrame(feed: Feed, nowMs: number): void;
  /**
   * Called every 50 ms: pings those that no frame brought a ping, because they lag or asked for buffered audio.
   * `heardAtMs` is when audio was last relayed anywhere.
   */
  walk(nowMs: number, heardAtMs: number): void;
  stop(): void;
}

/**
 * After a long silence or stall the pings that it left out are not sent all at once: those of so long at most, which is a
 * tenth of the receivers, behind the frames that waited with them.
 */
const LATE_MS_MAX = 100;
/** Pings behind one frame or in a turn of the walk, at 10 µs each. */
const PINGS_MAX = 100;
/** Shares of `pingMs`: a receiver that was pinged behind a frame within the longer one is left to the frames. */
const LEFT_TO_FRAMES = 1.25;
/**
 * One that was pinged within the shorter one hears several talkgroups, and was due in another. So no receiver waits longer
 * than `pingMs` and this share of it for a ping behind a frame, and `pingMs` more when it answers at once.
 */
const PINGED_LATELY = 0.3;

export function createPings(options: PingsOptions): Pings {
  const { clock, fair, sessions, unanswered, pingMs, fail, log } = options;
  let walk = sessions.values();
  let walkedAtMs = clock.nowMs();
  /** Sessions whose turn it is, and the fraction carried over: a single one is walked to once a second. */
  let due = 0;
  let isWalking = false;

  function behindFrame(feed: Feed, now: number): void {
    const receivers = feed.live.size;
    if (pingMs === 0 || receivers === 0) {
      // Not each frame needs to look.
      feed.askAtMs = pingMs === 0 ? Number.POSITIVE_INFINITY : now + LATE_MS_MAX;
      return;
    }
    const eachMs = pingMs / receivers;
    const lateMs = Math.min(now - feed.askAtMs, LATE_MS_MAX);
    // Those beyond it are due behind the next frame. What frames cannot bring, the walk does.
    const count = Math.min(1 + Math.floor(lateMs / eachMs), receivers, PINGS_MAX);
    feed.askAtMs = now - lateMs + count * eachMs;
    const fairMs = fair.at(now);
    const text = String(fairMs);
    let left = count;
    for (const hearer of feed.live) {
      if (left-- === 0) break;
      feed.toTheEnd(hearer);
      try {
        hearer.askBehindFrame(feed, text, fairMs - PINGED_LATELY * pingMs);
      } catch (error) {
        fail(hearer.number, error);
      }
    }
  }

  function walkOn(now: number, heardAtMs: number): void {
    const isQuiet = now - heardAtMs > HEARD_MS && unanswered.size === 0;
    // Else the first frame after a silence would find all of them due.
    if (isQuiet) {
      walkedAtMs = now;
      walk = sessions.values(); // a half-used iterator keeps the sessions that ended since
    }
    if (isQuiet || pingMs === 0) return;
    // Turns are longer than the timer's period: what is left of the last one goes at once, or ever more would be left.
    if (isWalking) walkDue(now, due);
    due += (sessions.size * Math.min(now - walkedAtMs, LATE_MS_MAX)) / pingMs;
    walkedAtMs = now;
    if (!isWalking) guarded(walkSome);
  }

  function walkSome(): void {
    isWalking = false; // also if one throws
    walkDue(clock.nowMs(), PINGS_MAX);
    if (due < 1) return;
    isWalking = true;
    clock.soon(guarded, walkSome);
  }

  /** A throw here would end the process. */
  function guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      log.error({ err: error }, 'lag pings failed');
    }
  }

  function walkDue(now: number, max: number): void {
    const fairMs = fair.at(now);
    const text = String(fairMs);
    for (let left = max; due >= 1 && left > 0; due--, left--) {
      let next = walk.next();
      if (next.done === true) {
        walk = sessions.values();
        next = walk.next();
      }
      if (next.done === true) continue;
      try {
        const { reception } = next.value;
        reception.ask(now, text, fairMs - PINGED_LATELY * pingMs, fairMs - LEFT_TO_FRAMES * pingMs);
      } catch (error) {
        fail(next.value.number, error);
      }
    }
  }

  return {
    behindFrame,
    walk: walkOn,
    stop() {
      due = 0; // nor do turns to come go on with it
    },
  };
}
