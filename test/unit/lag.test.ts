// Who is called slow and who is not, played through with a radio, its way and a server that all may stand still.
import fc from 'fast-check';
import t from 'tap';
import { createSampling } from '../../src/relay/figures/sampling.js';
import { PULSE_MS, startPulse } from '../../src/relay/hub/pulse.js';
import { FairClock } from '../../src/relay/reception/fair-clock.js';
import { Lag } from '../../src/relay/reception/lag.js';
import type { Unanswered } from '../../src/relay/reception/receiver.js';
import { clockAt, virtualClock } from '../helpers/relay/clocks.js';

const TICK_MS = 20;
const limits = { backlogMs: 1000, backMs: 250 };

t.test('what stalls behind the timer, before the sockets were read, is no silence of a talker', async (t) => {
  let nowMs = 0;
  const clock = clockAt(() => nowMs);
  const stall = () => {
    nowMs += 5000;
  };
  const judgedAtMs = await new Promise((resolve) => {
    const pulse = startPulse({
      isAlone: () => false,
      clock,
      fair: new FairClock(),
      fanout: { hearers: () => 0 },
      floor: {
        active: () => [],
        expire(atMs) {
          pulse.stop();
          resolve(atMs);
        },
      },
      sampling: createSampling(clock),
      pings: { walk: stall, stop() {} },
      unanswered: new Set(),
      fail: (_session, error) => t.error(error),
      ...{ often: [], seldom: [] },
      log: { error: ({ err }: { err?: Error }) => t.error(err) },
    });
    nowMs = 1000;
  });
  t.equal(judgedAtMs, 1000);
});

t.test('an idle relay wakes up four times a second, and twenty times while it must look', async (t) => {
  const clock = virtualClock();
  const fair = new FairClock(PULSE_MS);
  const unanswered = new Set<Unanswered>();
  let ticks = 0;
  let isAlone = true;
  const pulse = startPulse({
    ...{ clock, fair, unanswered },
    isAlone: () => isAlone,
    fanout: { hearers: () => 0 },
    floor: { active: () => [], expire() {} },
    sampling: createSampling(clock),
    pings: { walk: () => ticks++, stop() {} },
    fail: (_session, error) => t.error(error),
    ...{ often: [], seldom: [] },
    log: { error: ({ err }: { err?: Error }) => t.error(err) },
  });
  const ticksIn = (ms: number) => {
    ticks = 0;
    clock.pass(ms);
    return ticks;
  };
  ticksIn(1000);
  t.equal(ticksIn(10_000), 40);
  t.equal(fair.at(clock.nowMs()), clock.nowMs(), 'which is no stall');
  pulse.wake();
  t.equal(ticksIn(PULSE_MS), 1, 'a burst began');
  const receiver = { number: 1, judge() {}, lagMs: () => 0 };
  unanswered.add(receiver);
  ticksIn(1000);
  t.equal(ticksIn(10_000), 200, 'a receiver owes an answer');
  unanswered.delete(receiver);
  ticksIn(1000);
  t.equal(ticksIn(10_000), 40);
  isAlone = false;
  ticksIn(1000);
  t.equal(ticksIn(10_000), 200, 'other relays may answer');
  pulse.stop();
  pulse.wake();
  t.equal(ticksIn(10_000), 0);
});

t.test(
  'a radio that stood still for 3 s is found slow, and caught up a few round trips after it reads',
  async (t) => {
    for (const roundTripMs of [5, 60, 300, 900]) {
      for (const phaseMs of [0, 340, 680, 980]) {
        const changes = listen({
          phaseMs,
          roundTripMs: () => roundTripMs,
          readsPerSecond: (atMs) => (atMs >= 5000 && atMs < 8000 ? 0 : 5000),
        });
        const [slow, back] = changes;
        t.match(
          changes,
          [{ kind: 'slow' }, { kind: 'caught_up', unread: 0 }],
          `${roundTripMs} ms, ${phaseMs}`,
        );
        t.ok(slow && slow.atMs <= 7040 + roundTripMs, `slow at ${slow?.atMs}`);
        t.ok(
          slow && slow.unread <= 50 * 2.05 + roundTripMs / 20,
          `${slow?.unread} frames are the most it must hear`,
        );
        t.ok(back && back.atMs > 8000 && back.atMs <= 8040 + 3 * roundTripMs, `back at ${back?.atMs}`);
      }
    }
  },
);

t.test(
  'a radio that reads half of the audio is slow within 2 to 3 s, and back only when it has read all',
  async (t) => {
    for (const phaseMs of [0, 340, 680, 980]) {
      const changes = listen({ phaseMs, readsPerSecond: () => 25, forMs: 60_000 });
      t.ok(changes.length > 10, 'it goes on like this');
      for (const [index, { kind, atMs, unread }] of changes.entries()) {
        t.equal(kind, index % 2 === 0 ? 'slow' : 'caught_up', 'by turns');
        if (kind === 'caught_up') t.equal(unread, 0);
        else {
          const sinceMs = atMs - (changes[index - 1]?.atMs ?? 0);
          t.ok(sinceMs > 2000 && sinceMs < 3100, `slow after ${sinceMs} ms of audio`);
          t.ok(unread <= 78, `${unread} frames behind: 1.5 s`);
        }
      }
    }
  },
);

t.test('a steady 1.5 s is a satellite and not slow', async (t) => {
  t.strictSame(listen({ roundTripMs: () => 1500, forMs: 60_000 }), []);
});

t.test(
  'a satellite radio that stood still comes back, though a newer ping is always under way',
  async (t) => {
    const changes = listen({
      roundTripMs: () => 1500,
      readsPerSecond: (atMs) => (atMs >= 5000 && atMs < 8000 ? 0 : 5000),
    });
    t.match(changes, [{ kind: 'slow' }, { kind: 'caught_up', unread: 0 }]);
    t.ok((changes[1]?.atMs ?? 0) < 8040 + 2 * 1500, `back at ${changes[1]?.atMs}`);
  },
);

t.test('a way that drifts from 20 ms to 1.4 s is not excused, however slowly it does', async (t) => {
  const changes = listen({ forMs: 120_000, roundTripMs: (atMs) => 20 + (1380 * atMs) / 120_000 });
  t.match(changes, [{ kind: 'slow' }]);
  t.equal(changes.length, 1);
  // It passes 20 + 1,000 ms after 87 s.
  t.ok(Math.abs((changes[0]?.atMs ?? 0) - 88_000) < 1100, `slow at ${changes[0]?.atMs}`);
});

t.test('a way that became 400 ms longer for good does not keep a radio deaf', async (t) => {
  const changes = listen({
    roundTripMs: (atMs) => (atMs < 5000 ? 20 : 420),
    readsPerSecond: (atMs) => (atMs >= 5000 && atMs < 8000 ? 0 : 5000),
    forMs: 60_000,
  });
  t.match(changes, [{ kind: 'slow' }, { kind: 'caught_up', unread: 0 }]);
  t.equal(changes.length, 2);
  t.ok((changes[1]?.atMs ?? 0) < 8000 + 5000 + 3 * 420, `back at ${changes[1]?.atMs}`);
});

t.test('a server that stood still for 2 s blames no receiver', async (t) => {
  for (const roundTripMs of [5, 60, 900, 1500, 2500]) {
    for (const stallAtMs of [100, 5010, 5200, 5430, 5990]) {
      for (const readsFirst of [false, true]) {
        const stall = { atMs: stallAtMs, forMs: 2000, readsFirst };
        const changes = listen({ roundTripMs: () => roundTripMs, stall, forMs: 30_000 });
        t.strictSame(changes, [], `${roundTripMs} ms, stalled at ${stallAtMs}`);
      }
    }
  }
});

t.test('the first pong may take 4 s, for until then 3 s are taken for its best', async (t) => {
  const lag = new Lag();
  t.equal(lag.lagMs(50), 0, 'no ping, no lag');
  lag.pinged(100);
  t.equal(lag.judge(4100, limits), null);
  t.equal(lag.judge(4101, limits), 'slow');
  const other = new Lag();
  other.pinged(100);
  other.answered(100, 3600);
  t.equal(other.lagMs(3600), 0, 'and what it took is the smallest from then on');
});

t.test('a round trip during which the server stood still is not taken for the smallest', async (t) => {
  const lag = new Lag();
  lag.pinged(1000);
  lag.pinged(1020);
  lag.answered(1000, 1030, 1020);
  lag.answered(1020, 1040, 1020);
  t.equal(lag.judge(1040, limits), null, 'but it counts as an answer');
  t.equal(lag.oldestOpenMs(1040), 0);
  lag.pinged(1060);
  t.equal(lag.judge(2600, limits), null, 'not known to be late, with nothing to compare');
  lag.answered(1060, 2600, 1020);
  lag.pinged(2600);
  t.equal(lag.lagMs(4600), 2000 - 1540, 'compared with what came after it');
});

t.test('a pong answers its ping and all older ones, and no other number answers anything', async (t) => {
  const lag = new Lag();
  t.equal(lag.answered(-1, 0), 'stray');
  for (const atMs of [100, 200, 300, 400]) lag.pinged(atMs);
  for (const ms of [250, 300.5, -1, Number.NaN]) t.equal(lag.answered(ms, 450), 'stray', `${ms}`);
  t.equal(lag.oldestOpenMs(450), 350);
  t.equal(lag.answered(300, 450), 'older');
  t.equal(lag.answered(200, 450), 'stray', 'which was answered along with it');
  t.equal(lag.oldestOpenMs(450), 50);
  t.equal(lag.answered(400, 450), 'newest');
  t.equal(lag.oldestOpenMs(450), 0);
});

t.test('two pings of one millisecond are answered by the first of their pongs', async (t) => {
  const lag = new Lag();
  for (const atMs of [100, 200, 200]) lag.pinged(atMs);
  t.equal(lag.answered(200, 230), 'newest');
  t.equal(lag.oldestOpenMs(230), 0);
  t.equal(lag.answered(200, 260), 'stray', 'or each would be followed by a ping at once, for ever');
  lag.pinged(300);
  t.equal(lag.answered(300, 300), 'newest');
  lag.pinged(300);
  t.equal(lag.answered(300, 310), 'newest', 'one sent after the other was answered is a ping of its own');
});

t.test('of more pings than it remembers, the oldest keeps its age and the newest answers all', async (t) => {
  const lag = new Lag();
  for (let atMs = 100; atMs <= 3000; atMs += 100) lag.pinged(atMs);
  t.equal(lag.oldestOpenMs(3000), 2900);
  t.equal(lag.answered(100, 3000), 'older');
  t.equal(lag.oldestOpenMs(3000), 2800, 'and so do those next in age');
  t.equal(lag.answered(2900, 3000), 'stray', 'the newest but one was forgotten');
  t.equal(lag.answered(3000, 3000), 'newest');
  t.equal(lag.oldestOpenMs(3000), 0);
  const kept = JSON.stringify(pingedFor(3600)).length;
  t.ok(kept < 300, `an hour without an answer is remembered in ${kept} characters`);
});

function pingedFor(seconds: number): Lag {
  const lag = new Lag();
  for (let second = 1; second <= seconds; second++) lag.pinged(second * 1000);
  return lag;
}

t.test('the answer to a ping from before it was slow does not bring it back', async (t) => {
  const lag = quickLag();
  lag.pinged(1000);
  lag.pinged(1900);
  t.equal(lag.judge(2050, limits), 'slow');
  t.ok(lag.isSlow);
  t.equal(lag.answered(1900, 2060), 'newest');
  t.equal(lag.lagMs(2060), 140, 'though it is no more late');
  t.equal(lag.judge(2060, limits), null);
  lag.pinged(2060);
  t.equal(lag.judge(2070, limits), null, 'nor does a ping without an answer');
  t.equal(lag.answered(2060, 2090), 'newest');
  t.equal(lag.judge(2090, limits), 'caught_up');
  t.notOk(lag.isSlow);
  t.equal(lag.judge(2090, limits), null, 'told once');
});

t.test('an overrun is slow at once, until a ping sent after it is answered', async (t) => {
  const lag = quickLag();
  lag.pinged(1000);
  lag.overrun(1000);
  t.ok(lag.isSlow);
  t.equal(lag.judge(1000, limits), null, 'the caller knows');
  lag.pinged(1000); // of the same millisecond: before or after, the service cannot tell
  lag.answered(1000, 1020);
  t.equal(lag.judge(1020, limits), null);
  lag.pinged(1020);
  lag.answered(1020, 1040);
  t.equal(lag.judge(1040, limits), 'caught_up');

  lag.overrun(1050);
  t.equal(lag.judge(9000, limits), null, 'nor has it caught up while nothing is asked');
});

/** A radio that has shown a round trip of 20 ms. */
function quickLag(): Lag {
  const lag = new Lag();
  lag.pinged(0);
  lag.answered(0, 20);
  return lag;
}

t.test('no receiver is slow whose round trips stay within 900 ms of each other', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3000 }),
      fc.array(fc.nat(900), { minLength: 20, maxLength: 200, size: 'max' }),
      fc.nat(49),
      fc.integer({ min: 7, max: 500 }),
      (smallestMs, extrasMs, phase, changeMs) => {
        const changes = listen({
          phaseMs: 20 * phase,
          // The way changes between the ping and its pong, so half of it is one draw and half may be another.
          roundTripMs: (atMs) => smallestMs + (extrasMs[Math.floor(atMs / changeMs) % extrasMs.length] ?? 0),
        });
        if (changes.length > 0) throw new Error(JSON.stringify(changes));
      },
    ),
    { numRuns: 60 },
  );
});

t.test(
  'a receiver more than 1 s late is slow a ping period, a round trip and that second later',
  async () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3000 }),
        fc.integer({ min: 1050, max: 20_000 }),
        fc.nat(49),
        fc.integer({ min: 7000, max: 9000 }),
        (smallestMs, lateMs, phase, sinceMs) => {
          const [slow] = listen({
            phaseMs: 20 * phase,
            roundTripMs: (atMs) => smallestMs + (atMs >= sinceMs ? lateMs : 0),
          });
          const soonestMs = sinceMs + 1000 - smallestMs; // a ping under way when the way changed is late, too
          const latestMs = sinceMs + 1000 + smallestMs + 1000 + 3 * TICK_MS;
          if (slow === undefined || slow.atMs < soonestMs || slow.atMs > latestMs) {
            throw new Error(`slow at ${slow?.atMs}, not within ${soonestMs} and ${latestMs}`);
          }
        },
      ),
      { numRuns: 60 },
    );
  },
);

t.test('lag is what section 4 says, whatever comes in whatever order, and never negative', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.oneof(fc.nat(3), fc.nat(3000)) }),
    fc.record({ kind: fc.constant('ping' as const) }),
    fc.record({ kind: fc.constant('pong' as const), which: fc.nat(20) }),
    fc.record({ kind: fc.constant('stray' as const), ms: fc.oneof(fc.double(), fc.integer()) }),
    fc.record({ kind: fc.constant('overrun' as const) }),
    fc.record({ kind: fc.constant('judge' as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const lag = new Lag();
      const naive = newNaiveLag();
      let nowMs = 0;
      const same = (what: string, found: unknown, expected: unknown) => {
        if (found !== expected) throw new Error(`${what} at ${nowMs}: ${found} instead of ${expected}`);
      };
      for (const step of steps) {
        if (step.kind === 'wait') nowMs += step.ms;
        if (step.kind === 'ping' && naive.open.length < 16) {
          lag.pinged(nowMs);
          naive.pinged(nowMs);
        }
        if (step.kind === 'pong') {
          const sentMs = naive.open[step.which];
          if (sentMs !== undefined) same('pong', lag.answered(sentMs, nowMs), naive.answered(sentMs, nowMs));
        }
        if (step.kind === 'stray' && !naive.open.includes(step.ms)) {
          same('stray', lag.answered(step.ms, nowMs), 'stray');
        }
        if (step.kind === 'overrun') {
          lag.overrun(nowMs);
          naive.overrun(nowMs);
        }
        if (step.kind === 'judge') same('judge', lag.judge(nowMs, limits), naive.judge(nowMs));
        same('slow', lag.isSlow, naive.isSlow());
        same('lag', lag.lagMs(nowMs), naive.lagMs(nowMs));
        same('oldest', lag.oldestOpenMs(nowMs), nowMs - (naive.open[0] ?? nowMs));
      }
    }),
    { numRuns: 500 },
  );
});

/** Section 4 in so many words, remembering everything. */
function newNaiveLag() {
  const roundTripsMs: number[] = [];
  let open: number[] = [];
  let slow = false;
  /** Pings sent since it was slow, which have no audio behind them. */
  let bare = new Set<number>();
  let isProven = false;
  let overrunMs = -1;

  function lagMs(nowMs: number): number {
    const smallestMs = roundTripsMs.length === 0 ? 3000 : Math.min(...roundTripsMs);
    const latestMs = Math.max(nowMs - (open[0] ?? nowMs), roundTripsMs.at(-1) ?? 0);
    return Math.max(0, latestMs - smallestMs);
  }

  function becomeSlow(): void {
    slow = true;
    bare = new Set();
    isProven = false;
  }

  return {
    get open(): readonly number[] {
      return open;
    },
    isSlow: () => slow,
    lagMs,
    pinged(nowMs: number): void {
      if (open.includes(nowMs)) return;
      open.push(nowMs);
      if (nowMs > overrunMs) bare.add(nowMs);
    },
    answered(sentMs: number, nowMs: number): 'newest' | 'older' {
      const newest = open.at(-1);
      open = open.filter((atMs) => atMs > sentMs);
      roundTripsMs.push(nowMs - sentMs);
      isProven = bare.has(sentMs);
      return sentMs === newest ? 'newest' : 'older';
    },
    overrun(nowMs: number): void {
      overrunMs = nowMs;
      becomeSlow();
    },
    judge(nowMs: number): 'slow' | 'caught_up' | null {
      if (!slow && lagMs(nowMs) > 1000) {
        becomeSlow();
        return 'slow';
      }
      if (!slow || !isProven || lagMs(nowMs) >= 250) return null;
      slow = false;
      return 'caught_up';
    },
  };
}

t.test('fair time is true time while the ticks come, and does not count a stall', async (t) => {
  const clock = new FairClock(20);
  t.equal(clock.at(1000.9), 1000);
  clock.tick(1010);
  t.equal(clock.at(1129.5), 1129, 'a tick may be 100 ms late');
  clock.tick(1130);
  t.equal(clock.at(1140), 1140, 'and nothing was taken off');
  t.equal(clock.stoodAtMs, -1);
  clock.tick(3150);
  t.equal(clock.at(3150), 1150, '2,000 ms late');
  t.equal(clock.stoodAtMs, 1150);
  t.equal(clock.at(3160), 1160, 'and it goes on at once');
});

t.test('a stall is noticed before its tick comes: fair time waits for it', async (t) => {
  const clock = new FairClock(20);
  clock.tick(1000);
  t.equal(clock.at(3000), 1120);
  t.equal(clock.stoodAtMs, 1120);
  clock.tick(3000);
  t.equal(clock.at(3000), 1120, 'never back');
  for (let atMs = 3020; atMs <= 3100; atMs += 20) clock.tick(atMs);
  t.equal(clock.at(3110), 1130, 'and it has waited 100 ms at most');
});

t.test('fair time never goes back, never runs ahead, and loses only what ticks are late', async () => {
  const step = fc.record({
    isTick: fc.boolean(),
    afterMs: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 3000 })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const clock = new FairClock(20);
      let nowMs = 0;
      let dueMs = Number.POSITIVE_INFINITY;
      let lateMs = 0;
      let beforeMs = 0;
      for (const { isTick, afterMs } of steps) {
        nowMs += afterMs;
        if (isTick) {
          if (nowMs - dueMs > 100) lateMs += nowMs - dueMs;
          clock.tick(nowMs);
          dueMs = nowMs + 20;
        }
        const fairMs = clock.at(nowMs);
        if (!Number.isInteger(fairMs) || fairMs < beforeMs) throw new Error(`from ${beforeMs} to ${fairMs}`);
        const leastMs = Math.min(nowMs, dueMs + 100) - lateMs;
        if (fairMs < leastMs || fairMs > leastMs + 100)
          throw new Error(`${fairMs}, not ${leastMs} at ${nowMs}`);
        beforeMs = fairMs;
      }
    }),
    { numRuns: 500 },
  );
});

interface Scene {
  readonly forMs?: number;
  /** When in each second the radio is pinged. */
  readonly phaseMs?: number;
  readonly roundTripMs?: (atMs: number) => number;
  /** Frames it can read in a second. 50 are sent. */
  readonly readsPerSecond?: (atMs: number) => number;
  /** The server does nothing in it. `readsFirst`: then it reads its sockets before its timer runs. */
  readonly stall?: { readonly atMs: number; readonly forMs: number; readonly readsFirst: boolean };
}

interface Change {
  readonly kind: 'slow' | 'caught_up';
  readonly atMs: number;
  /** Frames sent to the radio and not yet read by it. */
  readonly unread: number;
}

/** A radio hears one talker who never stops, as the relay would send it. What it is called meanwhile. */
function listen(scene: Scene): Change[] {
  const { forMs = 20_000, phaseMs = 500, stall } = scene;
  const lag = new Lag();
  const clock = new FairClock(TICK_MS);
  const radio = newRadio(scene);
  const changes: Change[] = [];
  let tickedMs = 0;
  let framesSent = 0;

  ping(0); // right behind WELCOME
  for (let nowMs = 1; nowMs <= forMs; nowMs++) {
    radio.reads(nowMs);
    const isStalled = stall !== undefined && nowMs > stall.atMs && nowMs < stall.atMs + stall.forMs;
    if (isStalled) continue;
    if (stall?.readsFirst) readPongs(nowMs);
    if (nowMs >= tickedMs + TICK_MS) tick(nowMs);
    readPongs(nowMs);
  }
  return changes;

  function tick(nowMs: number): void {
    clock.tick(nowMs);
    const framesDue = Math.floor(nowMs / 20);
    for (; framesSent < framesDue; framesSent++) if (!lag.isSlow) radio.send(null, nowMs);
    const isItsTurn = Math.floor((nowMs - phaseMs) / 1000) !== Math.floor((tickedMs - phaseMs) / 1000);
    tickedMs = nowMs;
    if (isItsTurn) ping(nowMs);
    judge(nowMs);
  }

  function readPongs(nowMs: number): void {
    for (let text = radio.pong(nowMs); text !== null; text = radio.pong(nowMs)) {
      const answer = lag.answered(Number(text), clock.at(nowMs), clock.stoodAtMs);
      // After a stall the clock waits for up to 100 ms, and two pings may carry one time.
      if (answer === 'stray' && stall === undefined) throw new Error(`stray pong at ${nowMs}`);
      judge(nowMs);
      if (answer === 'newest' && lag.isSlow) ping(nowMs);
    }
  }

  function ping(nowMs: number): void {
    const fairMs = clock.at(nowMs);
    lag.pinged(fairMs);
    radio.send(String(fairMs), nowMs);
  }

  function judge(nowMs: number): void {
    const kind = lag.judge(clock.at(nowMs), limits);
    if (kind !== null) changes.push({ kind, atMs: nowMs, unread: radio.unread() });
  }
}

/** Reads what has arrived in the order sent, frames at its own rate, and answers each ping when it comes to it. */
function newRadio({ roundTripMs = () => 20, readsPerSecond = () => 5000 }: Scene) {
  const queue: { readonly ping: string | null; readonly arrivesMs: number }[] = [];
  const pongs: { readonly text: string; readonly arrivesMs: number }[] = [];
  let sentArrivesMs = 0;
  let pongArrivesMs = 0;
  let canRead = 0;

  return {
    /** A ping's text, or null for a frame. */
    send(ping: string | null, nowMs: number): void {
      sentArrivesMs = Math.max(sentArrivesMs, nowMs + roundTripMs(nowMs) / 2); // TCP keeps the order
      queue.push({ ping, arrivesMs: sentArrivesMs });
    },
    reads(nowMs: number): void {
      canRead = Math.min(canRead + readsPerSecond(nowMs) / 1000, 10);
      if (readsPerSecond(nowMs) === 0) return;
      for (let next = queue[0]; next !== undefined; next = queue[0]) {
        if (next.arrivesMs > nowMs || (next.ping === null && canRead < 1)) return;
        queue.shift();
        if (next.ping === null) canRead--;
        else {
          pongArrivesMs = Math.max(pongArrivesMs, nowMs + roundTripMs(nowMs) / 2);
          pongs.push({ text: next.ping, arrivesMs: pongArrivesMs });
        }
      }
    },
    pong(nowMs: number): string | null {
      const [next] = pongs;
      return next !== undefined && next.arrivesMs <= nowMs ? (pongs.shift()?.text ?? null) : null;
    },
    unread: () => queue.filter(({ ping }) => ping === null).length,
  };
}
