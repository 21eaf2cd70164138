// A talk whose floor the server cannot decide: when it asks again, and when it asks no more.
import fc from 'fast-check';
import t from 'tap';
import type { Talk, TalkOptions } from '../../src/client/radio.js';
import { START } from '../../src/protocol/frame.js';
import {
  ALPHA,
  type FakeSocket,
  fakeWorld,
  OWN,
  packet,
  sentBy,
  talkStart,
} from '../helpers/client/fakes.js';

const talkgroup_id = ALPHA.talkgroup_id;
const RETRY_MS = 500;
const later = { code: 'retry_later', retry_ms: RETRY_MS } as const;

function setUp({
  random = () => 0,
  ...options
}: Omit<TalkOptions, 'talkgroupId'> & { random?: () => number } = {}) {
  const { socket, ...world } = fakeWorld({ random });
  socket().welcomes({ talkgroups: [{ ...ALPHA, floor_mode: 'single' }] });
  const begin = () => world.radio.talk({ talkgroupId: talkgroup_id, ...options });
  /** What asks for the floor on this socket: FLOOR_REQUEST, and frames with START. */
  const requests = () => requestsOn(socket());
  /** The answer to the last request. */
  const denied = (over: { retry_ms?: number } = {}) => {
    const ref = socket().texts.findLast(({ type }) => type === 'FLOOR_REQUEST')?.ref as string | undefined;
    socket().says({ type: 'FLOOR_DENIED', talkgroup_id, ...later, ...(ref && { ref }), ...over });
  };
  /** Speaks for so long, a packet each 20 ms. */
  const speaks = (talk: Talk, ms: number) => {
    for (let at = 0; at < ms; at += 20) {
      talk.send(packet(at / 20));
      world.clock.pass(20);
    }
  };
  return { ...world, socket, begin, requests, denied, speaks };
}

const requestsOn = (socket: FakeSocket) =>
  socket.texts.filter(({ type }) => type === 'FLOOR_REQUEST').length +
  socket.frames.filter(({ flags }) => (flags & START) !== 0).length;

t.test('ten requests, and the talk is denied', async (t) => {
  for (const options of [{}, { floor: 'request' }, { floor: 'queue' }, { priority: 2 }] as const) {
    const { clock, begin, requests, denied, speaks, radio } = setUp(options);
    const talk = begin();
    const states: unknown[] = [];
    talk.on('state', (state) => states.push(state));
    const isFirstFrame = !('floor' in options);
    if (isFirstFrame) speaks(talk, 20);
    for (let request = 1; request <= 10; request++) {
      t.equal(requests(), request, `${JSON.stringify(options)}: request ${request}`);
      t.equal(talk.state.kind, 'requested');
      denied();
      if (isFirstFrame) speaks(talk, RETRY_MS);
      else clock.pass(RETRY_MS);
    }
    t.same(await talk.ended, { kind: 'denied', ...later });
    t.match(states[isFirstFrame ? 1 : 0], { kind: 'requested', retry_ms: RETRY_MS });
    clock.pass(5_000);
    t.equal(requests(), 10);
    radio.close();
  }
});

t.test('a decision in between begins the count anew', async (t) => {
  const { clock, begin, socket, requests, denied } = setUp({ floor: 'queue' });
  const talk = begin();
  const undecided = (times: number) => {
    for (let time = 0; time < times; time++) {
      denied();
      clock.pass(RETRY_MS);
    }
  };
  undecided(9);
  const { ref } = socket().texts.at(-1) as { ref: string };
  socket().says({ type: 'FLOOR_QUEUED', talkgroup_id, ref, position: 1, size: 1 });
  undecided(9);
  t.equal(talk.state.kind, 'requested');
  t.equal(requests(), 19);
  undecided(1);
  t.match(await talk.ended, { kind: 'denied', code: 'retry_later' });
});

t.test('talkers that were denied together ask again one after the other, none too early', async (t) => {
  const waits: number[] = [];
  for (const random of [0, 0.5, 0.999]) {
    const { clock, begin, requests, denied } = setUp({ floor: 'request', random: () => random });
    const talk = begin();
    denied();
    t.match(talk.state, { kind: 'requested', retry_ms: Math.ceil(RETRY_MS * (1 + random / 2)) });
    let waited = 0;
    for (; requests() < 2; waited++) clock.pass(1);
    waits.push(waited);
  }
  t.same(waits, [500, 625, 750]);
});

t.test('when the button is released, the talk is denied at once and asks no more', async (t) => {
  for (const payload of [undefined, packet(9)]) {
    const { clock, begin, socket, requests, denied, speaks } = setUp();
    const talk = begin();
    speaks(talk, 20);
    denied();
    speaks(talk, 100);
    t.equal(talk.state.kind, 'requested');
    talk.end(payload);
    t.match(talk.state, { kind: 'denied', ...later });
    t.match(await talk.ended, { kind: 'denied', ...later });
    clock.pass(5_000);
    t.equal(requests(), 1);
    t.same(socket().texts, [], 'there is nothing to give back');
    t.equal(talk.dropped, payload === undefined ? 5 : 6, 'speech of a button that is released is not sent');
  }
});

t.test('the next talk there keeps its speech until the server listens again', async (t) => {
  const { clock, begin, socket, denied, speaks, radio } = setUp();
  const first = begin();
  speaks(first, 20);
  denied();
  speaks(first, 100);
  first.end();
  const second = begin();
  t.same(second.state, { kind: 'requested', retry_ms: 400 });
  speaks(second, 400);
  clock.pass(0);
  t.same(
    sentBy(socket())
      .slice(1)
      .map(([flags, sequence]) => [flags, sequence]),
    Array.from({ length: 20 }, (_, sequence) => [sequence === 0 ? START : 0, sequence]),
    'all that was said, in order',
  );
  t.equal(second.dropped, 0);
  socket().says(talkStart({ session: OWN, burst: 1 }));
  t.equal(second.state.kind, 'talking');

  second.end();
  const third = begin();
  t.same(third.state, { kind: 'idle' }, 'the wait is over');
  radio.close();
  t.match(await third.ended, { code: 'unsent' });
});

t.test('a talk that waits for the wait of an earlier one, and is let go, was never sent', async (t) => {
  const { clock, begin, requests, denied, speaks } = setUp();
  const first = begin();
  speaks(first, 20);
  first.end();
  denied();
  const second = begin();
  second.end(packet(1));
  t.match(await second.ended, { kind: 'ended', code: 'unsent' });
  t.equal(second.dropped, 1);
  clock.pass(5_000);
  t.equal(requests(), 1);
});

t.test('a radio that comes back within the wait asks when it is over', async (t) => {
  for (const resumed of [true, false]) {
    const { clock, begin, socket, requests, denied } = setUp({ floor: 'request' });
    const talk = begin();
    denied();
    clock.pass(100);
    socket().closes(1006);
    clock.pass(100);
    socket().welcomes({ resumed });
    t.same(talk.state, { kind: 'requested', retry_ms: 300 });
    clock.pass(299);
    t.equal(requests(), 0);
    clock.pass(1);
    t.equal(requests(), 1);
    t.same(talk.state, { kind: 'requested' });
  }
});

t.test('a radio that is closed asks no more', async (t) => {
  const { clock, begin, socket, radio, denied } = setUp({ floor: 'queue' });
  const talk = begin();
  denied();
  radio.close();
  t.same(await talk.ended, { kind: 'denied', ...later });
  clock.pass(5_000);
  t.equal(requestsOn(socket()), 1);
  t.equal(clock.pending, 0);
});

type Act =
  | { readonly act: 'passes'; readonly ms: number }
  | { readonly act: 'undecided'; readonly retryMs: number }
  | { readonly act: 'speaks' | 'granted' | 'busy' | 'breaks' | 'releases' };

const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ act: 'speaks' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant('passes' as const), ms: fc.constantFrom(1, 20, 199, 500, 800) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('undecided' as const),
      retryMs: fc.constantFrom(1, 200, 500, 2000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constantFrom('granted', 'busy', 'breaks', 'releases' as const) }),
  },
);

t.test(
  'no request comes while the server drops it, after the release, or after ten without a decision',
  async () => {
    const floors = fc.constantFrom('first_frame', 'request', 'queue' as const);
    fc.assert(
      fc.property(floors, fc.array(acts, { maxLength: 60 }), fc.nat(99), (floor, history, luck) => {
        const world = setUp({ floor, random: () => luck / 100 });
        const { clock, radio, socket, sockets } = world;
        const talk = world.begin();
        const asked = () => sockets.reduce((sum, one) => sum + requestsOn(one), 0);
        let answered = 0;
        let mutedUntilMs = 0;
        let undecided = 0;
        let isReleased = false;
        /** Each request that is new. One of them is answered at a time. */
        const watch = (): boolean => {
          const isNew = asked() > answered;
          if (isNew && clock.nowMs() < mutedUntilMs) throw new Error('asked too early');
          if (isNew && isReleased) throw new Error('asked after the release');
          if (isNew && undecided >= 10) throw new Error('asked for the eleventh time');
          return isNew;
        };
        const answers = (message: object): void => {
          answered = asked();
          const ref = socket().texts.findLast(({ type }) => type === 'FLOOR_REQUEST')?.ref;
          socket().says({ talkgroup_id, ...(ref !== undefined && { ref }), ...message } as never);
        };
        watch();
        for (const one of history) {
          const isOpen = watch();
          if (one.act === 'passes') {
            // In steps, so that what a timer sends is seen when it is sent.
            for (let ms = 0; ms < one.ms; ms++) {
              clock.pass(1);
              watch();
            }
          } else if (one.act === 'speaks') {
            talk.send(packet(1));
            watch();
            clock.pass(20);
          } else if (one.act === 'releases') {
            watch();
            talk.end();
            isReleased = true;
            answered = asked();
          } else if (one.act === 'breaks') {
            answered = asked();
            socket().closes(1006);
            clock.pass(500);
            socket().welcomes({ resumed: true, talkgroups: [{ ...ALPHA, floor_mode: 'single' }] });
          } else if (isOpen && one.act === 'undecided') {
            answers({ type: 'FLOOR_DENIED', code: 'retry_later', retry_ms: one.retryMs });
            mutedUntilMs = clock.nowMs() + one.retryMs;
            undecided++;
          } else if (isOpen && one.act === 'busy') {
            answers({ type: 'FLOOR_DENIED', code: 'busy' });
            isReleased = true;
          } else if (isOpen && one.act === 'granted') {
            answers({ type: 'FLOOR_GRANTED', burst: asked(), priority: 1, max_talk_ms: 0 });
            undecided = 0;
          }
          watch();
        }
        const isOver = talk.state.kind === 'denied';
        if (undecided >= 10 && !isOver) throw new Error('not denied after ten');
        if (isOver && !isReleased && undecided < 10) throw new Error(`denied after ${undecided}`);
        radio.close();
        if (clock.pending > 0) throw new Error('a timer is left');
      }),
      { numRuns: 300 },
    );
  },
);
