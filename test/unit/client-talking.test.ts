// The frames of a talk: their flags and sequence, when they are dropped, and how the talk ends.
import t from 'tap';
import { speak } from '../../src/client/audio/speak.js';
import { END, START } from '../../src/protocol/frame.js';
import {
  ALPHA,
  BRAVO,
  fakeWorld,
  idOf,
  OWN,
  packet,
  sentBy,
  talkEnd,
  talkStart,
  turn,
} from '../helpers/client/fakes.js';

function setUp({ connected = true } = {}) {
  const world = fakeWorld();
  const { radio, socket } = world;
  if (connected) socket().welcomes();
  const talk = () => radio.talk({ talkgroupId: ALPHA.talkgroup_id });
  const sent = () => sentBy(socket());
  const ends = (burst: number, code: 'released' | 'silence' | 'too_long') =>
    socket().says(talkEnd({ session: OWN, burst, code }));
  const starts = (burst: number) => socket().says(talkStart({ session: OWN, burst }));
  return { ...world, talk, sent, starts, ends };
}

t.test('the first frame carries START, the last END, and a pause skips its periods', async (t) => {
  const { talk, sent, socket, starts, ends } = setUp();
  const burst = talk();
  burst.send(packet(0));
  burst.send(packet(1));
  burst.skip(10);
  burst.send(packet(12));
  burst.end(packet(13));
  burst.send(packet(14));
  t.same(sent(), [
    [START, 0, 0x08, 0],
    [0, 1, 0x08, 1],
    [0, 12, 0x08, 12],
    [END, 13, 0x08, 13],
  ]);
  t.ok(socket().frames.every((frame) => frame.talkgroup === ALPHA.number));
  starts(1);
  ends(1, 'released');
  t.same(await burst.ended, { kind: 'ended', code: 'released', frames: 3, duration_ms: 60 });
});

t.test('a burst of one packet is one frame, and an END without speech ends one that began', async (t) => {
  const { talk, sent } = setUp();
  talk().end(packet(0));
  const second = talk();
  second.send(packet(0));
  second.end();
  t.same(sent(), [
    [START | END, 0, 0x08, 0],
    [START, 0, 0x08, 0],
    [END, 1],
  ]);
});

t.test(
  'of what a stalled socket holds back for half a second nothing is sent, and the sequence tells',
  async (t) => {
    const { clock, talk, sent, socket } = setUp();
    const burst = talk();
    burst.send(packet(0));
    socket().bufferedAmount = 5_000;
    for (let n = 1; n <= 40; n++) {
      clock.pass(20);
      burst.send(packet(n));
    }
    t.equal(socket().frames.length, 1);
    socket().bufferedAmount = 0;
    clock.pass(20);
    const sequences = socket().frames.map((frame) => frame.sequence);
    t.same(sequences, [0, ...Array.from({ length: 25 }, (_, i) => 16 + i)], 'the last half second, no more');
    burst.send(packet(41));
    t.same(sent().at(-1), [0, 41, 0x08, 41]);
  },
);

t.test('an END that was held back is sent however late, without its old speech', async (t) => {
  const { clock, talk, sent, socket } = setUp();
  const burst = talk();
  burst.send(packet(0));
  socket().bufferedAmount = 5_000;
  burst.send(packet(1));
  burst.end(packet(2));
  clock.pass(3_000);
  socket().bufferedAmount = 0;
  clock.pass(20);
  t.same(sent(), [
    [START, 0, 0x08, 0],
    [END, 2],
  ]);
});

t.test('a frame recorded too long ago is not sent, even where the network is well', async (t) => {
  const { clock, talk, sent } = setUp();
  const burst = talk();
  clock.pass(1_000);
  const now = clock.nowMs();
  burst.send(packet(0), { capturedAtMs: now - 501 });
  burst.send(packet(1), { capturedAtMs: now - 500 });
  t.same(sent(), [[START, 0, 0x08, 1]], 'the first one sent starts the burst');
  t.equal(burst.dropped, 1);
});

t.test('what was recorded before the connection is not sent on it, however young', async (t) => {
  const { clock, talk, sent, socket } = setUp();
  const burst = talk();
  burst.send(packet(0));
  socket().closes(1006);
  const beforeMs = clock.nowMs();
  clock.pass(10);
  socket().welcomes();
  burst.send(packet(1), { capturedAtMs: beforeMs });
  burst.send(packet(2));
  t.same(sent(), [[START, 0, 0x08, 2]]);
  t.equal(burst.dropped, 1, 'packet 0 left on the connection before');
});

t.test('speech from before a reconnect is never sent, and what follows is a new burst', async (t) => {
  const { clock, talk, sent, socket } = setUp();
  const burst = talk();
  burst.send(packet(0));
  socket().bufferedAmount = 5_000;
  burst.send(packet(1));
  socket().closes(1006);
  burst.send(packet(2));
  clock.pass(0);
  socket().welcomes({ session: OWN + 1 });
  t.same(sent(), []);
  burst.send(packet(3));
  burst.end();
  t.same(sent(), [
    [START, 0, 0x08, 3],
    [END, 1],
  ]);
  t.equal(burst.dropped, 2);
});

t.test('a burst begun before the first connection starts when there is one', async (t) => {
  const { talk, sent, socket } = setUp({ connected: false });
  const burst = talk();
  burst.send(packet(0));
  socket().welcomes();
  burst.send(packet(1));
  t.same(sent(), [[START, 0, 0x08, 1]]);
});

t.test('each way in which a burst is over has its own code', async (t) => {
  const scenes: [string, (world: ReturnType<typeof setUp>) => void][] = [
    ['too_long', ({ starts, ends }) => [starts(4), ends(4, 'too_long')]],
    [
      'deleted',
      ({ socket }) =>
        socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: ALPHA.talkgroup_id, reason: 'deleted' }),
    ],
    ['lost', ({ radio }) => radio.close()],
    [
      'not_member',
      ({ socket }) =>
        socket().says({ type: 'ERROR', talkgroup_id: ALPHA.talkgroup_id, code: 'not_member', message: '' }),
    ],
  ];
  for (const [code, happen] of scenes) {
    const world = setUp();
    const burst = world.talk();
    burst.send(packet(0));
    happen(world);
    t.equal((await burst.ended).code, code);
    burst.send(packet(1));
    t.equal(world.socket().frames.length, 1, 'nothing is sent after the end');
    t.equal(world.clock.pending, code === 'lost' ? 0 : 1, 'only the connection is watched on');
  }
});

t.test('an end that the server never confirms is over after 5 s, one that never began at once', async (t) => {
  const { clock, talk, socket } = setUp();
  const burst = talk();
  burst.send(packet(0));
  burst.end();
  clock.pass(5_000);
  t.equal((await burst.ended).code, 'lost');

  const silent = talk();
  silent.end();
  t.equal((await silent.ended).code, 'unsent');

  const offline = talk();
  offline.send(packet(0));
  offline.end();
  socket().closes(1006);
  t.equal((await offline.ended).code, 'lost');
});

t.test('a pause beyond the patience of the server continues as a new burst', async (t) => {
  const { talk, sent, starts, ends } = setUp();
  const burst = talk();
  burst.send(packet(0));
  starts(1);
  burst.skip(120);
  ends(1, 'silence');
  burst.send(packet(121));
  starts(2);
  burst.end(packet(122));
  ends(2, 'released');
  t.same(sent(), [
    [START, 0, 0x08, 0],
    [START, 0, 0x08, 121],
    [END, 1, 0x08, 122],
  ]);
  t.equal((await burst.ended).code, 'released');
});

t.test('a button held in silence and let go is told of the silence', async (t) => {
  const { talk, sent, starts, ends } = setUp();
  const burst = talk();
  burst.send(packet(0));
  starts(1);
  ends(1, 'silence');
  burst.end();
  t.match(await burst.ended, { code: 'silence', frames: 3 });
  t.equal(sent().length, 1);
});

t.test('a second burst in a talkgroup ends the first, and each hears of its own end', async (t) => {
  const { talk, starts, ends } = setUp();
  const first = talk();
  first.send(packet(0));
  const second = talk();
  second.send(packet(0));
  starts(1);
  ends(1, 'released');
  starts(2);
  second.end();
  ends(2, 'too_long');
  t.same([(await first.ended).code, (await second.ended).code], ['released', 'too_long']);
});

t.test('talking where one is no member is refused at once', async (t) => {
  const { radio } = setUp();
  t.throws(() => radio.talk({ talkgroupId: idOf('tg-elsewhere') }), { code: 'not_member' });
});

/** WELCOME has only Alpha. Bravo and Charlie are in the parts that follow. */
function setUpInParts() {
  const world = setUp({ connected: false });
  const { radio, socket } = world;
  socket().welcomes({ talkgroups: [ALPHA], talkgroups_total: 3 });
  const part = (talkgroup: typeof ALPHA, more: boolean) =>
    socket().says({ type: 'SUBSCRIBED', more, talkgroups: [talkgroup], refused: [] });
  return {
    ...world,
    talkIn: (talkgroupId: string, floor?: 'request' | 'queue') =>
      radio.talk({ talkgroupId, ...(floor && { floor }) }),
    bravoComes: () => part(BRAVO, true),
    lastComes: () => part({ ...ALPHA, talkgroup_id: idOf('tg-charlie'), number: 3 }, false),
  };
}

t.test('a talk in a talkgroup of a later part waits for it, and sends its last half second', async (t) => {
  const { clock, talkIn, bravoComes, lastComes, sent, socket } = setUpInParts();
  const burst = talkIn(idOf('tg-bravo'));
  for (let n = 0; n < 30; n++) {
    burst.send(packet(n));
    clock.pass(20);
  }
  t.same([sent(), burst.state.kind], [[], 'idle']);
  bravoComes();
  t.equal(socket().frames[0]?.talkgroup, BRAVO.number);
  const sequences = socket().frames.map(({ sequence }) => sequence);
  t.same(
    sequences,
    Array.from({ length: 25 }, (_, i) => i),
  );
  t.same(sent()[0], [START, 0, 0x08, 5]);
  burst.end();
  t.same(sent().at(-1), [END, 25]);
  lastComes();
  t.equal(burst.state.kind, 'requested');
});

t.test('a talk that asks first asks when the part of its talkgroup is there', async (t) => {
  for (const floor of ['request', 'queue'] as const) {
    const { talkIn, bravoComes, socket } = setUpInParts();
    const [kept, dropped] = [talkIn(idOf('tg-bravo'), floor), talkIn(idOf('tg-charlie'), floor)];
    dropped.end();
    t.same(await dropped.ended, { kind: 'ended', code: 'unsent' });
    t.same([socket().texts, kept.state.kind], [[], 'idle']);
    bravoComes();
    t.match(socket().texts, [
      { type: 'FLOOR_REQUEST', talkgroup_id: idOf('tg-bravo'), queue: floor === 'queue' },
    ]);
    t.equal(socket().texts.length, 1);
  }
});

t.test('a talk in a talkgroup of no part is denied with the last one, from then on at once', async (t) => {
  const { radio, talkIn, bravoComes, lastComes, sent, socket } = setUpInParts();
  const talks = [talkIn(idOf('tg-a')), talkIn(idOf('tg-b'), 'request'), talkIn(idOf('tg-c'))];
  talks[2]?.send(packet(0));
  bravoComes();
  t.same(
    talks.map(({ state }) => state.kind),
    ['idle', 'idle', 'idle'],
  );
  lastComes();
  for (const { ended } of talks) t.same(await ended, { kind: 'denied', code: 'not_member' });
  t.same([sent(), socket().texts], [[], []]);
  t.throws(() => radio.talk({ talkgroupId: idOf('tg-elsewhere') }), { code: 'not_member' });
});

t.test('a talk that is let go before its part comes is unsent half a second later', async (t) => {
  const { clock, talkIn, bravoComes, sent } = setUpInParts();
  const [late, silent] = [talkIn(idOf('tg-bravo')), talkIn(idOf('tg-charlie'))];
  late.send(packet(0));
  late.end(packet(1));
  silent.end();
  t.same([late.state.kind, silent.state.kind], ['idle', 'ended']);
  clock.pass(520);
  t.same(await late.ended, { kind: 'ended', code: 'unsent' });
  bravoComes();
  t.same(sent(), []);
  t.equal(clock.pending, 1, 'only the connection is watched on');
});

t.test('a short talk and the one behind it are sent in their order when the part comes', async (t) => {
  const { talkIn, bravoComes, sent } = setUpInParts();
  const first = talkIn(idOf('tg-bravo'));
  first.send(packet(0));
  talkIn(idOf('tg-bravo')).send(packet(1));
  t.equal(first.state.kind, 'idle');
  bravoComes();
  t.same(sent(), [
    [START, 0, 0x08, 0],
    [END, 1],
    [START, 0, 0x08, 1],
  ]);
});

t.test('a talk sends nothing before what an earlier one could not send', async (t) => {
  const { talk, sent, socket } = setUp();
  socket().bufferedAmount = 5_000;
  const first = talk();
  first.send(packet(0));
  const second = talk();
  second.send(packet(1));
  socket().bufferedAmount = 0;
  second.send(packet(2));
  t.same(sent(), [
    [START, 0, 0x08, 0],
    [END, 1],
    [START, 0, 0x08, 1],
    [0, 1, 0x08, 2],
  ]);
});

t.test('speaking keeps to the schedule of its start, also after a stall', async (t) => {
  const { clock, talk, sent, socket } = setUp();
  const startedAtMs = clock.nowMs();
  const packets = Array.from({ length: 100 }, (_, n) => packet(n));
  const spoken = speak({ talk: talk(), packets, packetMs: 20, clock });
  // Lets go of the thread, so that speak() arms its next timer.
  await turn();
  for (let n = 0; n < 50; n++) {
    t.equal(socket().frames.length, n + 1);
    clock.pass(20);
    await turn();
  }
  clock.pass(600);
  await turn();
  const sequences = socket().frames.map((frame) => frame.sequence);
  t.same(
    sequences.slice(50),
    [50, ...Array.from({ length: 26 }, (_, n) => 55 + n)],
    'too old ones are left out',
  );

  for (let n = 0; n < 20; n++) {
    clock.pass(20);
    await turn();
  }
  t.same(await spoken, { startedAtMs, packetMs: 20, packetsDue: 100 });
  t.same(sent().at(-1), [END, 99, 0x08, 99]);
});
