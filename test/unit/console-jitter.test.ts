// The jitter buffer of the console against random arrivals. Each property is also tried on a buffer that breaks it.
import fc from 'fast-check';
import t from 'tap';
import { createJitter, JITTER, type Jitter } from '../../src/client/sound/jitter.js';
import {
  type Arrival,
  listenTo,
  overriding,
  PERIOD_MS,
  type Played,
  sequencesOf,
  WORKED_OFF_MS,
} from '../helpers/sound/listening.js';

const RUNS = Number(process.env.PROVE_RUNS ?? 3_000) / 10;
/** The way of every packet takes at least this time. */
const WAY_MS = 30;

/** What happens around one packet. `stallMs`: the network holds it and all that follow. */
type Step = {
  stallMs: number;
  jitterMs: number;
  pause: number;
  isLost: boolean;
  isTwice: boolean;
  isQuiet: boolean;
};

const step: fc.Arbitrary<Step> = fc.record({
  stallMs: fc.oneof(
    { weight: 30, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 200 }) },
    { weight: 1, arbitrary: fc.integer({ min: 200, max: 1_400 }) },
  ),
  jitterMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 90 })),
  pause: fc.oneof(
    { weight: 30, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 6 }) },
    { weight: 1, arbitrary: fc.integer({ min: 7, max: 90 }) },
  ),
  isLost: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.boolean()),
  isTwice: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.boolean()),
  isQuiet: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.boolean()),
});

type History = { first: number; steps: Step[]; isUnordered: boolean };

const history: fc.Arbitrary<History> = fc.record({
  first: fc.constantFrom(0, 65_530, 1_000_000),
  steps: fc.array(step, { minLength: 1, maxLength: 300 }),
  /** Packets overtake each other, as over a datagram network. */
  isUnordered: fc.boolean(),
});

/** The packets of a history, and `calmMs` of steady speech after it. */
function arrivalsOf({ first, steps, isUnordered }: History, calmMs = 0): Arrival[] {
  const arrivals: Arrival[] = [];
  let sequence = first;
  let heldUntilMs = 0;
  const say = ({ stallMs, jitterMs, pause, isLost, isTwice, isQuiet }: Step) => {
    sequence += pause;
    const saidMs = (sequence - first) * PERIOD_MS;
    const at = saidMs + WAY_MS + jitterMs;
    heldUntilMs = Math.max(heldUntilMs, saidMs + WAY_MS + stallMs);
    const arrivesMs = isUnordered && stallMs === 0 ? at : Math.max(at, heldUntilMs);
    if (!isUnordered) heldUntilMs = arrivesMs;
    const arrival = { sequence, saidMs, arrivesMs, isPause: isQuiet };
    if (!isLost || sequence === first) arrivals.push(arrival);
    if (isTwice) arrivals.push({ ...arrival, arrivesMs: arrivesMs + jitterMs });
    sequence += 1;
  };
  for (const one of steps) say(one);
  const steady = { stallMs: 0, jitterMs: 0, pause: 0, isLost: false, isTwice: false, isQuiet: false };
  for (let i = 0; i < calmMs / PERIOD_MS; i++) say(steady);
  return arrivals;
}

type Make = () => Jitter;

const make: Make = () => createJitter(PERIOD_MS);

/** Checks a promise for many histories. Throws when one breaks it. */
function assertFor(promise: (made: Jitter, history: History) => void, jitter: Make, runs = RUNS): void {
  const { failed, errorInstance, counterexample } = fc.check(
    fc.property(history, (one) => promise(jitter(), one)),
    { numRuns: runs, seed: 7 },
  );
  if (failed) throw new Error(`${errorInstance}: ${JSON.stringify(counterexample)}`);
}

const lengthMs = (arrivals: readonly Arrival[]) =>
  Math.max(...arrivals.map(({ arrivesMs }) => arrivesMs)) + 20_000;

function playsAscending(jitter: Jitter, history: History): void {
  const arrivals = arrivalsOf(history);
  const sequences = sequencesOf(listenTo(jitter, arrivals, lengthMs(arrivals)));
  for (const [i, sequence] of sequences.entries()) {
    const before = sequences[i - 1] ?? Number.NEGATIVE_INFINITY;
    if (sequence === before) throw new Error(`${sequence} twice`);
    if (sequence < before) throw new Error(`${sequence} after ${before}`);
  }
}

function countsHoles(jitter: Jitter, history: History): void {
  const arrivals = arrivalsOf(history);
  const sequences = sequencesOf(listenTo(jitter, arrivals, lengthMs(arrivals)));
  const [first = 0] = sequences;
  const { played, leftOut, missing, dropped } = jitter.counts;
  if (dropped > 0) return; // then packets before the first one may be among them
  if (played + leftOut !== sequences.length) throw new Error('not every packet is counted once');
  const last = sequences.at(-1) ?? -1;
  const holes = last - first + 1 - sequences.length;
  if (missing !== holes) throw new Error(`${missing} counted of ${holes}`);
}

function catchesUp(jitter: Jitter, history: History): void {
  const arrivals = arrivalsOf(history, WORKED_OFF_MS + 2_000);
  const played = listenTo(jitter, arrivals, lengthMs(arrivals));
  const endMs = arrivals.at(-1)?.arrivesMs ?? 0;
  const end = played.filter(({ kind, atMs }) => kind === 'packet' && atMs > endMs - 1_000 && atMs < endMs);
  const latest = Math.max(...end.map(({ delayMs }) => delayMs)) - WAY_MS;
  // Two periods for the phase between arrivals and pulls.
  const most = jitter.targetMs + JITTER.excessMsMax + 2 * PERIOD_MS;
  if (end.length === 0 || latest > most) throw new Error(`${latest} ms late, at most ${most}`);
}

/** The longest run of concealed periods. */
function concealedIn(played: readonly Played[]): number {
  let [run, longest] = [0, 0];
  for (const { kind } of played) {
    run = kind === 'lost' ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

function concealsLittle(jitter: Jitter, history: History): void {
  const arrivals = arrivalsOf(history);
  const longest = concealedIn(listenTo(jitter, arrivals, lengthMs(arrivals)));
  if (longest * PERIOD_MS > JITTER.concealedMsMax) throw new Error(`${longest} in a row`);
}

t.test('no packet is played twice or after a later one', async () => assertFor(playsAscending, make));

t.test('every sequence number that is not played is counted as missing', async () =>
  assertFor(countsHoles, make),
);

t.test('30 s after any history of arrivals, speech is at most 200 ms later than the target', async () =>
  assertFor(catchesUp, make, RUNS / 3),
);

t.test('concealment never replaces a long silence', async () => assertFor(concealsLittle, make));

t.test('a buffer that plays a packet twice is found', async (t) => {
  const twice: Make = () => {
    const jitter = make();
    let last: ReturnType<Jitter['pull']> | null = null;
    return overriding(jitter, (nowMs) => {
      const again = last?.kind === 'packet' && last.sequence % 50 === 7 ? last : null;
      last = again ? null : jitter.pull(nowMs);
      return again ?? last ?? { kind: 'silence' };
    });
  };
  t.throws(() => assertFor(playsAscending, twice), /twice/);
});

t.test('a buffer that keeps the order of arrival is found', async (t) => {
  const unordered: Make = () => {
    const jitter = make();
    const arrived: { sequence: number; payload: Uint8Array }[] = [];
    const known = new Set<number>();
    return {
      ...overriding(jitter, () => {
        const next = arrived.shift();
        return next ? { kind: 'packet', ...next, pace: 'live' } : { kind: 'silence' };
      }),
      push(sequence, payload) {
        if (!known.has(sequence)) arrived.push({ sequence, payload });
        known.add(sequence);
      },
    };
  };
  t.throws(() => assertFor(playsAscending, unordered), /after/);
});

t.test('a buffer that forgets a hole is found', async (t) => {
  const forgetful: Make = () => {
    const jitter = make();
    return {
      ...overriding(jitter, jitter.pull),
      get counts() {
        return { ...jitter.counts, missing: Math.max(0, jitter.counts.missing - 1) };
      },
    };
  };
  t.throws(() => assertFor(countsHoles, forgetful), /counted of/);
});

t.test('a buffer that never works off a delay is found', async (t) => {
  const slow: Make = () => {
    const jitter = make();
    return overriding(jitter, (nowMs) => {
      const piece = jitter.pull(nowMs);
      return piece.kind === 'packet' ? { ...piece, pace: 'live' } : piece;
    });
  };
  t.throws(() => assertFor(catchesUp, slow, RUNS / 3), /late/);
});

t.test('a buffer that conceals a long silence is found', async (t) => {
  const humming: Make = () => {
    const jitter = make();
    return overriding(jitter, (nowMs) => {
      const piece = jitter.pull(nowMs);
      return piece.kind === 'silence' ? { kind: 'lost' } : piece;
    });
  };
  t.throws(() => assertFor(concealsLittle, humming), /in a row/);
});

const packet = Uint8Array.of(8);
const kindsOf = (jitter: Jitter, count: number, nowMs = 0) =>
  Array.from({ length: count }, () => {
    const piece = jitter.pull(nowMs);
    return piece.kind === 'packet' ? piece.sequence : piece.kind;
  });

t.test('play begins 60 ms after the first packet', async (t) => {
  const jitter = make();
  for (const sequence of [0, 1, 2, 3]) jitter.push(sequence, packet, 0);
  t.same(kindsOf(jitter, 6), ['silence', 'silence', 'silence', 0, 1, 2]);
});

t.test('60 ms that are missing are concealed, more are silence', async (t) => {
  const jitter = make();
  for (const sequence of [0, 4, 9]) jitter.push(sequence, packet, 0);
  kindsOf(jitter, 3);
  t.same(kindsOf(jitter, 10), [0, 'lost', 'lost', 'lost', 4, ...Array(4).fill('silence'), 9]);
  t.equal(jitter.counts.missing, 7);
});

t.test(
  'an underrun adds 20 ms to the target up to 300 ms, and 10 s without one take 20 ms away',
  async (t) => {
    const jitter = make();
    let sequence = 0;
    let nowMs = 0;
    const next = (isThere: boolean) => {
      if (isThere) jitter.push(sequence++, packet, nowMs);
      jitter.pull(nowMs);
      nowMs += PERIOD_MS;
    };
    for (let i = 0; i < 5; i++) next(true);
    const targets = [jitter.targetMs];
    for (let underrun = 1; underrun <= 14; underrun++) {
      // Until the queue is empty, and one period longer.
      for (let i = 0; i < 8 && jitter.queuedMs > 0; i++) next(false);
      next(false);
      for (let i = 0; i < 3; i++) next(true);
      targets.push(jitter.targetMs);
    }
    t.same(targets.slice(0, 4), [60, 80, 100, 120]);
    t.equal(targets.at(-1), 300);
    t.equal(jitter.counts.underruns, 14);
    for (let i = 0; i < 505; i++) next(true);
    t.equal(jitter.targetMs, 280);
  },
);

t.test('a delay from the start of a burst is worked off in the first pause after 2 s', async (t) => {
  const jitter = make();
  // Eight packets at once: the thread was busy. The queue holds 160 ms from then on.
  for (let sequence = 0; sequence < 8; sequence++) jitter.push(sequence, packet, 0);
  const paceAt = (period: number) => {
    jitter.push(8 + period, packet, period * PERIOD_MS);
    const piece = jitter.pull(period * PERIOD_MS);
    return piece.kind === 'packet' ? piece.pace : piece.kind;
  };
  const paces = Array.from({ length: 120 }, (_, period) => paceAt(period));
  t.same([...new Set(paces.slice(0, 100))], ['silence', 'live']);
  t.equal(paces.at(-1), 'surplus');
  // The player leaves out pauses, and pulls once more for each.
  for (let period = 120; period < 140; period++) {
    if (paceAt(period) !== 'surplus') continue;
    jitter.leftOut();
    jitter.pull(period * PERIOD_MS);
  }
  // One period was just played.
  t.equal(jitter.queuedMs + PERIOD_MS, jitter.targetMs);
});

t.test('a pause of the talker is no underrun, and takes as long as it was', async (t) => {
  const jitter = make();
  const arrivals = [0, 1, 2, 3, 4, 25, 26, 27].map((sequence) => ({
    ...{ sequence, saidMs: sequence * PERIOD_MS, arrivesMs: sequence * PERIOD_MS, isPause: false },
  }));
  const played = listenTo(jitter, arrivals, 700);
  const delays = played.flatMap(({ kind, delayMs }) => (kind === 'packet' ? [delayMs] : []));
  t.equal(new Set(delays).size, 1, `delays ${delays}`);
  t.match(jitter.counts, { underruns: 0, missing: 20, played: 8 });
});

t.test('LAG empties the buffer, and the next packet begins as the first one did', async (t) => {
  const jitter = make();
  for (const sequence of [0, 1, 2, 3, 4]) jitter.push(sequence, packet, 0);
  kindsOf(jitter, 4);
  jitter.clear();
  t.equal(jitter.queuedMs, 0);
  jitter.push(2, packet, 10);
  for (const sequence of [90, 91]) jitter.push(sequence, packet, 20);
  t.same(kindsOf(jitter, 5), ['silence', 'silence', 'silence', 90, 91]);
  t.match(jitter.counts, { played: 3, dropped: 4, missing: 85, unused: 1 });
});

t.test('after the end of the burst the rest is played, then it is over', async (t) => {
  const jitter = make();
  for (const sequence of [0, 1]) jitter.push(sequence, packet, 0);
  jitter.end();
  t.same(kindsOf(jitter, 6), ['silence', 'silence', 'silence', 0, 1, 'over']);
});

t.test('a burst without an end is over after 10 s of silence', async (t) => {
  const jitter = make();
  jitter.push(0, packet, 0);
  const kinds = kindsOf(jitter, 600);
  t.equal(kinds.indexOf('over'), 3 + 1 + 500);
});

t.test('a player that stands still finds the newest 1.5 s', async (t) => {
  const jitter = make();
  for (let sequence = 0; sequence < 10_000; sequence++) jitter.push(sequence, packet, sequence * PERIOD_MS);
  t.equal(jitter.queuedMs, JITTER.queueMsMax);
  t.match(kindsOf(jitter, 4), ['silence', 'silence', 'silence', 9_925]);
});
