// In which order, how fast and until when a drain closes sockets.
import t from 'tap';
import { systemClock } from '../../src/relay/clock.js';
import { drain, drainMsMax } from '../../src/relay/hub/drain.js';

interface Fake {
  isLive: boolean;
  isTalker: boolean;
}

/** Sessions by number, the talkers last, then those without a socket. */
function sessionsOf({ idle = 0, talkers = 0, detached = 0 }): Map<number, Fake> {
  const fakes = [
    ...Array.from({ length: idle }, () => ({ isLive: true, isTalker: false })),
    ...Array.from({ length: talkers }, () => ({ isLive: true, isTalker: true })),
    ...Array.from({ length: detached }, () => ({ isLive: false, isTalker: false })),
  ];
  return new Map(fakes.map((fake, number) => [number, fake]));
}

/** Drains. `closed` is told each close, with how many there were and the time since the start. */
async function drained(
  fakes: Map<number, Fake>,
  msMax: number,
  closed: (fake: Fake, count: number, passedMs: number) => void,
): Promise<void> {
  const startMs = performance.now();
  let count = 0;
  await drain({
    sessions: fakes,
    msMax,
    clock: systemClock,
    close(fake) {
      closed(fake, ++count, performance.now() - startMs);
      fake.isLive = false;
      for (const [number, one] of fakes) if (one === fake) fakes.delete(number);
    },
  });
}

for (const [msMax, perMs] of [
  [60_000, 1],
  [100, 4],
] as const) {
  t.test(`400 idle sockets and DRAIN_MS=${msMax}: at most ${perMs} are closed in each ms`, async (t) => {
    const fakes = sessionsOf({ idle: 400 });
    const tooEarly: string[] = [];
    let closes = 0;
    await drained(fakes, msMax, (_, count, passedMs) => {
      closes = count;
      if (count > perMs * passedMs) tooEarly.push(`${count} after ${passedMs} ms`);
    });
    t.same(tooEarly, []);
    t.equal(closes, 400);
  });
}

t.test('a talker is closed at the end of its burst, and so is a session that talked meanwhile', async (t) => {
  const fakes = sessionsOf({ idle: 99, talkers: 2, detached: 3 });
  const [first, second] = [...fakes.values()].slice(99) as [Fake, Fake];
  // Idle at the first look. By moments instead, a machine that stands still lets it be closed before it talks.
  let looks = 0;
  let isOver = false;
  const later: Fake = {
    isLive: true,
    get isTalker() {
      return looks++ > 0 && !isOver;
    },
  };
  fakes.set(fakes.size, later);
  const order: string[] = [];
  await drained(fakes, 600_000, (fake, count) => {
    if (count === 99) first.isTalker = false; // all that were idle are closed
    if (fake === first) {
      order.push('first');
      isOver = true;
    }
    if (fake === later) {
      order.push('later');
      second.isTalker = false;
    }
    if (fake === second) order.push('second');
  });
  t.same(order, ['first', 'later', 'second']);
  t.same([...fakes.values()], [], 'those without a socket are closed, too');
});

t.test('a talker that talks on is closed after DRAIN_MS', async (t) => {
  const fakes = sessionsOf({ idle: 3, talkers: 1 });
  const talkerAtMs: number[] = [];
  await drained(fakes, 200, ({ isTalker }, _count, passedMs) => {
    if (isTalker) talkerAtMs.push(passedMs);
  });
  t.equal(talkerAtMs.length, 1);
  t.ok((talkerAtMs[0] ?? 0) >= 200, `after ${talkerAtMs[0]} ms`);
});

t.test('a drain lasts 1 ms for each idle socket, with a talker DRAIN_MS, and never longer', async (t) => {
  const rows: [Parameters<typeof sessionsOf>[0], number, number][] = [
    [{}, 5000, 0],
    [{ detached: 9 }, 5000, 0],
    [{ idle: 1 }, 5000, 1],
    [{ idle: 300, detached: 9 }, 5000, 300],
    [{ idle: 10_000 }, 5000, 5000],
    [{ idle: 1, talkers: 1 }, 5000, 5000],
    [{ idle: 10, talkers: 1 }, 0, 0],
  ];
  for (const [counts, msMax, expected] of rows)
    t.equal(drainMsMax(sessionsOf(counts), msMax), expected, JSON.stringify(counts));
});
