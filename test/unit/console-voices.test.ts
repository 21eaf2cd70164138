// What the worker makes of received frames: pieces of sound for the player of each talkgroup.
import t, { type Test } from 'tap';
import { createDecoder, createEncoder, FRAME_SAMPLES, type Samples } from '../../src/client/sound/codec.js';
import type { FromPlayer, ToPlayer } from '../../src/client/sound/ports.js';
import { createVoices } from '../../src/client/sound/voices.js';
import { type FakePort, fakePort } from '../helpers/sound/fake-port.js';
import { joined, largestStep, levelAt, sine } from '../helpers/sound/tones.js';

type PlayerPort = FakePort<ToPlayer, FromPlayer>;

/** Packets of a tone. */
async function packetsOf(hz: number, count: number): Promise<Uint8Array[]> {
  const encoder = await createEncoder();
  const packets = Array.from({ length: count }, (_, i) =>
    encoder.encode(sine(hz, FRAME_SAMPLES, { from: i * FRAME_SAMPLES })),
  );
  encoder.free();
  return packets;
}

/** A worker with players of a talkgroup or more, and a clock. Counts the decoders that are not freed. */
async function setUp(t: Test, rate = 48_000) {
  let nowMs = 0;
  let open = 0;
  const voices = await createVoices({
    nowMs: () => nowMs,
    async createDecoder() {
      const decoder = await createDecoder();
      open += 1;
      return {
        decode: decoder.decode,
        free() {
          open -= 1;
          decoder.free();
        },
      };
    },
  });
  t.teardown(() => voices.close());
  const attach = (talkgroupId: string) => {
    const port: PlayerPort = fakePort();
    voices.attach(talkgroupId, port as never);
    port.says({ kind: 'rate', rate });
    return port;
  };
  return {
    voices,
    attach,
    decoders: () => open,
    pass(ms: number) {
      nowMs += ms;
    },
    /** A frame of session 7, burst 1 of Fire arrives. */
    hear(
      sequence: number,
      payload: Uint8Array,
      over: { session?: number; burst?: number; talkgroupId?: string } = {},
    ) {
      voices.hear({ talkgroupId: 'fire', session: 7, burst: 1, ...over, sequence, payload }, nowMs);
    },
    /** 20 ms pass. The player has played its oldest piece, and asks for the next one by it. */
    async tick(port: PlayerPort, piece: ToPlayer | undefined) {
      nowMs += 20;
      // The decoder of a new voice arrives meanwhile.
      await new Promise((resolve) => setImmediate(resolve));
      if (piece?.kind === 'play') port.says({ kind: 'played', voice: piece.voice, due: piece.due });
    },
  };
}

/** Hears `packets` one every 20 ms and plays them. Returns the pieces in order. */
async function playAll(
  world: Awaited<ReturnType<typeof setUp>>,
  port: PlayerPort,
  packets: readonly (Uint8Array | null)[],
  more = 8,
): Promise<ToPlayer[]> {
  const pieces: ToPlayer[] = [];
  const waiting: ToPlayer[] = [];
  for (let i = 0; i < packets.length + more; i++) {
    const packet = packets[i];
    if (packet) world.hear(i, packet);
    if (i === packets.length) world.voices.ended('fire', 7, 1);
    waiting.push(...port.take());
    const piece = waiting.shift();
    if (piece) pieces.push(piece);
    await world.tick(port, piece);
  }
  return [...pieces, ...waiting, ...port.take()];
}

const samplesOf = (pieces: readonly ToPlayer[]): Samples[] =>
  pieces.flatMap((piece) => (piece.kind === 'play' && piece.samples ? [piece.samples] : []));
const silencesIn = (pieces: readonly ToPlayer[]) =>
  pieces.map((piece) => (piece.kind === 'play' ? (piece.samples ? 'sound' : 'silence') : 'drop'));

t.test('a burst is played as it was said, 60 ms later, and its decoder is freed after it', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const pieces = await playAll(world, port, await packetsOf(1_000, 40));
  t.same(silencesIn(pieces).slice(0, 5), ['silence', 'silence', 'silence', 'sound', 'sound']);
  t.equal(samplesOf(pieces).length, 40);
  t.ok(levelAt(1_000, joined(samplesOf(pieces)).subarray(9_600)) > -14);
  t.same(silencesIn(pieces).slice(-2), ['silence', 'drop']);
  t.equal(world.decoders(), 0);
});

t.test('40 ms that are lost are heard as the same tone, 200 ms as silence', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const packets: (Uint8Array | null)[] = await packetsOf(500, 60);
  packets.fill(null, 20, 22).fill(null, 40, 50);
  const pieces = await playAll(world, port, packets);
  const kinds = silencesIn(pieces).slice(3, 63);
  t.same(new Set(kinds.slice(0, 40)), new Set(['sound']));
  t.ok(kinds.slice(40, 50).filter((kind) => kind === 'silence').length >= 7);
  const concealed = levelAt(500, samplesOf(pieces)[20] ?? new Float32Array(0));
  t.ok(concealed > -20, `${concealed} dBFS of the concealed one`);
});

t.test('two talkers of a talkgroup are two voices, and each talkgroup has its own port', async (t) => {
  const world = await setUp(t);
  const [fire, police] = [world.attach('fire'), world.attach('police')];
  const [packet = new Uint8Array()] = await packetsOf(500, 1);
  world.hear(0, packet);
  world.hear(0, packet, { session: 8 });
  world.hear(0, packet, { talkgroupId: 'police', session: 9 });
  t.equal(new Set(fire.take().map(({ voice }) => voice)).size, 2);
  t.equal(new Set(police.take().map(({ voice }) => voice)).size, 1);
  world.hear(0, packet, { talkgroupId: 'unknown' });
  world.voices.detach('police');
  t.ok(police.isClosed);
  world.hear(1, packet, { talkgroupId: 'police', session: 9 });
  t.same(
    police.take().map(({ kind }) => kind),
    ['drop'],
  );
});

t.test('after LAG nothing that was queued is played', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const [old, live] = [await packetsOf(300, 12), await packetsOf(2_000, 20)];
  for (const [i, packet] of old.entries()) world.hear(i, packet);
  const waiting = port.take();
  for (let i = 0; i < 4; i++) await world.tick(port, waiting.shift());
  port.take();
  world.voices.lagged('fire');
  t.match(port.sent[0], { kind: 'drop', voice: waiting[0]?.voice ?? 1 });
  const pieces: ToPlayer[] = [];
  for (const [i, packet] of live.entries()) {
    world.hear(100 + i, packet);
    waiting.splice(0, waiting.length, ...waiting, ...port.take());
    const piece = waiting.shift();
    if (piece) pieces.push(piece);
    await world.tick(port, piece);
  }
  const heard = joined(samplesOf(pieces));
  t.ok(levelAt(2_000, heard) > -20, `${levelAt(2_000, heard)} dBFS of what is live`);
  t.ok(levelAt(300, heard) < -40, `${levelAt(300, heard)} dBFS of what is stale`);
});

t.test('a frame that comes after the end of its burst is not played', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const packets = await packetsOf(500, 3);
  await playAll(world, port, packets);
  world.hear(3, packets[0] ?? new Uint8Array());
  t.same(port.take(), []);
  world.hear(0, packets[0] ?? new Uint8Array(), { burst: 2 });
  t.equal(port.take().length, 2, 'the next burst is');
});

t.test('a player that stands still for a minute goes on with speech of less than 100 ms', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const packets = await packetsOf(500, 100);
  for (let i = 0; i < 3_000; i++) {
    world.hear(i, packets[i % 100] ?? new Uint8Array());
    world.pass(20);
  }
  const [first, second] = port.take();
  await world.tick(port, first);
  await world.tick(port, second);
  for (let i = 3_000; i < 3_003; i++) world.hear(i, packets[0] ?? new Uint8Array());
  t.ok(port.take().length <= 3);
  world.pass(5_000);
  world.voices.ended('fire', 7, 1);
  t.same(port.take().at(-1)?.kind, 'drop', 'and its end frees it at once');
  t.equal(world.decoders(), 0);
});

t.test('a 65th voice is not played, and one more is after another has ended', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const [packet = new Uint8Array()] = await packetsOf(500, 1);
  for (let session = 1; session <= 70; session++) world.hear(0, packet, { session });
  t.equal(new Set(port.take().map(({ voice }) => voice)).size, 64);
  world.pass(2_000);
  world.voices.ended('fire', 1, 1);
  world.hear(0, packet, { session: 70 });
  t.equal(port.take().filter(({ kind }) => kind === 'play').length, 2);
});

t.test('a player of 44.1 kHz gets the same tone at its rate', async (t) => {
  const world = await setUp(t, 44_100);
  const port = world.attach('fire');
  const heard = joined(samplesOf(await playAll(world, port, await packetsOf(1_000, 60))));
  t.ok(Math.abs(heard.length - 60 * 882) < 882, `${heard.length} samples`);
  t.ok(levelAt(1_000, heard.subarray(8_820), 44_100) > -14);
});

t.test('a packet of 60 ms is three pieces of 20 ms', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const { createEncoder: open } = await import('libopus-wasm');
  const encoder = await open({ channels: 1, frameSize: 3 * FRAME_SAMPLES });
  const packet = encoder.encodeFloat(sine(500, 3 * FRAME_SAMPLES));
  encoder.free();
  for (let i = 0; i < 3; i++) world.hear(i, packet);
  const waiting = port.take();
  const lengths: number[] = [];
  for (let i = 0; i < 8; i++) {
    const piece = waiting.shift();
    await world.tick(port, piece);
    waiting.push(...port.take());
    if (piece?.kind === 'play' && piece.samples) lengths.push(piece.samples.length);
  }
  t.same(new Set(lengths), new Set([FRAME_SAMPLES]));
});

t.test('packets that begin to come in clusters are played slower, without a gap or a step', async (t) => {
  const world = await setUp(t);
  const port = world.attach('fire');
  const packets = await packetsOf(200, 300);
  const framesAt = (i: number) => (i < 50 ? 1 : i < 100 ? 2 : i < 150 ? 3 : i < 200 ? 5 : 1);
  const waiting: ToPlayer[] = [];
  const pieces: ToPlayer[] = [];
  let cluster = 0;
  let left = 0;
  for (let ms = 0; ms < 300 * 20; ms++) {
    const i = ms / 20;
    if (Number.isInteger(i) && (i === 0 || i + 1 - cluster >= framesAt(i)))
      for (; cluster <= i; cluster++) world.hear(cluster, packets[cluster] ?? new Uint8Array());
    waiting.push(...port.take());
    // The player: 48 samples in each ms. It asks for the next piece as one has ended.
    for (left -= 48; left < 0; waiting.push(...port.take())) {
      const ended = pieces.at(-1);
      if (ended?.kind === 'play') port.says({ kind: 'played', voice: ended.voice, due: ended.due });
      waiting.push(...port.take());
      const piece = waiting.shift();
      if (piece?.kind !== 'play') throw new Error(`nothing to play after ${ms} ms`);
      pieces.push(piece);
      left += piece.length;
    }
    world.pass(1);
    // The decoder of a new voice arrives meanwhile.
    if (ms < 100) await new Promise((resolve) => setImmediate(resolve));
  }
  t.match(world.voices.figures(), { starved: 0, underruns: 0, missing: 0, unused: 0 });
  const longer = samplesOf(pieces).filter(({ length }) => length < FRAME_SAMPLES).length;
  t.ok(longer > 5 && longer < 20, `${longer} frames are longer`);
  // The codec has settled, and the first cluster has not come.
  const from = 20 * FRAME_SAMPLES;
  const heard = joined(samplesOf(pieces)).subarray(from);
  t.ok(levelAt(200, heard) > -14, `${levelAt(200, heard)} dBFS`);
  const decoder = await createDecoder();
  const plain = largestStep(joined(packets.map((packet) => decoder.decode(packet))).subarray(from));
  decoder.free();
  t.ok(largestStep(heard) < 1.1 * plain, `${largestStep(heard)}, without clusters ${plain}`);
});
