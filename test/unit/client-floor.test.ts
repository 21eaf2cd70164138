// Floor requests of the client: its messages, the states of a talk, and the outcomes.
import t from 'tap';
import { speak } from '../../src/client/audio/speak.js';
import type { TalkOptions } from '../../src/client/radio.js';
import { END, START } from '../../src/protocol/frame.js';
import {
  ALPHA,
  fakeWorld,
  OWN,
  packet,
  sentBy,
  talkEnd,
  talker,
  talkStart,
  turn,
} from '../helpers/client/fakes.js';

const talkgroup_id = ALPHA.talkgroup_id;

function setUp(options: Omit<TalkOptions, 'talkgroupId'> = {}) {
  const world = fakeWorld();
  const { radio } = world;
  const socket = world.socket();
  socket.welcomes({ talkgroups: [{ ...ALPHA, floor_mode: 'single' }] });
  const begin = () => radio.talk({ talkgroupId: talkgroup_id, ...options });
  const talk = begin();
  const states: string[] = [talk.state.kind];
  talk.on('state', ({ kind }) => states.push(kind));
  const ref = () => socket.texts.findLast(({ type }) => type === 'FLOOR_REQUEST')?.ref as string;
  return {
    ...{ ...world, radio, socket, talk, begin, states, ref },
    sent: () => sentBy(socket),
    types: () => socket.texts.map(({ type }) => type),
    granted: (over: { ref?: string; burst?: number; max_talk_ms?: number } = {}) =>
      socket.says({
        ...{ type: 'FLOOR_GRANTED', talkgroup_id, burst: 1, priority: 1, max_talk_ms: 60_000 },
        ...over,
      }),
    queued: (position: number, over: { ref?: string } = {}) =>
      socket.says({ type: 'FLOOR_QUEUED', talkgroup_id, position, size: 3, ...over }),
    denied: (over: { ref?: string } = {}) =>
      socket.says({ type: 'FLOOR_DENIED', talkgroup_id, code: 'busy', talker: talker(), ...over }),
    revoked: (code: 'preempted' | 'unused' | 'silence', burst = 1) =>
      socket.says({ type: 'FLOOR_REVOKED', talkgroup_id, burst, code }),
    started: (burst = 1) => socket.says(talkStart({ session: OWN, burst })),
    ended: (code: 'released' | 'preempted' | 'silence', burst = 1) =>
      socket.says(talkEnd({ session: OWN, burst, code })),
  };
}

t.test(
  'a first frame is the request: it is sent at once and alone, and the state follows the relay',
  async (t) => {
    const { talk, states, sent, types, granted, started, ended } = setUp();
    talk.send(packet(0));
    t.same(sent(), [[START, 0, 0x08, 0]]);
    t.same(types(), []);
    granted();
    t.match(talk.state, { burst: 1, priority: 1, max_talk_ms: 60_000 });
    started();
    talk.end();
    ended('released');
    t.match(await talk.ended, { kind: 'ended', code: 'released', frames: 3 });
    t.same(states, ['idle', 'requested', 'granted', 'talking', 'ended']);
  },
);

t.test(
  'priority and codec go right before the first frame, which is not held back for the answer',
  async (t) => {
    const codec = { name: 'codec2', sample_rate: 8_000, frame_ms: 40 };
    const { talk, socket, sent, ref, granted, started, ended, states } = setUp({ priority: 3, codec });
    t.same(socket.texts, [], 'nothing is asked before there is something to say');
    talk.send(packet(0));
    talk.send(packet(1));
    t.match(socket.texts, [{ type: 'FLOOR_REQUEST', talkgroup_id, priority: 3, codec, queue: false }]);
    t.same(
      sent(),
      [
        [0, 0, 0x08, 0],
        [0, 1, 0x08, 1],
      ],
      'a START would ask once more, and take back a floor refused meanwhile',
    );
    granted({ ref: ref() });
    started();
    ended('silence');
    talk.send(packet(200));
    t.equal(socket.texts.length, 2, 'another burst, another grant');
    t.same(states, ['idle', 'requested', 'granted', 'talking', 'idle', 'requested']);
  },
);

t.test(
  'a talk that asks first sends nothing before the grant, and begins with the first frame after it',
  async (t) => {
    const { talk, sent, types, ref, granted, started, ended, states } = setUp({ floor: 'request' });
    t.same(types(), ['FLOOR_REQUEST']);
    talk.send(packet(0));
    t.same(sent(), []);
    granted({ ref: ref() });
    t.same(sent(), [], 'what was said before is not said after');
    talk.send(packet(1));
    talk.end(packet(2));
    t.same(sent(), [
      [0, 0, 0x08, 1],
      [END, 1, 0x08, 2],
    ]);
    started();
    ended('released');
    t.same(states, ['requested', 'granted', 'talking', 'ended']);
  },
);

t.test('a queued talk is told each place, and speaks when granted', async (t) => {
  const { talk, socket, sent, ref, granted, queued, states } = setUp({ floor: 'queue' });
  t.match(socket.texts, [{ type: 'FLOOR_REQUEST', queue: true }]);
  queued(2, { ref: ref() });
  t.match(talk.state, { position: 2, size: 3 });
  queued(1);
  talk.send(packet(0));
  granted();
  talk.send(packet(1));
  t.same(sent(), [[0, 0, 0x08, 1]]);
  t.same(states, ['requested', 'queued', 'queued', 'granted']);
});

t.test('a denied talk is told who talks, and no frame follows', async (t) => {
  const outcome = { kind: 'denied', code: 'busy', talker: talker() };
  for (const options of [{}, { priority: 2 }, { floor: 'request' }, { floor: 'queue' }] as const) {
    const { clock, talk, socket, sent, ref, denied } = setUp(options);
    talk.send(packet(0));
    const before = sent().length;
    if (ref() === undefined) denied();
    else denied({ ref: ref() });
    t.same(await talk.ended, outcome);
    t.same(talk.state, outcome);
    talk.send(packet(1));
    talk.end(packet(2));
    t.equal(sent().length, before);
    t.notOk(socket.texts.some(({ type }) => type === 'FLOOR_RELEASE'));
    t.equal(clock.pending, 1, 'only the connection is watched on');
  }
});

t.test('a request that no floor rule refuses but the relay does ends with the ERROR’s code', async (t) => {
  const asked = setUp({ floor: 'queue' });
  asked.socket.says({
    type: 'ERROR',
    ref: asked.ref(),
    code: 'too_many_talkgroups',
    message: '',
  });
  t.same(await asked.talk.ended, { kind: 'denied', code: 'too_many_talkgroups' });

  const spoken = setUp();
  spoken.talk.send(packet(0));
  spoken.socket.says({ type: 'ERROR', talkgroup_id, code: 'bad_frame', message: '' });
  t.equal(spoken.talk.state.kind, 'requested', 'one frame was bad, not the talk');
  spoken.socket.says({ type: 'ERROR', talkgroup_id, code: 'rate_limited', message: '' });
  t.match(await spoken.talk.ended, { kind: 'denied', code: 'rate_limited' });
});

t.test('an ERROR that names neither talkgroup nor question is about no talk', async (t) => {
  const { talk, socket } = setUp();
  talk.send(packet(0));
  socket.says({ type: 'ERROR', code: 'not_member', message: '' });
  socket.says({ type: 'ERROR', ref: 4711, talkgroup_id, code: 'not_member', message: '' });
  t.equal(talk.state.kind, 'requested');
});

t.test('a revoked burst sends nothing more, and ends with the counts that follow', async (t) => {
  const { clock, talk, sent, granted, started, revoked, ended } = setUp();
  talk.send(packet(0));
  granted();
  started();
  revoked('preempted');
  talk.send(packet(1));
  talk.end(packet(2));
  t.equal(sent().length, 1);
  ended('preempted');
  t.same(await talk.ended, { kind: 'revoked', code: 'preempted', frames: 3, duration_ms: 60 });
  t.equal(clock.pending, 1);
});

t.test('a grant revoked unused, and a revoked burst whose end never comes, are over as well', async (t) => {
  const unused = setUp({ floor: 'request' });
  unused.granted({ ref: unused.ref() });
  unused.revoked('unused');
  t.same(await unused.talk.ended, { kind: 'revoked', code: 'unused' });

  const { clock, talk, granted, started, revoked } = setUp();
  talk.send(packet(0));
  granted();
  started();
  revoked('preempted');
  clock.pass(5_000);
  t.same(await talk.ended, { kind: 'revoked', code: 'preempted' });
});

t.test('letting go gives back what is not used: the question, the place, the silent grant', async (t) => {
  const ways: [string, (world: ReturnType<typeof setUp>) => void][] = [
    ['requested', () => {}],
    ['queued', ({ queued, ref }) => queued(1, { ref: ref() })],
    ['granted', ({ granted, ref }) => granted({ ref: ref() })],
  ];
  for (const [state, bring] of ways) {
    const world = setUp({ floor: 'queue' });
    bring(world);
    t.equal(world.talk.state.kind, state);
    world.talk.end();
    t.same(world.types(), ['FLOOR_REQUEST', 'FLOOR_RELEASE']);
    t.same(await world.talk.ended, { kind: 'ended', code: 'unsent' });
    t.same(world.sent(), []);
  }
  const never = setUp();
  never.talk.end();
  t.same(never.types(), [], 'who asked for nothing gives nothing back');
});

t.test('an answer that crosses with letting go is not taken by the talk that follows', async (t) => {
  const { radio, talk, begin, ref, types, granted, denied } = setUp({ floor: 'request' });
  const first = ref();
  talk.end();
  const second = begin();
  granted({ ref: first, burst: 1 });
  t.equal(second.state.kind, 'requested');
  granted({ burst: 1 });
  t.equal(second.state.kind, 'requested', 'an answer to a question names it');
  t.same(types(), ['FLOOR_REQUEST', 'FLOOR_RELEASE', 'FLOOR_REQUEST'], 'nor given back in its name');
  denied({ ref: ref() });
  t.match(await second.ended, { kind: 'denied' });
  t.equal(radio.state, 'open');
});

t.test('a talk begun before the first connection asks when there is one', async (t) => {
  const { radio, socket } = fakeWorld();
  const talk = radio.talk({ talkgroupId: talkgroup_id, floor: 'request' });
  t.same(talk.state, { kind: 'idle' });
  socket().welcomes();
  t.match(socket().texts, [{ type: 'FLOOR_REQUEST', talkgroup_id }]);
  radio.close();
  t.match(await talk.ended, { kind: 'ended', code: 'unsent' });
});

t.test(
  'speaking waits for the floor, keeps its schedule from there, and does not begin when denied',
  async (t) => {
    const { clock, talk, sent, ref, granted } = setUp({ floor: 'queue' });
    const packets = [packet(0), packet(1), packet(2)];
    const spoken = speak({ talk, packets, packetMs: 20, clock });
    await turn();
    clock.pass(700);
    t.same(sent(), []);
    granted({ ref: ref() });
    const grantedAtMs = clock.nowMs();
    for (let n = 0; n < packets.length; n++) {
      await turn();
      clock.pass(20);
    }
    t.match(await spoken, { startedAtMs: grantedAtMs, packetsDue: 3 });
    t.equal(sent().length, 3);

    const refused = setUp({ floor: 'request' });
    const silent = speak({ talk: refused.talk, packets, packetMs: 20, clock: refused.clock });
    refused.denied({ ref: refused.ref() });
    t.match(await silent, { packetsDue: 0 });

    const interrupt = new AbortController();
    const left = setUp({ floor: 'queue' });
    const cut = speak({
      talk: left.talk,
      packets,
      packetMs: 20,
      clock: left.clock,
      signal: interrupt.signal,
    });
    interrupt.abort();
    t.match(await cut, { packetsDue: 0 });
    t.same(left.types(), ['FLOOR_REQUEST', 'FLOOR_RELEASE']);
  },
);

const later = { code: 'retry_later', retry_ms: 500 } as const;

t.test('denied for now, a talk holds its speech and asks again with a new first frame', async (t) => {
  const { talk, clock, sent, socket, granted, started, ended, states } = setUp();
  const before = clock.pending;
  talk.send(packet(0));
  talk.send(packet(1));
  socket.says({ type: 'FLOOR_DENIED', talkgroup_id, ...later });
  t.match(talk.state, { kind: 'requested', retry_ms: 500 });
  for (let period = 2; period < 26; period++) {
    clock.pass(20);
    talk.send(packet(period));
  }
  t.same(sent().length, 2, 'the two before the denial');
  clock.pass(20);
  t.match(sent()[2], [START, 0], 'numbered anew');
  t.equal(sent().length, 26, 'what was said meanwhile follows');
  granted();
  started();
  talk.end();
  ended('released');
  t.match(await talk.ended, { kind: 'ended', code: 'released' });
  t.same(states, ['idle', 'requested', 'requested', 'idle', 'requested', 'granted', 'talking', 'ended']);
  t.equal(clock.pending, before);
});

t.test('denied for now, a request is repeated while the talk goes on', async (t) => {
  const { talk, clock, types, socket, ref, queued } = setUp({ floor: 'queue' });
  socket.says({ type: 'FLOOR_DENIED', talkgroup_id, ref: ref(), ...later });
  clock.pass(499);
  t.same(types(), ['FLOOR_REQUEST']);
  clock.pass(1);
  t.same(types(), ['FLOOR_REQUEST', 'FLOOR_REQUEST']);
  queued(1, { ref: ref() });
  t.equal(talk.state.kind, 'queued');
});

t.test('denied for now, a talk that was ended is denied', async (t) => {
  const { talk, socket } = setUp();
  talk.send(packet(0));
  talk.end();
  socket.says({ type: 'FLOOR_DENIED', talkgroup_id, ...later });
  t.same(await talk.ended, { kind: 'denied', ...later });
  const other = setUp({ floor: 'request' });
  other.socket.says({ type: 'FLOOR_DENIED', talkgroup_id, ref: other.ref(), ...later });
  other.talk.end();
  t.same(await other.talk.ended, { kind: 'denied', ...later });
});

t.test('denied for now, a talk asks again on the next connection and not in between', async (t) => {
  const { talk, clock, socket } = setUp({ floor: 'request' });
  const { ref } = socket.texts[0] as { ref: string };
  socket.says({ type: 'FLOOR_DENIED', talkgroup_id, ref, ...later });
  socket.closes(1006);
  clock.pass(600);
  t.equal(socket.texts.length, 1);
  t.notOk(talk.state.kind === 'denied');
});
