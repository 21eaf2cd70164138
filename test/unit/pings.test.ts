// Lag pings behind frames: how many of a talkgroup's receivers each frame brings one, by a clock of the test's own.
import t, { type Test } from 'tap';
import { Feed } from '../../src/relay/delivery/feed.js';
import type { Hearer } from '../../src/relay/delivery/hearer.js';
import type { FairClock } from '../../src/relay/reception/fair-clock.js';
import { createPings } from '../../src/relay/reception/pings.js';
import { clockAt } from '../helpers/relay/clocks.js';

/** A talkgroup whose receivers note their pings. `throwing` of them throw instead. */
function talkedIn(t: Test, options: { receivers: number; throwing?: number; pingMs?: number }) {
  const { receivers, throwing = 0, pingMs = 1000 } = options;
  let nowMs = 100_000;
  const feed = new Feed(1);
  const pings = new Map<number, number>();
  const pingedAtMs = new Map<number, number>();
  const gapsMs = new Map<number, number>();
  const failed: unknown[] = [];
  let behindFrame = 0;
  const hearers = Array.from({ length: receivers }, (_, each) => {
    const hearer: Hearer = {
      number: each,
      give() {},
      arrive() {},
      askBehindFrame() {
        if (each < throwing) throw new Error('a bug');
        pings.set(each, (pings.get(each) ?? 0) + 1);
        const gapMs = nowMs - (pingedAtMs.get(each) ?? nowMs);
        gapsMs.set(each, Math.max(gapsMs.get(each) ?? 0, gapMs));
        pingedAtMs.set(each, nowMs);
        behindFrame++;
      },
    };
    feed.enter(hearer);
    return hearer;
  });
  const asking = createPings({
    clock: clockAt(() => nowMs),
    fair: { at: (now: number) => now } as FairClock, // one that never stands still
    sessions: new Map(), // none that is pinged without a frame
    unanswered: new Set(),
    pingMs,
    fail: (session) => failed.push(session),
    log: { error: (_, message) => t.fail(message) },
  });
  t.teardown(asking.stop);
  return {
    pings,
    /** The longest time between two pings of each receiver (ms). */
    gapsMs,
    failed,
    /** This receiver leaves the audio and comes back to it. */
    comesBack(each: number) {
      const hearer = hearers[each] as Hearer;
      feed.exit(hearer);
      feed.enter(hearer);
    },
    /** Answers how many pings the frame brought. */
    frame(laterMs: number): number {
      nowMs += laterMs;
      behindFrame = 0;
      if (nowMs >= feed.askAtMs) asking.behindFrame(feed, nowMs);
      return behindFrame;
    },
  };
}

t.test('each of 50 receivers is pinged once a second, five behind each of ten frames', (t) => {
  const { frame, pings } = talkedIn(t, { receivers: 50 });
  for (let each = 0; each < 100; each++) {
    const count = frame(100);
    t.ok(count >= 4 && count <= 6, `${count}`);
  }
  const counts = [...pings.values()];
  t.equal(counts.length, 50);
  t.ok(Math.min(...counts) >= 9 && Math.max(...counts) <= 11, `${counts} in ten seconds`);
  t.end();
});

t.test('others that come and go keep no receiver waiting for a ping', (t) => {
  const { frame, gapsMs, comesBack } = talkedIn(t, { receivers: 50 });
  for (let each = 0; each < 100; each++) {
    frame(100);
    comesBack(each % 5);
  }
  for (let each = 5; each < 50; each++) {
    const gapMs = gapsMs.get(each) ?? Number.POSITIVE_INFINITY;
    t.ok(gapMs >= 900 && gapMs <= 1200, `receiver ${each}: ${gapMs} ms`);
  }
  t.end();
});

t.test('a lone receiver is pinged behind one frame of fifty', (t) => {
  const { frame } = talkedIn(t, { receivers: 1 });
  let count = 0;
  for (let each = 0; each < 500; each++) count += frame(20);
  t.ok(count >= 9 && count <= 11, `${count} in ten seconds`);
  t.end();
});

t.test('behind the first frame after a silence a tenth of a second of pings is due', (t) => {
  const { frame } = talkedIn(t, { receivers: 500 });
  frame(0);
  const count = frame(60_000);
  t.ok(count >= 50 && count <= 51, `${count} of 500`);
  t.end();
});

t.test('a hundred pings go behind a frame, and the next frame brings more', (t) => {
  const { frame } = talkedIn(t, { receivers: 5000 });
  t.equal(frame(0), 100);
  t.equal(frame(1), 100, 'though only five have become due since');
  t.end();
});

t.test('a receiver that throws is reported, and the others are pinged', (t) => {
  const { frame, pings, failed } = talkedIn(t, { receivers: 10, throwing: 1 });
  for (let each = 0; each < 50; each++) frame(20);
  t.equal(pings.size, 9);
  t.strictSame([...new Set(failed)], [0]);
  t.end();
});

t.test('LAG_PING_MS=0: no frame brings a ping', (t) => {
  const { frame } = talkedIn(t, { receivers: 50, pingMs: 0 });
  for (let each = 0; each < 50; each++) t.equal(frame(100), 0);
  t.end();
});
