// The jitter buffer of the console against a relay under load, which sends live audio in clusters (decision 059).
import fc from 'fast-check';
import t from 'tap';
import { createJitter, type Jitter } from '../../src/client/sound/jitter.js';
import { LOAD_STEPS } from '../../src/relay/delivery/load.js';
import { type Arrival, listenTo, overriding, PERIOD_MS, type Played } from '../helpers/sound/listening.js';

const RUNS = Math.ceil(Number(process.env.PROVE_RUNS ?? 3_000) / 500);
/** The way of every packet takes this time and its jitter. */
const WAY_MS = 30;
const TEN_MINUTES_MS = 600_000;
/** A packet of an even path is taken from the buffer so long after it came. The player has one more. */
const EVEN_MS = 40;

type Path = {
  /** Frames of a burst that the relay sends at once, by the time. */
  framesAt: (saidMs: number) => number;
  /** Jitter of the network (ms), used in turn. */
  jitters: readonly number[];
  lengthMs?: number;
  /** The talker pauses for 0.4 s in each 2 s. */
  hasPauses?: boolean;
};

function arrivalsOn({ framesAt, jitters, lengthMs = TEN_MINUTES_MS, hasPauses = false }: Path): Arrival[] {
  const arrivals: Arrival[] = [];
  let group: number[] = [];
  let at = 0;
  for (let sequence = 0; sequence * PERIOD_MS < lengthMs; sequence++) {
    const saidMs = sequence * PERIOD_MS;
    group.push(sequence);
    // The first frame of a burst is not held.
    if (sequence > 0 && group.length < framesAt(saidMs)) continue;
    const arrivesMs = saidMs + WAY_MS + (jitters[at++ % jitters.length] ?? 0);
    for (const one of group) {
      const isPause = hasPauses && (one * PERIOD_MS) % 2_000 >= 1_600;
      arrivals.push({ sequence: one, saidMs: one * PERIOD_MS, arrivesMs, isPause });
    }
    group = [];
  }
  return arrivals;
}

const make = () => createJitter(PERIOD_MS);

function listen(path: Path, jitter = make()): { jitter: Jitter; played: Played[] } {
  return { jitter, played: listenTo(jitter, arrivalsOn(path), (path.lengthMs ?? TEN_MINUTES_MS) + 500) };
}

/** Ms from the arrival of a packet without jitter until the player takes it. */
const delaysOf = (played: readonly Played[]): number[] =>
  played.flatMap(({ kind, delayMs }) => (kind === 'packet' && delayMs > 0 ? [delayMs - WAY_MS] : []));
const isSlower = (piece: Played) => piece.kind === 'packet' && piece.pace === 'short';

const jitters = (max = 10) => fc.array(fc.nat({ max }), { minLength: 1, maxLength: 50 });
const stepsTo = (msMax: number) => [
  1,
  ...LOAD_STEPS.flatMap(({ ms, frames }) => (ms <= msMax ? [frames] : [])),
];

/** The relay goes one step up or down, each 5 s from `offsetMs` on. */
type Walk = { offsetMs: number; isUp: boolean[] };
const walk: fc.Arbitrary<Walk> = fc.record({
  offsetMs: fc.nat({ max: 5_000 }),
  isUp: fc.array(fc.boolean(), { minLength: 4, maxLength: 120 }),
});

function framesOf(steps: readonly number[], { offsetMs, isUp }: Walk): Path['framesAt'] {
  const windows: number[] = [];
  for (let at = 0, i = 0; i <= TEN_MINUTES_MS / 5_000 + 1; i++) {
    windows.push(steps[at] ?? 1);
    at = Math.min(steps.length - 1, Math.max(0, at + (isUp[i % isUp.length] ? 1 : -1)));
  }
  return (saidMs) => windows[Math.floor((saidMs + offsetMs) / 5_000)] ?? 1;
}

/** Up as fast as a relay goes: three measurements of 100 ms for each step. Then slowly down. */
const climb =
  (steps: readonly number[], offsetMs: number): Path['framesAt'] =>
  (saidMs) => {
    const ms = (saidMs + offsetMs) % 30_000;
    const down = steps.length - 1 - Math.floor((ms - 5_000) / 5_000);
    return steps[Math.max(0, ms < 5_000 ? Math.min(steps.length - 1, Math.floor(ms / 300)) : down)] ?? 1;
  };

function assertNoGap(path: Path, jitter = make()): void {
  const { played } = listen(path, jitter);
  const { underruns, missing } = jitter.counts;
  if (underruns + missing > 0) throw new Error(`${underruns} gaps, ${missing} packets missing`);
  const latest = Math.max(...delaysOf(played));
  if (latest > 150) throw new Error(`speech is ${latest} ms late`);
}

for (const msMax of [40, 60, 100]) {
  const steps = stepsTo(msMax);
  t.test(
    `a relay that holds audio for up to ${msMax} ms causes no gap in ten minutes, for any jitter up to 10 ms`,
    async (t) => {
      const paths = fc.record({ walk, jitters: jitters(), hasPauses: fc.boolean() });
      fc.assert(
        fc.property(paths, ({ walk, ...path }) => assertNoGap({ ...path, framesAt: framesOf(steps, walk) })),
        { numRuns: RUNS, seed: 7 },
      );
      t.pass('as the window changes each 5 s');
      const climbs = fc.record({
        offsetMs: fc.nat({ max: 5_000 }).map((ms) => 30_000 - ms),
        jitters: jitters(),
        hasPauses: fc.boolean(),
      });
      fc.assert(
        fc.property(climbs, ({ offsetMs, ...path }) =>
          assertNoGap({ ...path, framesAt: climb(steps, offsetMs) }),
        ),
        { numRuns: RUNS, seed: 7 },
      );
      t.pass('as it grows by a step each 0.3 s');
    },
  );
}

t.test('a buffer that does not play slower has gaps', async (t) => {
  const jitter = make();
  const even = overriding(jitter, (nowMs) => {
    const piece = jitter.pull(nowMs);
    return piece.kind === 'packet' && piece.pace === 'short' ? { ...piece, pace: 'live' } : piece;
  });
  t.throws(() => assertNoGap({ framesAt: climb([1, 2, 3, 5], 29_000), jitters: [0, 10, 3] }, even), /gaps/);
});

t.test('on an even path every packet waits 40 ms, with any jitter up to 10 ms', async (t) => {
  fc.assert(
    fc.property(jitters(), fc.boolean(), (each, hasPauses) => {
      const path = { framesAt: () => 1, jitters: each, hasPauses, lengthMs: 60_000 };
      const { jitter, played } = listen(path);
      const delays = [...new Set(delaysOf(played))];
      // Play begins by the first packet, so its jitter is in all delays.
      if (`${delays}` !== `${EVEN_MS + (each[0] ?? 0)}`) throw new Error(`delays of ${delays} ms`);
      if (jitter.targetMs !== 60 || played.some(isSlower)) throw new Error('played slower');
    }),
    { numRuns: 10 * RUNS, seed: 7 },
  );
  t.pass();
});

t.test('one packet that is 35 ms late does not delay the ones after it', async (t) => {
  const late = Array.from({ length: 500 }, (_, i) => (i === 100 ? 35 : 0));
  const { jitter, played } = listen({ framesAt: () => 1, jitters: late, lengthMs: 10_000 });
  t.same([...new Set(delaysOf(played))], [EVEN_MS]);
  t.equal(jitter.counts.underruns, 0);
});

t.test('a burst that begins while audio is held has no gap, and is not cut short', async (t) => {
  for (const frames of [2, 3, 5]) {
    const isWhole = fc.property(jitters(), (each) => {
      const { jitter, played } = listen({ framesAt: () => frames, jitters: each, lengthMs: 3_000 });
      const { underruns, missing } = jitter.counts;
      if (underruns + missing > 0) throw new Error(`${underruns} gaps, ${missing} packets missing`);
      const [first = 0] = delaysOf(played);
      // The second packet is there after so many frames, and the player asks once in a period.
      const most = frames * PERIOD_MS + 10 + PERIOD_MS;
      if (first > most) throw new Error(`begins after ${first} ms, at most ${most}`);
    });
    fc.assert(isWhole, { numRuns: 20 * RUNS, seed: 7 });
  }
  t.pass();
});

t.test('a burst of one packet is played 80 ms later than others, and at once after its end', async (t) => {
  const kindsUntilPlayed = (isEnded: boolean) => {
    const jitter = make();
    jitter.push(0, Uint8Array.of(1), 0);
    if (isEnded) jitter.end();
    let pulls = 0;
    while (jitter.pull(pulls * PERIOD_MS).kind !== 'packet') pulls += 1;
    return pulls * PERIOD_MS;
  };
  t.equal(kindsUntilPlayed(true), 60);
  t.equal(kindsUntilPlayed(false), 140);
});

t.test('10 s after the last cluster the delay is worked off in pauses', async (t) => {
  const framesAt = (saidMs: number) => (saidMs < 5_000 ? 1 : saidMs < 15_000 ? 5 : 1);
  const { played } = listen({ framesAt, jitters: [0, 2, 5], hasPauses: true, lengthMs: 40_000 });
  const at = (ms: number) => delaysOf(played.filter(({ atMs }) => atMs >= ms && atMs < ms + 1_000));
  t.ok(Math.min(...at(14_000)) > 100, `${at(14_000)[0]} ms in clusters`);
  t.ok(Math.max(...at(30_000)) < EVEN_MS + PERIOD_MS, `${at(30_000)[0]} ms after them`);
});

// A relay goes from one step to the next, so no talk has this. The packet comes 40 ms late and its jitter, and is due
// 40 ms after it was sent. It is known to be late when one packet is left, which would have to last 30 ms.
t.test('clusters of 60 ms that begin at once cost one gap at most', async (t) => {
  const isShort = fc.property(jitters(), fc.nat({ max: 5_000 }), (each, offsetMs) => {
    const framesAt = (saidMs: number) => ((saidMs + offsetMs) % 20_000 < 10_000 ? 1 : 3);
    const { jitter } = listen({ framesAt, jitters: each, lengthMs: 60_000 });
    if (jitter.counts.underruns > 1) throw new Error(`${jitter.counts.underruns} gaps`);
  });
  fc.assert(isShort, { numRuns: 10 * RUNS, seed: 7 });
  t.pass();
});
