// The bench scenario `overload`: what a listener hears through the jitter buffer, where the load of a server ends, and the
// account of frames and events while the load rises and falls.
import t from 'tap';
import { ascendInTurns, type Climber } from '../../bench/experiments/ascent.js';
import { BARE, windowed } from '../../bench/experiments/lineup.js';
import { createRecorder } from '../../bench/figures/histogram.js';
import type { CallsPlayed } from '../../bench/generator/loads/surges/calls.js';
import { passagesOf } from '../../bench/generator/loads/surges/passages.js';
import type { SurgesPlayed } from '../../bench/generator/loads/surges/surges.js';
import { nowMs } from '../../bench/machine/clock.js';
import { type Arrival, createEars, listenWith } from '../../bench/radios/ears.js';
import { newReceipts, Receipt, type Receipts } from '../../bench/radios/receipts.js';
import { type Played, reportOf, type Told } from '../../bench/scenarios/overload/report.js';
import { SURGES, type SurgesTold } from '../../bench/scenarios/overload/surges.js';
import { reportOfSurges } from '../../bench/scenarios/overload/surges-report.js';
import { END, START } from '../../src/protocol/frame.js';

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

t.test('talkers that come and go begin and end each of their bursts once', async (t) => {
  const score = passagesOf([
    { name: 'calm', talkers: 1, frames: 3 },
    { name: 'surge', talkers: 3, frames: 250 },
    { name: 'calm', talkers: 1, frames: 4 },
  ]);
  t.equal(score.frames, 257);
  t.strictSame([0, 2, 3, 252, 253, 256].map(score.passageAt), [0, 0, 1, 1, 2, 2]);
  const flagsOf = (talker: number) => Array.from({ length: 258 }, (_, frame) => score.flagsAt(talker, frame));
  for (const talker of [0, 1, 2]) {
    const flags = flagsOf(talker);
    const spoken = flags.filter((one) => one !== null);
    t.equal(spoken.length, talker === 0 ? 257 : 250);
    t.equal(flags.indexOf(START), talker === 0 ? 0 : 3);
    t.equal(spoken.at(-1), END);
    const edges = spoken.filter((one) => one !== 0);
    t.strictSame(
      edges,
      edges.map((_, i) => (i % 2 === 0 ? START : END)),
    );
    t.ok(edges.length >= 6, 'a burst lasts 2 s');
  }
  t.equal(flagsOf(0)[2], 0, 'a talker on both sides talks on');
});

/** A listener of talkgroup `fire` after WELCOME, in a burst. */
function listener() {
  const all = newReceipts();
  const receipt = new Receipt('fire', all);
  receipt.told({ type: 'WELCOME', talkgroups: [{ talkgroup_id: 'fire', event: 6 }] });
  receipt.told({ type: 'TALK_STARTED', event: 7, burst: 1 });
  const hears = (...sequences: readonly number[]) => {
    for (const sequence of sequences) receipt.take(sequence, 1, nowMs(), nowMs());
  };
  const lags = (missed: number) =>
    receipt.told({ type: 'LAG', talkgroups: [{ talkgroup_id: 'fire', missed }], since_ms: 10 });
  /** What is not 0. */
  const counts = (): Partial<Receipts> =>
    Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0));
  return { receipt, hears, lags, counts };
}

t.test('a listener that was given everything once and in order has nothing to complain of', async (t) => {
  const { receipt, hears, counts } = listener();
  hears(0, 1, 2);
  t.notOk(receipt.isComplete(3, 8));
  receipt.told({ type: 'TALK_ENDED', event: 8, burst: 1 });
  t.ok(receipt.isComplete(3, 8));
  receipt.close(3, 8);
  t.strictSame(counts(), { received: 3 });
});

t.test('a lost, a late and a repeated frame are told apart', async (t) => {
  const { receipt, hears, counts } = listener();
  hears(0, 3, 1, 3);
  receipt.close(6, 7);
  t.strictSame(counts(), { received: 3, untold: 3, outOfOrder: 1, repeated: 1 }, 'lost are 2, 4 and 5');
});

t.test('LAG has to name exactly the frames that did not come', async (t) => {
  const exact = listener();
  exact.receipt.take(0, 1, nowMs() - 600, nowMs());
  exact.lags(4);
  exact.hears(5, 6);
  exact.receipt.close(7, 7);
  t.strictSame(exact.counts(), { received: 3, lags: 1, missed: 4 });

  const low = listener();
  low.receipt.take(0, 1, nowMs() - 600, nowMs());
  low.lags(3);
  low.hears(5, 6);
  t.strictSame(low.counts(), { received: 3, lags: 1, missed: 3, untold: 1 });

  const high = listener();
  high.receipt.take(0, 1, nowMs() - 600, nowMs());
  high.lags(5);
  high.hears(5, 6);
  t.strictSame(high.counts(), { received: 3, lags: 1, missed: 5, overtold: 1 });

  const atTheEnd = listener();
  atTheEnd.receipt.take(0, 1, nowMs() - 600, nowMs());
  atTheEnd.lags(5);
  atTheEnd.receipt.close(5, 7);
  t.strictSame(atTheEnd.counts(), { received: 1, lags: 1, missed: 5, overtold: 1 });
});

t.test('LAG to a listener that read each frame in time is wrong', async (t) => {
  const { hears, lags, counts } = listener();
  hears(0);
  lags(0);
  t.strictSame(counts(), { received: 1, lags: 1, wrongLags: 1 });
});

t.test('a hole and a repeat of event numbers count, and so does a frame outside of its burst', async (t) => {
  const { receipt, hears, counts } = listener();
  hears(0);
  receipt.told({ type: 'TALK_ENDED', event: 8, burst: 1 });
  hears(1);
  receipt.told({ type: 'TALK_STARTED', event: 11, burst: 1 });
  receipt.told({ type: 'TALK_ENDED', event: 11, burst: 1 });
  receipt.close(2, 12);
  t.strictSame(counts(), { received: 2, misplaced: 1, eventsMissing: 3, eventsRepeated: 1 });
  receipt.told({ type: 'SUBSCRIBED', talkgroups: [{ talkgroup_id: 'fire', event: 20 }] });
  receipt.told({ type: 'TALK_STARTED', event: 21, burst: 2 });
  t.equal(counts().eventsMissing, 3, 'a snapshot begins anew');
});

const latencyOf = (p99Ms: number) => {
  const recorder = createRecorder();
  recorder.record(p99Ms);
  return recorder.latency();
};

function surged(more: Partial<SurgesPlayed> = {}): SurgesPlayed {
  const shares = { serverShare: 0.5, generatorShare: 0.5, generatorShares: [0.5], othersShare: 0 };
  const conditions = { ...shares, late: latencyOf(1) };
  const passed = ['calm', 'surge'].map((name) => ({
    ...conditions,
    ...{ name, ms: 1000, deliveries: 2000, latency: latencyOf(40) },
  }));
  return {
    ...newReceipts(),
    ...{ passed, conditions, sent: 100, relayed: 100, rejected: 0, bursts: 2, stalls: 0, received: 4900 },
    ...more,
  };
}

const called = (p99Ms: number, more: Partial<CallsPlayed> = {}): CallsPlayed => ({
  ...{ pressed: latencyOf(p99Ms), firstFrame: latencyOf(p99Ms), emergency: latencyOf(p99Ms) },
  ...{ deniedBy: {}, unanswered: 0, lost: 0, late: latencyOf(1), generatorShare: 0.1 },
  ...more,
});

const toldOfSurges = (more: Partial<SurgesTold> = {}): SurgesTold => ({
  ...{ plan: SURGES, talkers: 20, talkersMost: 60, perTalker: 100, windowMs: 60 },
  ...{ surges: surged(), beside: surged(), heldSeconds: { 40: 1, 60: 2 } },
  calls: { alone: called(10), loaded: called(60) },
  ...more,
});

t.test('a surge in which all is accounted for meets its goals, whatever LAG told', async (t) => {
  const verdicts = (told: SurgesTold) =>
    reportOfSurges(told).goals.flatMap(({ atMost, isMet }) => (atMost === undefined ? [] : [isMet]));
  const met = Array.from({ length: 10 }, () => true);
  t.strictSame(verdicts(toldOfSurges({ surges: surged({ lags: 5, missed: 40 }) })), met);
  const failures: readonly Partial<SurgesPlayed>[] = [
    { untold: 1 },
    { outOfOrder: 1 },
    { overtold: 1 },
    { wrongLags: 1 },
    { eventsMissing: 1 },
    { relayed: 99 },
  ];
  for (const [i, failure] of failures.entries())
    t.strictSame(verdicts(toldOfSurges({ beside: surged(failure) })), met.with(i, false), `goal ${i}`);
});

t.test(
  'calls are judged by how much later they come, unless one did not come or the generator was full',
  async (t) => {
    const verdicts = (told: SurgesTold) =>
      reportOfSurges(told).goals.flatMap(({ name, isMet }) => (name.startsWith('calls: ') ? [isMet] : []));
    const loaded = (one: CallsPlayed) => toldOfSurges({ calls: { alone: called(10), loaded: one } });
    t.strictSame(verdicts(loaded(called(69))), [true, true, true, true]);
    t.strictSame(verdicts(loaded(called(72))), [true, false, false, false]);
    t.strictSame(verdicts(loaded(called(69, { lost: 1 }))), [false, null, null, null]);
    t.strictSame(verdicts(loaded(called(69, { deniedBy: { busy: 1 } }))), [false, null, null, null]);
    const conditions = { ...surged().conditions, generatorShare: 0.9 };
    t.strictSame(verdicts(toldOfSurges({ beside: surged({ conditions }) })), [true, null, null, null]);
  },
);
