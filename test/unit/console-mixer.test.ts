// The player of the audio thread: queues, fades, volumes and sides.
import t from 'tap';
import { FRAME_SAMPLES, type Samples } from '../../src/client/sound/codec.js';
import { type Choice, gainsOf, levelOf } from '../../src/client/sound/gains.js';
import { createMixer } from '../../src/client/sound/mixer.js';
import type { FromPlayer, ToPlayer } from '../../src/client/sound/ports.js';
import { type FakePort, fakePort } from '../helpers/sound/fake-port.js';
import { joined, largestStep, levelAt, sine } from '../helpers/sound/tones.js';

const QUANTUM = 128;

function setUp() {
  const mixer = createMixer(48_000);
  const loud: Choice = { volume: 1, isMuted: false, side: null };
  return {
    mixer,
    /** A talkgroup at this place. */
    add(place: number, choice: Partial<Choice> = {}, hasSecond = false) {
      const port: FakePort<FromPlayer, ToPlayer> = fakePort();
      mixer.receive({ kind: 'add', place, port, gains: gainsOf({ ...loud, ...choice }, hasSecond) });
      return port;
    },
    choose(place: number, choice: Partial<Choice>, hasSecond = false) {
      mixer.receive({ kind: 'gains', place, gains: gainsOf({ ...loud, ...choice }, hasSecond) });
    },
    /** Left, right, and both sides of the second output, for at least so many samples. */
    run(samples: number): [Samples, Samples, Samples, Samples] {
      const parts: Samples[][] = [[], [], [], []];
      for (let at = 0; at < samples; at += QUANTUM) {
        const out = parts.map(() => new Float32Array(QUANTUM));
        mixer.mix(out.slice(0, 2), out.slice(2));
        for (const [i, part] of parts.entries()) part.push(out[i] ?? new Float32Array(QUANTUM));
      }
      const [left = [], right = [], one = [], other = []] = parts;
      return [joined(left), joined(right), joined(one), joined(other)];
    },
  };
}

const play = (voice: number, samples: Samples | null, length = FRAME_SAMPLES): ToPlayer => ({
  kind: 'play',
  voice,
  samples,
  length,
  due: length,
});

/** A tone in pieces of 20 ms. */
const tone = (hz: number, pieces: number, peakDb = -12) =>
  Array.from({ length: pieces }, (_, i) => sine(hz, FRAME_SAMPLES, { from: i * FRAME_SAMPLES, peakDb }));

t.test('the player says its rate, and each piece that it has played', async (t) => {
  const { add, run } = setUp();
  const port = add(0);
  t.same(port.take(), [{ kind: 'rate', rate: 48_000 }]);
  for (const samples of tone(440, 2)) port.says(play(5, samples));
  run(FRAME_SAMPLES - QUANTUM);
  t.same(port.take(), []);
  run(QUANTUM);
  t.same(port.take(), [{ kind: 'played', voice: 5, due: FRAME_SAMPLES }]);
  run(FRAME_SAMPLES + QUANTUM);
  t.equal(port.take().length, 1);
});

t.test('talkers of a talkgroup are mixed, and volume, mute and side change their level', async (t) => {
  const { mixer, add, choose, run } = setUp();
  const port = add(0);
  const speak = () => {
    // The volume changes within a quantum.
    run(QUANTUM);
    mixer.powers();
    for (const samples of tone(440, 10)) port.says(play(1, samples));
    for (const samples of tone(1_000, 10)) port.says(play(2, samples));
    const [left, right] = run(10 * FRAME_SAMPLES).map((part) => part.subarray(1_000, 9_000));
    const levels = [left, right].map((part = new Float32Array(0)) => levelAt(440, part));
    t.ok(Math.abs(levelAt(1_000, left ?? new Float32Array(0)) - (levels[0] ?? 0)) < 0.5, 'both talkers');
    return { levels, level: levelOf(mixer.powers()?.[0] ?? 0) };
  };
  const near = (found: readonly number[], wanted: readonly number[]) =>
    t.ok(
      found.every((level, i) => Math.abs(level - (wanted[i] ?? 0)) < 0.5),
      `${found} and not ${wanted}`,
    );
  const loud = speak();
  near(loud.levels, [-15, -15]);
  near([loud.level], [-12]);
  choose(0, { volume: 0.1 });
  const quiet = speak();
  near(quiet.levels, [-35, -35]);
  near([quiet.level], [-32]);
  choose(0, { side: 'selected' });
  const { levels } = speak();
  near(levels.slice(0, 1), [-12]);
  t.ok((levels[1] ?? 0) < -90, 'nothing on the right');
});

t.test('a muted talkgroup is silent, and plays on', async (t) => {
  const { mixer, add, run } = setUp();
  const port = add(0, { isMuted: true });
  for (const samples of tone(440, 2)) port.says(play(1, samples));
  const all = joined(run(3 * FRAME_SAMPLES));
  t.ok(all.every((sample) => sample === 0));
  t.equal(port.take().length, 3);
  t.equal(levelOf(mixer.powers()?.[0] ?? 0), Number.NEGATIVE_INFINITY);
});

t.test('with a second output what is not selected plays there', async (t) => {
  const { add, run } = setUp();
  const [selected, unselected] = [add(0, { side: 'selected' }, true), add(1, { side: 'unselected' }, true)];
  for (const samples of tone(440, 10)) selected.says(play(1, samples));
  for (const samples of tone(1_000, 10)) unselected.says(play(1, samples));
  const [left, , second] = run(10 * FRAME_SAMPLES);
  t.ok(levelAt(440, left) > -20 && levelAt(1_000, left) < -60);
  t.ok(levelAt(1_000, second) > -20 && levelAt(440, second) < -60);
});

t.test('sound that breaks off, begins, is dropped or meets silence has no step', async (t) => {
  const smooth = largestStep(joined(tone(440, 10))) * 1.5;
  const { add, run } = setUp();
  const port = add(0, { side: 'selected' });
  const [one, two, three, four, five] = tone(440, 5) as [Samples, Samples, Samples, Samples, Samples];
  // A piece that ends at a peak, so that breaking off would be a step of the whole amplitude.
  const peak = one.slice(0, 27 + 109 * 8);
  port.says(play(1, peak, peak.length));
  const late = run(2_000)[0];
  t.ok(Math.abs(peak.at(-1) ?? 0) > 0.2, 'it ends at a peak');
  t.ok(largestStep(late) < smooth, `${largestStep(late)} when the next piece is late`);
  for (const samples of [two, null, three]) port.says(play(1, samples));
  const holed = run(3 * FRAME_SAMPLES)[0];
  t.ok(largestStep(holed) < smooth, `${largestStep(holed)} around a silence`);
  t.ok(levelAt(440, holed) > -30);
  for (const samples of [four, five]) port.says(play(2, samples));
  const before = run(500)[0];
  port.says({ kind: 'drop', voice: 2 });
  const dropped = run(1_500)[0];
  t.ok(largestStep(joined([before, dropped])) < smooth, `${largestStep(dropped)} when it is dropped`);
  t.ok(dropped.subarray(300).every((sample) => sample === 0));
});

t.test('a 13th piece in a queue is not played, and is reported as played', async (t) => {
  const { add, run } = setUp();
  const port = add(0);
  port.take();
  for (const samples of tone(440, 13)) port.says(play(1, samples));
  t.equal(port.take().length, 1);
  run(20 * FRAME_SAMPLES);
  t.equal(port.take().length, 12);
});

t.test('ten loud talkers at once stay within the full scale', async (t) => {
  const { add, run } = setUp();
  const port = add(0);
  for (let voice = 0; voice < 10; voice++)
    for (const samples of tone(300 + voice * 40, 5, -3)) port.says(play(voice, samples));
  const [left] = run(5 * FRAME_SAMPLES);
  t.ok(left.every((sample) => Math.abs(sample) <= 1));
  t.ok(left.some((sample) => Math.abs(sample) > 0.5));
});

t.test('a talkgroup that was removed is silent, and its place can be taken', async (t) => {
  const { mixer, add, run } = setUp();
  const port = add(0);
  for (const samples of tone(440, 5)) port.says(play(1, samples));
  run(QUANTUM);
  mixer.receive({ kind: 'remove', place: 0 });
  t.ok(port.isClosed);
  t.ok(run(QUANTUM)[0].every((sample) => sample === 0));
  const next = add(0);
  next.says(play(1, tone(440, 1)[0] ?? null));
  t.ok(run(FRAME_SAMPLES)[0].some((sample) => sample !== 0));
});
