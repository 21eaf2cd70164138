// Lag pings behind frames: how many of a talkgroup's receivers each frame brings one, by a clock of the test's own.
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import { createAsking } from '../../src/relay/asking.js';
import type { FairClock } from '../../src/relay/lag.js';
import { Talkgroup } from '../../src/relay/members.js';
import type { Reception } from '../../src/relay/reception.js';

/** A talkgroup whose receivers note their pings; `throwing` of them throw instead. */
function talkedIn(t: Test, options: { receivers: number; throwing?: number; pingMs?: number }) {
  const { receivers, throwing = 0, pingMs = 1000 } = options;
  let nowMs = 100_000;
  const talkgroup = new Talkgroup({
    id: 'fire' as TalkgroupId,
    number: 1,
    name: 'fire',
    rotation_counter: 0,
    floor_mode: 'open',
    max_talk_ms: 0,
    emergencies: [],
  });
  const pings = new Map<number, number>();
  const failed: unknown[] = [];
  let behindFrame = 0;
  for (let each = 0; each < receivers; each++) {
    talkgroup.enter({
      session: { number: each },
      askBehindFrame() {
        if (each < throwing) throw new Error('a bug');
        pings.set(each, (pings.get(each) ?? 0) + 1);
        behindFrame++;
      },
    } as unknown as Reception); // all of a reception that is asked here
  }
  const asking = createAsking({
    nowMs: () => nowMs,
    fair: { at: (now: number) => now } as FairClock, // one that never stands still
    sessions: new Map(),
    unanswered: new Set(),
    pingMs,
    fail: (session) => failed.push(session.number),
    log: { error: (_, message) => t.fail(message) },
  });
  t.teardown(asking.stop);
  return {
    pings,
    failed,
    /** Answers how many pings the frame brought in its turn. */
    async frame(laterMs: number): Promise<number> {
      nowMs += laterMs;
      behindFrame = 0;
      if (nowMs >= talkgroup.askAtMs) asking.behindFrame(talkgroup);
      t.equal(behindFrame, 0, 'none before the frame is written');
      await nextTurn();
      return behindFrame;
    },
  };
}

t.test('each of 50 receivers is pinged once a second, five behind each of ten frames', async (t) => {
  const { frame, pings } = talkedIn(t, { receivers: 50 });
  for (let each = 0; each < 100; each++) {
    const count = await frame(100);
    t.ok(count >= 4 && count <= 6, `${count}`);
  }
  const counts = [...pings.values()];
  t.equal(counts.length, 50);
  t.ok(Math.min(...counts) >= 9 && Math.max(...counts) <= 11, `${counts} in ten seconds`);
});

t.test('a lone receiver is pinged behind one frame of fifty', async (t) => {
  const { frame } = talkedIn(t, { receivers: 1 });
  let count = 0;
  for (let each = 0; each < 500; each++) count += await frame(20);
  t.ok(count >= 9 && count <= 11, `${count} in ten seconds`);
});

t.test('behind the first frame after a silence a tenth of a second of pings is due', async (t) => {
  const { frame } = talkedIn(t, { receivers: 500 });
  await frame(0);
  const count = await frame(60_000);
  t.ok(count >= 50 && count <= 51, `${count} of 500`);
});

t.test('a hundred pings go in a turn, and the next frame brings more', async (t) => {
  const { frame } = talkedIn(t, { receivers: 5000 });
  t.equal(await frame(0), 100);
  t.equal(await frame(1), 100, 'though only five have become due since');
});

t.test('a receiver that throws is reported, and the others are pinged', async (t) => {
  const { frame, pings, failed } = talkedIn(t, { receivers: 10, throwing: 1 });
  for (let each = 0; each < 50; each++) await frame(20);
  t.equal(pings.size, 9);
  t.strictSame([...new Set(failed)], [0]);
});

t.test('LAG_PING_MS=0: no frame brings a ping', async (t) => {
  const { frame } = talkedIn(t, { receivers: 50, pingMs: 0 });
  for (let each = 0; each < 50; each++) t.equal(await frame(100), 0);
});
