// What a radio keeps of the speech that it played, within which bounds, when it forgets, and how it is played back.
import fc from 'fast-check';
import t from 'tap';
import { type HeardFrame, playBack, type RecalledFrame } from '../../src/client/radio.js';
import {
  createRecall,
  type Forgotten,
  RECALL_BURSTS_MAX,
  RECALL_BYTES_MAX,
} from '../../src/client/recall/recall.js';
import type { Talker } from '../../src/protocol/types.js';
import { alpha, announced, encryptedWorld, relays, runOf, stamp } from '../helpers/client/encryption.js';
import {
  ALPHA,
  BRAVO,
  fakeWorld,
  idOf,
  manualClock,
  packet,
  talkEnd,
  talker,
  talkStart,
} from '../helpers/client/fakes.js';

const RUNS = Number(process.env.PROVE_RUNS ?? 3_000) / 15;
const KEPT_MS = 300_000;

/** The recall of a radio, and what a perfect one without bounds would have. */
function setUp(seconds = KEPT_MS / 1000) {
  const clock = manualClock();
  const told: Forgotten[] = [];
  const recall = createRecall(seconds, clock, (forgotten) => told.push(forgotten));
  const running = new Map<string, { talker: Talker; frames: RecalledFrame[] }>();
  const ended: { id: number; talker: Talker; frames: RecalledFrame[] }[] = [];
  const counts = { bursts: 0, bytes: 0, isFull: false };
  const nameOf = (talkgroup: number, session: number) => `${talkgroup} ${session}`;
  const end = (talkgroup: number, session: number) => {
    const burst = running.get(nameOf(talkgroup, session));
    if (burst === undefined) return;
    running.delete(nameOf(talkgroup, session));
    const id = recall.ended(burst.talker);
    if (id !== null) ended.push({ id, ...burst });
  };
  return {
    ...{ clock, told, recall, running, ended, counts, end },
    start(talkgroup: number, session: number) {
      end(talkgroup, session); // as the radio does
      counts.bursts += 1;
      const started = talker({ talkgroup_id: `talkgroup ${talkgroup}`, session, burst: counts.bursts });
      running.set(nameOf(talkgroup, session), { talker: started, frames: [] });
      recall.started(started);
    },
    talk(talkgroup: number, session: number, frames: number, bytes: number) {
      const burst = running.get(nameOf(talkgroup, session));
      for (let i = 0; burst !== undefined && i < frames; i += 1) {
        const sequence = burst.frames.length;
        const payload = new Uint8Array(bytes).fill((sequence * 7 + burst.talker.burst) & 0xff);
        counts.bytes += bytes + 22;
        burst.frames.push({ sequence, payload, heardAtMs: clock.nowMs() });
        const { talkgroup_id: talkgroupId, session, burst: number } = burst.talker;
        const reused = payload.slice();
        recall.keep({ talkgroupId, session, burst: number, sequence, payload: reused });
        reused.fill(0xee); // the caller's bytes are its own again
      }
    },
  };
}

type World = ReturnType<typeof setUp>;
type Deed = (world: World) => void;

const place = fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 2 }));
const talk = fc.tuple(place, fc.integer({ min: 1, max: 100 }), fc.constantFrom(1, 60, 400, 16_384)).map(
  ([[talkgroup, session], frames, bytes]): Deed =>
    (world) => {
      if (!world.running.has(`${talkgroup} ${session}`)) world.start(talkgroup, session);
      world.talk(talkgroup, session, frames, bytes);
    },
);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 20, arbitrary: talk },
  {
    weight: 10,
    arbitrary: place.map(
      (at): Deed =>
        (world) =>
          world.end(...at),
    ),
  },
  {
    weight: 10,
    arbitrary: fc.constantFrom(20, 1_000, 60_000).map(
      (ms): Deed =>
        (world) =>
          world.clock.pass(ms),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(KEPT_MS - 1, KEPT_MS).map(
      (ms): Deed =>
        (world) =>
          world.clock.pass(ms),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat({ max: 1 }).map(
      (talkgroup): Deed =>
        ({ recall, running }) => {
          recall.forget(`talkgroup ${talkgroup}`);
          for (const [name, { talker }] of running)
            if (talker.talkgroup_id === `talkgroup ${talkgroup}`) running.delete(name);
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Deed>(({ recall, running }) => {
      recall.forgetAll();
      running.clear();
    }),
  },
);

/** So that the histories are known to reach what they are for. */
const reached = { read: 0, cut: 0, full: 0, revoked: 0, old: 0 };

/** What `recall` gives of each burst that has ended is the end of what was heard, and no older than it may be. */
function judge({ recall, ended, told, clock, counts }: World): void {
  counts.isFull ||= recall.bytes === RECALL_BYTES_MAX;
  if (recall.bytes > RECALL_BYTES_MAX) throw new Error(`${recall.bytes} bytes`);
  const given = ended.map(({ id }) => recall.get(id)); // before `told` is read: it may forget
  const gone = told.flatMap(({ ids }) => ids);
  if (new Set(gone).size !== gone.length) throw new Error('a burst was forgotten twice');
  for (const [index, { id, talker, frames }] of ended.entries()) {
    const burst = given[index] ?? null;
    if ((burst === null) !== gone.includes(id)) throw new Error(`burst ${id}: forgotten, or not told`);
    if (burst === null) continue;
    if (burst.talker !== talker) throw new Error('another talker');
    const young = frames.filter(({ heardAtMs }) => heardAtMs > clock.nowMs() - KEPT_MS);
    const kept = burst.frames;
    const isWhole = counts.bytes < RECALL_BYTES_MAX / 2; // no page had to go
    if (kept.length === 0 || kept.length > young.length || (isWhole && kept.length < young.length))
      throw new Error(`${kept.length} of ${young.length} frames`);
    reached.read += 1;
    if (young.length < frames.length) reached.cut += 1;
    for (const [at, frame] of young.slice(-kept.length).entries()) {
      const { sequence, heardAtMs, payload } = kept[at] ?? { payload: new Uint8Array() };
      if (sequence !== frame.sequence || heardAtMs !== frame.heardAtMs) throw new Error('another frame');
      if (Buffer.compare(payload, frame.payload) !== 0) throw new Error('other bytes');
    }
  }
  const left = ended.filter((_, index) => given[index] !== null).map(({ id }) => id);
  for (const [back, id] of left.toReversed().entries())
    if (recall.last(undefined, back)?.id !== id) throw new Error('not in the order of the ends');
  if (recall.last(undefined, left.length) !== null) throw new Error('a burst too many');
}

t.test(
  'a radio keeps the last 300 s and 4 MiB of what it played, and tells once what it forgets',
  async (t) => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 60, size: 'max' }), (deeds) => {
        const world = setUp();
        for (const act of deeds) {
          act(world);
          judge(world);
        }
        for (const name of [...world.running.keys()]) {
          const [talkgroup = 0, session = 0] = name.split(' ').map(Number);
          world.end(talkgroup, session);
        }
        world.clock.pass(KEPT_MS + 1_000);
        if (world.recall.bytes > 0 || world.clock.pending > 0) throw new Error('something is left');
        judge(world);
        reached.full += world.counts.isFull ? 1 : 0;
        for (const { isRevoked, ids } of world.told) reached[isRevoked ? 'revoked' : 'old'] += ids.length;
      }),
      { numRuns: RUNS },
    );
    t.comment(JSON.stringify(reached));
    for (const [what, count] of Object.entries(reached)) t.ok(count > 0, what);
  },
);

t.test('of more bursts than 1,000 the radio forgets those that ended first', async (t) => {
  const { start, talk, end, recall, told } = setUp();
  for (let i = 0; i < RECALL_BURSTS_MAX + 5; i += 1) {
    start(0, 0);
    talk(0, 0, 1, 60);
    end(0, 0);
  }
  t.strictSame(
    told.flatMap(({ ids }) => ids),
    [1, 2, 3, 4, 5],
  );
  t.equal(recall.last('talkgroup 0', RECALL_BURSTS_MAX - 1)?.id, 6);
  t.equal(recall.last('talkgroup 0', RECALL_BURSTS_MAX), null);
});

/** A radio in Alpha and Bravo that has heard a burst of three frames in each. */
function heardInBoth(options: { recallSeconds?: number } = {}) {
  const world = fakeWorld(options);
  const { radio, socket } = world;
  const forgotten: Forgotten[] = [];
  const ids: (number | undefined)[] = [];
  const audio: HeardFrame[] = [];
  radio.on('forgotten', (one) => forgotten.push(one));
  radio.on('talk_ended', ({ recallId }) => ids.push(recallId));
  radio.on('audio', (frame) => audio.push(frame));
  socket().welcomes({ talkgroups: [ALPHA, BRAVO] });
  for (const [at, { talkgroup_id, number }] of [ALPHA, BRAVO].entries()) {
    const session = 20 + at;
    socket().says(talkStart({ talkgroup_id, session, username: `talker ${at}` }));
    for (const sequence of [0, 1, 2]) {
      socket().relays({ talkgroup: number, sender: session, burst: 1, sequence, payload: packet(sequence) });
      world.clock.pass(20);
    }
    socket().says(talkEnd({ talkgroup_id, session }));
  }
  return { ...world, forgotten, ids, audio };
}

const [A, B] = [ALPHA.talkgroup_id, BRAVO.talkgroup_id];

t.test(
  'last gives the burst that ended last, of a talkgroup or of all, with talker, times and frames',
  async (t) => {
    const { radio, ids, socket } = heardInBoth();
    const last = radio.recall.last();
    t.equal(last?.talker.username, 'talker 1');
    t.strictSame(
      last?.frames.map(({ sequence, payload }) => [sequence, ...payload]),
      [0, 1, 2].map((n) => [n, ...packet(n)]),
    );
    t.equal((last?.untilMs ?? 0) - (last?.fromMs ?? 0), 40);
    t.equal(radio.recall.last(A.toUpperCase())?.talker.username, 'talker 0');
    t.equal(radio.recall.last(undefined, 1)?.talker.username, 'talker 0');
    t.equal(radio.recall.last(undefined, 2), null);
    t.strictSame(ids, [radio.recall.last(A)?.id, last?.id], 'talk_ended has the id');
    socket().says(talkStart({ event: 3, session: 30 }));
    socket().says(talkEnd({ event: 4, session: 30 }));
    t.equal(ids[2], undefined, 'a burst of which nothing was heard is not kept');
    t.equal(radio.recall.last(A)?.talker.session, 20);
  },
);

t.test('a lost connection forgets nothing, and the burst that it cut is kept', async (t) => {
  const { radio, socket, clock } = heardInBoth();
  socket().says(talkStart({ event: 3, session: 30, username: 'cut' }));
  socket().relays({ talkgroup: 1, sender: 30, burst: 1, sequence: 0, payload: packet(0) });
  socket().closes(1006);
  t.equal(radio.recall.last()?.talker.username, 'talker 1', 'it may go on');
  clock.pass(30_000);
  socket().welcomes({ talkgroups: [ALPHA, BRAVO], session: 8 });
  t.equal(radio.recall.last()?.talker.username, 'cut');
});

t.test('a talkgroup that the user left is forgotten, and no other', async (t) => {
  const { radio, socket, forgotten, ids } = heardInBoth();
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: A, reason: 'left' });
  t.equal(radio.recall.last(A), null);
  t.equal(radio.recall.get(ids[0] ?? 0), null);
  t.equal(radio.recall.last(B)?.frames.length, 3);
  t.strictSame(forgotten, [{ ids: [ids[0]], isRevoked: true }]);
});

t.test('a talkgroup that was left during a lost connection is forgotten with the next one', async (t) => {
  const { radio, socket, clock } = heardInBoth();
  socket().closes(1006);
  clock.pass(30_000);
  socket().welcomes({ talkgroups: [BRAVO], session: 8 });
  t.equal(radio.recall.last(A), null);
  t.equal(radio.recall.last(B)?.frames.length, 3);
});

t.test('close, a rejection and another user forget everything', async (t) => {
  const acts: Readonly<Record<string, (world: ReturnType<typeof heardInBoth>) => void>> = {
    close: ({ radio }) => radio.close(),
    'unknown user': ({ socket }) => socket().closes(1008, 'unknown user'),
    'device disabled': ({ socket }) => socket().closes(1008, 'device disabled'),
    'another user': ({ socket, clock }) => {
      socket().closes(1006);
      clock.pass(30_000);
      socket().welcomes({ talkgroups: [ALPHA, BRAVO], user_id: idOf('u-next'), session: 8 });
    },
  };
  for (const [name, act] of Object.entries(acts)) {
    const world = heardInBoth();
    t.ok(world.radio.recall.last(), name);
    act(world);
    t.equal(world.radio.recall.last(), null, name);
    t.strictSame(world.forgotten, [{ ids: world.ids, isRevoked: true }], name);
    if (world.radio.state === 'stopped') t.equal(world.clock.pending, 0, `${name}: no timer is left`);
  }
});

t.test('300 s after the last frame nothing is kept, without a call of the app', async (t) => {
  const { forgotten, ids, clock, radio } = heardInBoth();
  clock.pass(299_000);
  t.strictSame(forgotten, []);
  clock.pass(2_000);
  t.strictSame(
    forgotten.flatMap((one) => one.ids),
    ids,
  );
  t.strictSame(
    forgotten.map(({ isRevoked }) => isRevoked),
    forgotten.map(() => false),
  );
  t.equal(radio.recall.last(), null);
});

t.test('recallSeconds shortens the time, and with 0 nothing is kept', async (t) => {
  const short = heardInBoth({ recallSeconds: 10 });
  t.ok(short.radio.recall.last());
  short.clock.pass(10_000);
  t.equal(short.radio.recall.last(), null);
  const none = heardInBoth({ recallSeconds: 0 });
  t.equal(none.radio.recall.last(), null);
  t.strictSame(none.ids, [undefined, undefined]);
  t.equal(none.audio.length, 6, 'and all is played');
});

t.test(
  'encrypted speech is kept as it was opened, until the permission to have keys is withdrawn',
  async (t) => {
    const { radio, socket } = encryptedWorld({ snapshot: { encryption: 'required' } });
    const run = runOf();
    const talks = (burst: number) => {
      socket().says(announced(run.crypto, { burst, event: 2 * burst - 1 }));
      relays(socket(), run, { sequence: 10 * burst, payload: packet(burst) }, (bytes) =>
        stamp(bytes, 20, burst),
      );
    };
    talks(1);
    socket().says(talkEnd({ burst: 1, event: 2 }));
    t.strictSame(
      radio.recall.last()?.frames.map(({ payload }) => [...payload]),
      [[...packet(1)]],
    );
    talks(2);
    const says = (may_have_keys: boolean) => {
      const snapshot = alpha({ encryption: 'required', may_have_keys, event: 3, talkers: running });
      socket().says({ type: 'SUBSCRIBED', more: false, talkgroups: [snapshot], refused: [] });
    };
    const running = [{ ...talker({ burst: 2, crypto: run.crypto }), frames: 1, sequence: 20 }];
    says(true);
    t.ok(radio.recall.last());
    says(false);
    t.equal(radio.recall.last(), null);
    socket().says(talkEnd({ burst: 2, event: 4 }));
    t.equal(radio.recall.last(), null, 'nor is the burst kept that was running');
  },
);

t.test('a frame that does not open is not kept', async (t) => {
  const { radio, socket } = encryptedWorld({ counters: [] });
  const run = runOf();
  socket().says(announced(run.crypto));
  relays(socket(), run, { sequence: 0, payload: packet(0) });
  socket().says(talkEnd());
  t.equal(radio.recall.last(), null);
});

const framesOf = (times: readonly (readonly [sequence: number, heardAtMs: number])[]): RecalledFrame[] =>
  times.map(([sequence, heardAtMs]) => ({ sequence, heardAtMs, payload: packet(sequence & 0xff) }));

/** When each frame is given (ms), and after them the end. */
function playedAt(times: Parameters<typeof framesOf>[0], packetMs = 20) {
  const clock = manualClock();
  const beganMs = clock.nowMs();
  const given: (readonly [number | 'end', number])[] = [];
  playBack({
    ...{ frames: framesOf(times), packetMs, clock },
    onFrame: ({ sequence }) => given.push([sequence, clock.nowMs() - beganMs]),
    onEnd: () => given.push(['end', clock.nowMs() - beganMs]),
  });
  if (given.length > 0) throw new Error('before playBack returned');
  clock.pass(3_600_000);
  if (clock.pending > 0) throw new Error('a timer is left');
  return given;
}

t.test(
  'playBack paces by the sequence, whatever the network did, and keeps the pauses of the talker',
  async (t) => {
    const cases: [string, [number, number][], [number, number][]][] = [
      [
        'even',
        [
          [0, 0],
          [1, 20],
          [2, 40],
        ],
        [
          [0, 0],
          [1, 20],
          [2, 40],
        ],
      ],
      [
        'a stall',
        [
          [0, 0],
          [1, 900],
          [2, 900],
          [3, 901],
        ],
        [
          [0, 0],
          [1, 20],
          [2, 40],
          [3, 60],
        ],
      ],
      [
        'a pause',
        [
          [0, 0],
          [50, 1_000],
          [51, 1_020],
        ],
        [
          [0, 0],
          [50, 1_000],
          [51, 1_020],
        ],
      ],
      [
        'another order',
        [
          [1, 0],
          [0, 1],
          [2, 30],
        ],
        [
          [0, 0],
          [1, 20],
          [2, 40],
        ],
      ],
      [
        'a jump',
        [
          [0, 0],
          [30_000, 20],
          [30_001, 40],
        ],
        [
          [0, 0],
          [30_000, 20],
          [30_001, 40],
        ],
      ],
    ];
    for (const [name, times, expected] of cases)
      t.strictSame(playedAt(times), [...expected, ['end', expected.at(-1)?.[1]]], name);
    t.strictSame(playedAt([]), [['end', 0]]);
    t.strictSame(
      playedAt(
        [
          [0, 0],
          [1, 60],
        ],
        60,
      ),
      [
        [0, 0],
        [1, 60],
        ['end', 60],
      ],
    );
  },
);

t.test('playBack gives each frame once, and lasts no longer than the burst and its packets', async (t) => {
  const frame = fc.tuple(fc.integer({ min: -200, max: 70_000 }), fc.nat({ max: 3_000 }));
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 200, size: 'max' }), (steps) => {
      let heardAtMs = 0;
      const times = steps.map(([sequence, ms]): [number, number] => {
        heardAtMs += ms;
        return [sequence, heardAtMs];
      });
      const given = playedAt(times);
      const sequences = given.slice(0, -1).map(([sequence]) => sequence);
      const expected = times.map(([sequence]) => sequence).sort((one, other) => one - other);
      if (JSON.stringify(sequences) !== JSON.stringify(expected)) throw new Error('other frames');
      const endMs = given.at(-1)?.[1] ?? 0;
      const inOrder = times.every(([sequence], at) => at === 0 || sequence >= (times[at - 1]?.[0] ?? 0));
      if (inOrder && endMs > heardAtMs + 20 * times.length) throw new Error(`${endMs} of ${heardAtMs} ms`);
    }),
    { numRuns: RUNS },
  );
  t.pass(`${RUNS} bursts`);
});

t.test('stop ends a replay, also from its own callback, and a late timer gives what is due', async (t) => {
  const clock = manualClock();
  const given: number[] = [];
  let ends = 0;
  const frames = framesOf(Array.from({ length: 10 }, (_, n) => [n, 20 * n]));
  const onEnd = () => {
    ends += 1;
  };
  const one = playBack({ frames, clock, onEnd, onFrame: ({ sequence }) => given.push(sequence) });
  clock.pass(50);
  one.stop();
  clock.pass(1_000);
  t.strictSame(given, [0, 1, 2]);
  given.length = 0;
  const other = playBack({
    ...{
      frames,
      onEnd,
      clock: { nowMs: clock.nowMs, after: (ms, run) => clock.after(Math.max(ms, 100), run) },
    },
    onFrame({ sequence }) {
      given.push(sequence);
      if (sequence === 7) other.stop();
    },
  });
  clock.pass(100);
  t.strictSame(given, [0, 1, 2, 3, 4, 5], 'all that were due by then');
  clock.pass(1_000);
  t.strictSame(given, [0, 1, 2, 3, 4, 5, 6, 7]);
  t.equal(ends, 0);
});
