// The Opus codec of the console, and how it makes speech faster or slower and changes rates.
import t from 'tap';
import { readOpus } from '../../src/client/audio/ogg.js';
import { opusMs } from '../../src/client/audio/opus.js';
import { createDecoder, createEncoder, FRAME_SAMPLES, type Samples } from '../../src/client/sound/codec.js';
import { createResampler } from '../../src/client/sound/resample.js';
import type { Voices } from '../../src/client/sound/sound-types.js';
import { createFaster, createSlower } from '../../src/client/sound/tempo.js';
import { codecBytes } from '../../src/console/worker/codec-bytes.js';
import { setUp } from '../helpers/client/desk-radio.js';
import { turn } from '../helpers/client/fakes.js';
import { joined, largestStep, levelAt, RATE, sine } from '../helpers/sound/tones.js';

const FRAMES = 50;

/** A tone as frames of 20 ms. */
const framesOf = (hz: number, count = FRAMES) =>
  Array.from({ length: count }, (_, i) => sine(hz, FRAME_SAMPLES, { from: i * FRAME_SAMPLES }));

t.test('every frame becomes a packet of 60 bytes and 20 ms, and comes back as the same tone', async (t) => {
  const encoder = await createEncoder();
  const decoder = await createDecoder();
  t.teardown(() => {
    encoder.free();
    decoder.free();
  });
  const packets = framesOf(1_000).map((frame) => encoder.encode(frame));
  t.same([...new Set(packets.map(({ length }) => length))], [60]);
  t.same([...new Set(packets.map(opusMs))], [20]);
  const heard = joined(packets.map((packet) => decoder.decode(packet)));
  t.equal(heard.length, FRAMES * FRAME_SAMPLES);
  const settled = heard.subarray(10 * FRAME_SAMPLES);
  t.ok(Math.abs(levelAt(1_000, settled) + 12) < 1.5, `${levelAt(1_000, settled)} dBFS`);
  t.ok(levelAt(1_600, settled) < -35, `${levelAt(1_600, settled)} dBFS at another frequency`);
});

t.test('a lost packet is concealed by 20 ms of the same tone, and so is one that is not Opus', async (t) => {
  const encoder = await createEncoder();
  t.teardown(() => encoder.free());
  const packets = framesOf(440).map((frame) => encoder.encode(frame));
  for (const lost of [null, Uint8Array.of(0xff, 0xff, 0xff, 1, 2)]) {
    const decoder = await createDecoder();
    for (const packet of packets.slice(0, 30)) decoder.decode(packet);
    const concealed = decoder.decode(lost);
    t.equal(concealed.length, FRAME_SAMPLES);
    t.ok(levelAt(440, concealed) > -20, `${levelAt(440, concealed)} dBFS`);
    decoder.free();
  }
});

t.test('the recording of the repository is speech for the decoder, without a step in it', async (t) => {
  const decoder = await createDecoder();
  t.teardown(() => decoder.free());
  const { packets } = await readOpus('bench/speech.ogg');
  const heard = joined(packets.map((packet) => decoder.decode(packet)));
  t.equal(heard.length, packets.length * FRAME_SAMPLES);
  t.ok(heard.some((sample) => Math.abs(sample) > 0.05));
  t.ok(largestStep(heard) < 0.5);
});

t.test('faster play takes 5 % less time, at the same pitch and without a step', async (t) => {
  for (const hz of [110, 205, 390]) {
    const faster = createFaster();
    const frames = framesOf(hz, 200);
    const heard = joined(frames.map(faster));
    const share = heard.length / (frames.length * FRAME_SAMPLES);
    t.ok(Math.abs(share - 0.95) < 0.005, `${hz} Hz: ${share}`);
    t.ok(levelAt(hz, heard) > -14, `${hz} Hz: ${levelAt(hz, heard)} dBFS`);
    t.ok(largestStep(heard) < 1.5 * largestStep(joined(frames)), `${hz} Hz`);
  }
});

t.test('slower play takes 20 % more time, at the same pitch and without a step', async (t) => {
  for (const hz of [85, 110, 205, 390]) {
    const slower = createSlower();
    const frames = framesOf(hz, 200);
    const played = frames.map(slower);
    const heard = joined(played);
    const share = heard.length / (frames.length * FRAME_SAMPLES);
    t.ok(Math.abs(share - 1.2) < 0.005, `${hz} Hz: ${share}`);
    t.ok(levelAt(hz, heard) > -14, `${hz} Hz: ${levelAt(hz, heard)} dBFS`);
    t.ok(largestStep(heard) < 1.1 * largestStep(joined(frames)), `${hz} Hz: ${largestStep(heard)}`);
    const gained = (played[0]?.length ?? 0) - FRAME_SAMPLES;
    t.ok(gained >= 300 && gained <= 600, `the first frame is ${gained} samples longer`);
  }
});

t.test('speech that is played slower and then faster has no step that the recording has not', async (t) => {
  const decoder = await createDecoder();
  t.teardown(() => decoder.free());
  const { packets } = await readOpus('bench/speech.ogg');
  const frames = packets.map((packet) => decoder.decode(packet));
  const [slower, faster] = [createSlower(), createFaster()];
  // The frames between are as they were, so each way back to them is heard too.
  const paces = [slower, (frame: Samples) => frame, faster];
  const heard = joined(frames.map((frame, i) => paces[Math.floor(i / 7) % 3]?.(frame) ?? frame));
  t.ok(largestStep(heard) <= 1.05 * largestStep(joined(frames)), `${largestStep(heard)}`);
});

t.test('another rate keeps the tone, its level and its length, in pieces of any size', async (t) => {
  for (const [from, to] of [
    [44_100, 48_000],
    [48_000, 44_100],
    [16_000, 48_000],
    [48_000, 96_000],
  ] as const) {
    const resample = createResampler(from, to);
    const tone = sine(1_000, from, { rate: from });
    const pieces: Samples[] = [];
    for (let at = 0, size = 1; at < tone.length; at += size, size = (size % 997) + 13)
      pieces.push(resample(tone.subarray(at, at + size)));
    const heard = joined(pieces);
    t.ok(Math.abs(heard.length - to) <= to / 1_000, `${from} to ${to}: ${heard.length}`);
    const settled = heard.subarray(1_000);
    t.ok(Math.abs(levelAt(1_000, settled, to) + 12) < 0.2, `${levelAt(1_000, settled, to)} dBFS`);
    for (const image of [from - 1_000, 1_800].filter((hz) => hz < to / 2))
      t.ok(
        levelAt(image, settled, to) < -60,
        `${from} to ${to}: ${levelAt(image, settled, to)} at ${image} Hz`,
      );
  }
  t.equal(RATE, 48_000);
});

t.test(
  'the file of the codec is asked for until it comes whole, past the cache after a failure',
  async (t) => {
    const wasm = () => new Response(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
    const failures = [
      new Error('no network'),
      new Response('', { status: 503 }),
      new Response('<!doctype html>', { status: 200 }),
      new Response('', { status: 200 }),
      ...Array.from({ length: 4 }, () => new Error('no network')),
    ];
    const caches: string[] = [];
    const waits: number[] = [];
    const bytes = await codecBytes(
      'libopus.wasm',
      async (_address, { cache }) => {
        const answer = failures[caches.push(cache) - 1] ?? wasm();
        if (answer instanceof Error) throw answer;
        return answer;
      },
      async (ms) => {
        waits.push(ms);
      },
    );
    t.equal(bytes.byteLength, 8);
    t.same(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000, 16_000]);
    t.same([caches[0], ...new Set(caches.slice(1))], ['default', 'reload']);
  },
);

t.test('the page is told when the codec takes more than 8 s, and when it has come', async (t) => {
  let loaded = (_voices: Voices) => {};
  const createVoices = () =>
    new Promise<Voices>((resolve) => {
      loaded = resolve;
    });
  const { clock, events } = await setUp(undefined, { createVoices });
  const failed = () => events.filter(({ kind }) => kind === 'failed');
  clock.pass(7_999);
  t.same(failed(), []);
  clock.pass(1);
  t.same(failed(), [{ kind: 'failed', part: 'codec' }]);
  loaded({ attach() {}, detach() {}, hear() {}, lagged() {}, ended() {}, close() {} });
  await turn();
  t.same(failed().slice(1), [{ kind: 'failed', part: null }]);
});
