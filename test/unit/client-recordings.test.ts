// Recordings in the client: when each frame is due, what is opened and why not, and how patiently the service is asked.
import fc from 'fast-check';
import t from 'tap';
import {
  createRecordings,
  type MissedRecordings,
  opusPackets,
  playBack,
  type Recording,
  type RecordingKeys,
  type RecordingPage,
  RestError,
} from '../../src/client/radio.js';
import { createTimeline, framesIn } from '../../src/client/recordings/frames.js';
import { ENCRYPTED, END, encodeFrame, type Frame, START } from '../../src/protocol/frame.js';
import type { MissedList } from '../../src/recordings/missed/schemas.js';
import type { RecordingList } from '../../src/recordings/schemas.js';
import type { Static } from '../../src/typebox.js';
import { fakeWorld, idOf, manualClock, packet, turn } from '../helpers/client/fakes.js';

const RUNS = Number(process.env.PROVE_RUNS ?? 3_000) / 15;

type Given = Partial<Frame> & Pick<Frame, 'sequence' | 'payload'>;

/** As GET /recordings/{id}/frames sends them. */
function answerOf(frames: readonly Given[]): Uint8Array<ArrayBuffer> {
  const all = frames.map((frame) => encodeFrame({ talkgroup: 3, sender: 20, burst: 1, ...frame }));
  return new Uint8Array(
    Buffer.concat(all.flatMap((bytes) => [Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])),
  );
}

const recordingOf = (over: Partial<Recording> = {}): Recording => ({
  recording_id: idOf('recording'),
  ...{ talkgroup_id: idOf('tg'), talkgroup_name: 'Fire', session: 20, burst: 1, piece: 0 },
  ...{ user_id: idOf('u'), username: 'ann', started_at: '2026-01-01T00:00:00.000Z' },
  ...{ expires_at: '2026-02-01T00:00:00.000Z', duration_ms: 4_000, frames: 200, stored_frames: 200 },
  ...{ missing: 0, missing_because: {}, code: 'released', priority: 1, emergency: false, erased_at: null },
  ...over,
});

/** The compiler checks that the types of the client are those that the service sends. */
export const asSent = {
  list: (answer: Static<typeof RecordingList>): RecordingPage => answer,
  missed: (answer: Static<typeof MissedList>): MissedRecordings => answer,
};

/** A service that answers each path with what `answers` has for it, the next one each time. */
function setUp(answers: Record<string, unknown[]>, keys?: RecordingKeys) {
  const clock = manualClock();
  const asked: string[] = [];
  const answer = async (path: string) => {
    asked.push(path);
    const next = answers[path]?.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  const rest = {
    get: answer as never,
    getBytes: answer as never,
  };
  const recordings = createRecordings({ rest, clock, random: () => 0.5, ...(keys && { keys }) });
  return { clock, asked, recordings };
}

const FRAMES = `/recordings/${idOf('recording')}/frames`;
const opened = (frames: readonly Given[], over: Partial<Recording> = {}, keys?: RecordingKeys) =>
  setUp({ [FRAMES]: [answerOf(frames)] }, keys).recordings.open(recordingOf(over));

t.test('frames are read as they were relayed, and a cut answer is none', async (t) => {
  const frame = fc.record({
    sequence: fc.nat({ max: 0xffff }),
    payload: fc.uint8Array({ minLength: 1, maxLength: 80 }),
    flags: fc.constantFrom(0, START, END, ENCRYPTED),
    epoch: fc.nat({ max: 255 }),
  });
  fc.assert(
    fc.property(fc.array(frame, { minLength: 1, maxLength: 30, size: 'max' }), fc.nat(), (frames, cut) => {
      const bytes = answerOf(frames);
      const read = framesIn(bytes);
      const expected = frames.map((one) => ({ talkgroup: 3, sender: 20, burst: 1, ...one }));
      t.same(read, expected);
      const ends = [0];
      for (const { payload } of frames) ends.push((ends.at(-1) ?? 0) + 18 + payload.length);
      const at = cut % bytes.length;
      t.equal(framesIn(bytes.subarray(0, at)) === null, !ends.includes(at), `cut at ${at}`);
    }),
    { numRuns: RUNS },
  );
  t.same(framesIn(new Uint8Array()), []);
  t.equal(framesIn(Uint8Array.of(0, 16, ...new Uint8Array(16))), null, 'another version');
});

t.test('a frame is due by its sequence, and a gap stays as long as it was', async (t) => {
  const gap = fc.oneof(
    { weight: 9, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 2, max: 30_000 }) },
  );
  const of = fc.tuple(
    fc.nat({ max: 0xffff }),
    fc.array(gap, { maxLength: 400, size: 'max' }),
    fc.constantFrom(2.5, 20, 60),
  );
  fc.assert(
    fc.property(of, ([first, gaps, packetMs]) => {
      const periods = gaps.reduce((sum, gap) => sum + gap, 0);
      const dueOf = createTimeline({ packetMs, durationMs: periods * packetMs });
      let sequence = first;
      t.same(dueOf(first), { sequence: first, atMs: 0 });
      for (const gap of gaps) {
        sequence += gap;
        const { sequence: found, atMs } = dueOf(sequence & 0xffff);
        if (found !== sequence || Math.abs(atMs - (sequence - first) * packetMs) > 1e-6)
          throw new Error(`${found} at ${atMs} ms, not ${sequence}`);
      }
    }),
    { numRuns: RUNS },
  );
});

t.test(
  'whatever the sequences, all frames are due in their order, and gaps end with the recording',
  async (t) => {
    const any = fc.array(fc.nat({ max: 0xffff }), { minLength: 1, maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(any, fc.option(fc.nat({ max: 600_000 })), (sequences, durationMs) => {
        const dueOf = createTimeline({ packetMs: 20, durationMs });
        const due = sequences.map(dueOf);
        due.forEach(({ sequence, atMs }, at) => {
          const before = due[at - 1];
          if (before === undefined) return;
          if (atMs < before.atMs + 20 || sequence <= before.sequence) throw new Error(`frame ${at}`);
        });
        const lastMs = due.at(-1)?.atMs ?? 0;
        if (lastMs > (durationMs ?? 600_000) + 1_000 + 20 * sequences.length) throw new Error(`${lastMs}`);
      }),
      { numRuns: RUNS },
    );
    const dueOf = createTimeline({ packetMs: 20, durationMs: 4_000 });
    t.same([40_000, 40_001, 0, 1].map(dueOf), [
      { sequence: 40_000, atMs: 0 },
      { sequence: 40_001, atMs: 20 },
      { sequence: 40_001 + 25_535, atMs: 5_000 },
      { sequence: 40_001 + 25_536, atMs: 5_020 },
    ]);
    const again = createTimeline({ packetMs: 20, durationMs: 4_000 });
    t.same(
      [100, 101, 0, 1].map((sequence) => again(sequence).atMs),
      [0, 20, 40, 60],
      'an app that counts anew',
    );
  },
);

t.test('a recording is opened with the times of its frames, and an empty END is left out', async (t) => {
  const found = await opened([
    { sequence: 0, payload: packet(1), flags: START },
    { sequence: 1, payload: packet(2) },
    { sequence: 51, payload: packet(3), epoch: 0 },
    { sequence: 52, payload: new Uint8Array(), flags: END },
  ]);
  t.same(
    found.frames.map(({ sequence, atMs, payload }) => [sequence, atMs, payload[1]]),
    [
      [0, 0, 1],
      [1, 20, 2],
      [51, 1_020, 3],
    ],
  );
  t.match(found.frames[0], { flags: START, sender: 20, burst: 1, talkgroup: 3 });
  t.match(found, { unopened: {}, packetMs: 20, lengthMs: 1_060 });
  t.match(await opened([]), { frames: [], unopened: {}, lengthMs: 0 });
});

t.test('the length of a packet is that of Opus, or the one that was announced', async (t) => {
  const [silk60, silk20] = [Uint8Array.of(0x18, 1), packet(1)];
  const codec = { name: 'opus', sample_rate: 48_000, frame_ms: 40 };
  const lengthOf = async (payload: Uint8Array, over: Partial<Recording>, flags = 0) =>
    (await opened([{ sequence: 0, payload, flags }], over)).packetMs;
  t.equal(await lengthOf(silk60, {}), 60);
  t.equal(await lengthOf(silk20, { codec }), 20);
  t.equal(await lengthOf(Uint8Array.of(0x0b), { codec }), 40, 'no Opus packet');
  t.equal(await lengthOf(silk20, { codec: { ...codec, name: 'ambe2' } }), 40);
  t.equal(await lengthOf(silk20, { codec }, ENCRYPTED), 40, 'not open');
  t.equal(await lengthOf(silk20, {}, ENCRYPTED), 20);
});

const CRYPTO = { suite: 4, epoch: 3, salt: 'oKGio6SlpqeoqaqrrK2urw' };
const sealed = (sequence: number, flags = ENCRYPTED): Given => ({
  ...{ sequence, flags, epoch: 3, payload: packet(sequence) },
});

t.test('without keys no encrypted frame is given, and no clear one of an encrypted recording', async (t) => {
  const frames = [sealed(0), sealed(1), sealed(2, 0)];
  t.match(await opened(frames, { crypto: CRYPTO }), { frames: [], unopened: { encrypted: 2, clear: 1 } });
  t.match(await opened([sealed(0)]), { frames: [], unopened: { encrypted: 1 } }, 'not announced');
  t.equal((await opened(frames, { crypto: CRYPTO })).lengthMs, 60);
});

t.test('keys open the frames of one recording, and those that stay closed leave a gap', async (t) => {
  const askedFor: string[] = [];
  const keys: RecordingKeys = {
    async opener({ recording_id, crypto }) {
      askedFor.push(`${recording_id} ${crypto?.epoch}`);
      return ({ sequence, payload }) =>
        sequence === 1 ? 'changed' : Uint8Array.of(payload[0] ?? 0, 100 + sequence);
    },
  };
  const found = await opened([sealed(0), sealed(1), sealed(2)], { crypto: CRYPTO }, keys);
  t.same(
    found.frames.map(({ atMs, payload }) => [atMs, ...payload]),
    [
      [0, 8, 100],
      [40, 8, 102],
    ],
  );
  t.same(found.unopened, { changed: 1 });
  t.same(askedFor, [`${idOf('recording')} 3`]);
  await opened([{ sequence: 0, payload: packet(0) }], {}, keys);
  t.equal(askedFor.length, 1, 'no key for clear speech');
  const failing: RecordingKeys = { opener: () => Promise.reject(new RestError(0, 'no answer')) };
  await t.rejects(opened([sealed(0)], { crypto: CRYPTO }, failing), { status: 0, message: 'no answer' });
});

t.test('an id is looked up first, and what the service rejects is told at once', async (t) => {
  const id = idOf('recording');
  const { recordings, asked } = setUp({
    [`/recordings/${id}`]: [{ recording: recordingOf() }, new RestError(404, 'recording not found')],
    [FRAMES]: [
      answerOf([{ sequence: 0, payload: packet(7) }]),
      new RestError(410, 'erased'),
      new Uint8Array(1),
    ],
  });
  t.match(await recordings.open(id), { recording: { username: 'ann' }, frames: [{ atMs: 0 }] });
  await t.rejects(recordings.open(id), { status: 404, message: 'recording not found' });
  await t.rejects(recordings.open(recordingOf()), { status: 410, message: 'erased' });
  await t.rejects(recordings.open(recordingOf()), { status: 0, message: /no recording/ });
  t.same(asked, [`/recordings/${id}`, FRAMES, `/recordings/${id}`, FRAMES, FRAMES]);
});

t.test('a list is asked for with what was named, and with nothing else', async (t) => {
  const { recordings, asked } = setUp({});
  await recordings.list('tg 1');
  await recordings.list(null, { userId: 'u', since: 0, until: 1_000, emergency: true, order: 'oldest' });
  await recordings.list('tg', { talker: 'a&b', limit: 5, after: 'x', emergency: false });
  t.same(asked, [
    '/recordings?talkgroup_id=tg+1',
    '/recordings?user_id=u&since=1970-01-01T00%3A00%3A00.000Z&until=1970-01-01T00%3A00%3A01.000Z&emergency=true&order=oldest',
    '/recordings?talkgroup_id=tg&talker=a%26b&limit=5&after=x',
  ]);
});

const busy = (retryAfterS: number | null) => new RestError(503, 'busy', retryAfterS);
const MISSED = '/recordings/missed?since=1970-01-01T00%3A00%3A00.000Z';

t.test('missed waits for a random time, and asks again when the service says so', async (t) => {
  const answers = [busy(10), busy(null), new RestError(0, 'no answer'), new RestError(429, 'x', 1), 'found'];
  const { clock, recordings, asked } = setUp({ [MISSED]: answers });
  let found: unknown;
  void recordings.missed(0, { withinMs: 30_000 }).then((answer) => {
    found = answer;
  });
  // Half of 30 s, and then each wait with half of it on top. They double, and Retry-After may be longer.
  const waits = [15_000, 15_000, 3_000, 6_000, 12_000];
  for (const [at, ms] of waits.entries()) {
    await turn();
    clock.pass(ms - 1);
    await turn();
    t.equal(asked.length, at, `before ${ms} ms`);
    clock.pass(1);
    await turn();
    t.equal(asked.length, at + 1, `after ${ms} ms`);
  }
  t.equal(found, 'found');
  t.equal(clock.pending, 0);
});

t.test(
  'missed is rejected when it may not be asked again, was asked often enough, or is ended',
  async (t) => {
    const refused = setUp({ [MISSED]: [new RestError(401, 'invalid token')] });
    await t.rejects(refused.recordings.missed(0), { status: 401, message: 'invalid token' });

    const { clock, recordings, asked } = setUp({ [MISSED]: Array.from({ length: 20 }, () => busy(null)) });
    const given = recordings.missed(0);
    given.catch(() => {});
    for (let time = 0; time < 20; time++) {
      await turn();
      clock.pass(100_000);
    }
    await t.rejects(given, { status: 503, message: 'busy' });
    t.equal(asked.length, 8);

    const left = setUp({ [`${MISSED}&until=1970-01-01T00%3A00%3A00.001Z`]: [busy(10)] });
    const leaving = new AbortController();
    const ended = left.recordings.missed(0, { signal: leaving.signal, until: 1 });
    ended.catch(() => {});
    await turn();
    leaving.abort(new Error('the page is left'));
    await t.rejects(ended, { message: 'the page is left' });
    t.equal(left.clock.pending, 0);
    await t.rejects(left.recordings.missed(0, { withinMs: 5, signal: leaving.signal }), /left/);
    t.same(left.asked, [`${MISSED}&until=1970-01-01T00%3A00%3A00.001Z`]);
  },
);

t.test('a recording in parts of a file keeps its time, up to gaps of 2 s', async (t) => {
  const at = (sequence: number): Given => ({ sequence, payload: packet(sequence & 0xff) });
  const made = opusPackets(await opened([at(0), at(3), at(4), at(204), at(205)], { duration_ms: 10_000 }));
  t.same(
    made.packets.map((bytes) => bytes[1] ?? null),
    [0, null, null, 3, 4, 204, 205],
  );
  t.match(made, { concealed: 2, leftOut: 0 });
  const [, [, other]] = [0, [0, { sequence: 1, payload: Uint8Array.of(0x0b) }]] as const;
  t.match(opusPackets(await opened([at(0), other, at(2)])), { concealed: 1, leftOut: 1 });
  const codec = { name: 'ambe2', sample_rate: 8_000, frame_ms: 20 };
  t.match(opusPackets(await opened([at(0)], { codec })), { packets: [], leftOut: 1 });
});

t.test('playBack gives each frame of a recording once, in time, and none while it is paused', async () => {
  const deed = fc.tuple(fc.nat({ max: 3_000 }), fc.constantFrom('pause', 'resume', 'resume', 'none'));
  const input = fc.tuple(
    fc.array(fc.nat({ max: 500 }), { maxLength: 100, size: 'max' }),
    fc.array(deed, { maxLength: 40, size: 'max' }),
  );
  fc.assert(
    fc.property(input, ([gaps, deeds]) => {
      let atMs = 0;
      const frames = gaps.map((gap, n) => {
        atMs += gap;
        return { n, atMs };
      });
      const clock = manualClock();
      /** How much should be played. */
      let playedMs = 0;
      let [isPaused, ends] = [false, 0];
      const given: number[] = [];
      const playing = playBack({
        ...{ frames, clock },
        onFrame({ n }) {
          if (isPaused) throw new Error('while paused');
          given.push(n);
        },
        onEnd: () => {
          ends += 1;
        },
      });
      const check = () => {
        const due = frames.filter((frame) => frame.atMs <= playedMs).map(({ n }) => n);
        if (JSON.stringify(given) !== JSON.stringify(due)) throw new Error(`${given} of ${due}`);
        if (playing.atMs !== Math.min(playedMs, atMs)) throw new Error(`at ${playing.atMs} ms`);
      };
      for (const [ms, name] of deeds) {
        clock.pass(ms);
        if (!isPaused) playedMs += ms;
        check();
        if (name === 'pause') playing.pause();
        if (name === 'resume') playing.resume();
        if (name !== 'none') isPaused = name === 'pause';
      }
      playing.resume();
      isPaused = false;
      clock.pass(100_000);
      playedMs += 100_000;
      check();
      if (ends !== 1) throw new Error(`${ends} ends`);
    }),
    { numRuns: RUNS },
  );
});

t.test('a replay may pause and stop in its own callback', async (t) => {
  const clock = manualClock();
  const given: number[] = [];
  let ends = 0;
  const frames = Array.from({ length: 6 }, (_, n) => ({ n, atMs: 20 * n }));
  const playing = playBack({
    ...{ frames, clock },
    onFrame({ n }) {
      given.push(n);
      if (n === 1) playing.pause();
      if (n === 2) {
        playing.pause();
        playing.resume();
      }
      if (n === 4) playing.stop();
    },
    onEnd: () => {
      ends += 1;
    },
  });
  clock.pass(1_000);
  t.same([given, playing.atMs], [[0, 1], 20]);
  playing.resume();
  clock.pass(1_000);
  t.same([given, ends, clock.pending], [[0, 1, 2, 3, 4], 0, 0]);
  playing.resume();
  clock.pass(1_000);
  t.equal(given.length, 5);
});

t.test('heardUntil is the time of the server when anything last arrived', async (t) => {
  const { radio, clock, socket } = fakeWorld();
  t.equal(radio.heardUntil(), null);
  clock.pass(500);
  socket().welcomes({ server_time: 1_000_000 });
  t.equal(radio.heardUntil(), 1_000_000);
  clock.pass(700);
  socket().relays({ sequence: 0, talkgroup: 1, payload: packet(0) });
  t.equal(radio.heardUntil(), 1_000_700);
  let kept: number | null = null;
  radio.on('waiting', () => {
    kept = radio.heardUntil();
  });
  clock.pass(300);
  socket().closes(1006);
  t.equal(kept, 1_000_700, 'not what may have been said since');
  clock.pass(5_000);
  t.equal(radio.heardUntil(), 1_000_700);
  socket().welcomes({ server_time: 1_009_000, resumed: true });
  t.equal(radio.heardUntil(), 1_009_000);
  clock.pass(40_000);
  t.equal(kept, 1_009_000, 'of a link without a word');
  radio.close();
  t.equal(radio.heardUntil(), 1_009_000);
});
