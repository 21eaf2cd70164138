// The bench scenario `overload`: what a listener hears through the jitter buffer, and where the load of a server ends.
import t from 'tap';
import { ascendInTurns, type Climber } from '../../bench/experiments/ascent.js';
import { BARE, windowed } from '../../bench/experiments/lineup.js';
import { createRecorder } from '../../bench/figures/histogram.js';
import { type Arrival, createEars, listenWith } from '../../bench/radios/ears.js';
import { type Played, reportOf, type Told } from '../../bench/scenarios/overload/report.js';

/** Frames of 20 ms that leave `together` at a time, when the last of them is due, and take another 5 ms. */
const arrivals = (frames: number, together: number): Arrival[] =>
  Array.from({ length: frames }, (_, sequence) => {
    const last = sequence - (sequence % together) + together - 1;
    return { sequence, dueMs: 1000 + 20 * sequence, atMs: 1005 + 20 * last };
  });

t.test('frames that come one at a time are heard after the jitter buffer, without an underrun', async (t) => {
  const { mouthToEarMs, underrunsPerMinute } = listenWith([arrivals(200, 1), arrivals(200, 1)]);
  // The frame itself, 5 ms, 60 ms of the buffer, and the wait for the next period.
  t.ok(mouthToEarMs !== null && mouthToEarMs >= 85 && mouthToEarMs <= 105, `${mouthToEarMs} ms`);
  t.equal(underrunsPerMinute, 0);
});

t.test('frames that leave three at a time are heard two frames later', async (t) => {
  const alone = listenWith([arrivals(210, 1)]);
  const grouped = listenWith([arrivals(210, 3)]);
  t.equal((grouped.mouthToEarMs ?? 0) - (alone.mouthToEarMs ?? 0), 40);
  t.equal(grouped.underrunsPerMinute, 0);
});

t.test('a frame that comes 200 ms late is an underrun', async (t) => {
  const late = arrivals(200, 1).map((one) => (one.sequence >= 100 ? { ...one, atMs: one.atMs + 200 } : one));
  t.ok((listenWith([late]).underrunsPerMinute ?? 0) > 0);
});

t.test('without a frame there is nothing to hear', async (t) => {
  t.strictSame(listenWith([]), { mouthToEarMs: null, underrunsPerMinute: null });
});

t.test('every second probe notes what it hears, once', async (t) => {
  const ears = createEars([3, 8, 13], 2);
  for (const probe of [3, 8, 13]) ears?.note(probe, 7, 10);
  t.strictSame(
    ears?.take().map((heard) => heard.map(({ sequence }) => sequence)),
    [[7], [7]],
  );
  t.strictSame(ears?.take(), []);
  t.equal(createEars([3], undefined), null);
});

const SPEECH = { perTalker: 100, p99MsMax: 150 };

function step(talkers: number, p99Ms: number, more: Partial<Played> = {}): Played {
  const recorder = createRecorder();
  recorder.record(p99Ms);
  const late = createRecorder();
  late.record(1);
  const { hdr: _, ...latency } = recorder.latency();
  return {
    ...{ talkers, latency, cpuUs: 100, delivered: 50, received: 50, frames: 50, atMs: 0, durationMs: 1 },
    ...{ lost: 0, duplicated: 0, outOfOrder: 0, isWhole: true, lateMs: 1, late: late.latency() },
    ...{ serverShare: 0, generatorShare: 0.5, generatorShares: [0.5], othersShare: 0 },
    ...{ mouthToEarMs: 90, underrunsPerMinute: 0, lagged: null, windowMs: null },
    ...more,
  };
}

const climber = (name: string, play: (talkers: number) => Played, talkersMax = 100): Climber<Played> => ({
  name,
  talkersMax,
  play: async (talkers) => play(talkers),
});

t.test(
  'a server ends where speech breaks, where the generator is the limit, or without more load',
  async (t) => {
    const late = createRecorder();
    late.record(80);
    const ascents = await ascendInTurns(
      [
        climber('late', (talkers) => step(talkers, talkers > 2 ? 151 : 20)),
        climber('lossy', (talkers) => step(talkers, 20, { lost: talkers > 1 ? 1 : 0 })),
        climber('full generator', (talkers) =>
          step(talkers, 20, { generatorShare: talkers > 1 ? 0.9 : 0.1 }),
        ),
        climber('late generator', (talkers) =>
          step(talkers, talkers > 1 ? 200 : 100, { late: late.latency() }),
        ),
        climber('small', (talkers) => step(talkers, 20), 3),
      ],
      [1, 2, 3, 4],
      SPEECH,
    );
    t.strictSame(
      ascents.map(({ name, end, rungs }) => [name, end, rungs.map(({ isGood }) => isGood)]),
      [
        ['late', 'speech', [true, true, false]],
        ['lossy', 'speech', [true, false]],
        ['full generator', 'generator', [true, false]],
        ['late generator', 'generator', [true, false]],
        ['small', 'load', [true, true, true]],
      ],
    );
  },
);

async function told(relay: (talkers: number) => Played): Promise<Told> {
  const bare = climber(BARE, (talkers) => step(talkers, talkers > 2 ? 500 : 20));
  const ascents = await ascendInTurns([bare, climber(windowed(60), relay)], [1, 2, 3, 4, 5], SPEECH);
  return {
    plan: {
      ...{ talkgroups: 100, members: 50, windowsMs: [60], talkersFirst: 1, coarse: 2, fine: 1 },
      audience: { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 },
      piece: { leadFrames: 1, frames: 1, isBurst: true },
      ...{ multiples: [0.5, 1, 1.5, 2, 2.5], calmShare: 0.5, calmRounds: 1 },
    },
    speech: SPEECH,
    lineup: [],
    search: { talkers: 2, rungs: ascents[0]?.rungs ?? [] },
    calm: [],
    ascents,
  };
}

t.test('a capacity is the last load that was heard, and its ratio is judged', async (t) => {
  const verdictOf = async (relay: (talkers: number) => Played) => {
    const { goals } = reportOf(await told(relay));
    const goal = goals.find(({ name }) => name === `capacity, ${windowed(60)} / ${BARE}`);
    return [goal?.value, goal?.isMet];
  };
  t.strictSame(await verdictOf((talkers) => step(talkers, talkers > 4 ? 500 : 60)), [2, true]);
  t.strictSame(await verdictOf((talkers) => step(talkers, talkers > 3 ? 500 : 60)), [1.5, false]);
  const isFull = (talkers: number) => ({ generatorShare: talkers > 3 ? 0.9 : 0.5 });
  t.strictSame(await verdictOf((talkers) => step(talkers, 60, isFull(talkers))), [1.5, null]);
  t.strictSame(await verdictOf((talkers) => step(talkers, 60, { duplicated: 1 })), [2.5, null]);
});

t.test(
  'a line of the plot ends where speech breaks, and leaves out where the generator was the limit',
  async (t) => {
    const of = async (relay: (talkers: number) => Played) => {
      const [plot] = reportOf(await told(relay)).plots;
      if (plot?.kind !== 'curve') return t.fail('the first plot is a curve');
      return plot.series.find(({ name }) => name === windowed(60))?.points.map(([load]) => load);
    };
    t.strictSame(await of((talkers) => step(talkers, talkers > 3 ? 500 : 60)), [0.5, 1, 1.5, 2]);
    const isFull = (talkers: number) => ({ generatorShare: talkers > 3 ? 0.9 : 0.5 });
    t.strictSame(await of((talkers) => step(talkers, 60, isFull(talkers))), [0.5, 1, 1.5]);
  },
);
