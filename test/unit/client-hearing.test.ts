// The state of talkgroups and talkers in the client, and its counts of received frames.
import t from 'tap';
import { encodeBundle } from '../../src/protocol/bundle.js';
import { encodeFrame } from '../../src/protocol/frame.js';
import {
  ALPHA,
  BRAVO,
  fakeWorld,
  idOf,
  keyRotated,
  talkEnd,
  talker,
  talkStart,
} from '../helpers/client/fakes.js';

const payload = Uint8Array.of(0x08, 1);

function setUp() {
  const world = fakeWorld();
  const { radio, socket } = world;
  const heard: string[] = [];
  radio.on('talk_started', ({ session, burst }) => heard.push(`started ${session}/${burst}`));
  radio.on('talk_ended', ({ session, burst, code }) => heard.push(`ended ${session}/${burst} ${code}`));
  radio.on('audio', ({ session, burst, sequence }) => heard.push(`${session}/${burst} #${sequence}`));
  const relays = (sequence: number, over: { sender?: number; burst?: number; talkgroup?: number } = {}) =>
    socket().relays({ talkgroup: ALPHA.number, sender: 20, burst: 1, ...over, sequence, payload });
  const ended = (over: Parameters<typeof talkEnd>[0] = {}) => socket().says(talkEnd(over));
  return { ...world, heard, relays, ended };
}

t.test('ids in capitals, as Swift writes them, name the same talkgroup', async (t) => {
  const { radio, socket } = setUp();
  socket().welcomes();
  const capitals = ALPHA.talkgroup_id.toUpperCase();
  t.not(capitals, ALPHA.talkgroup_id);
  const talk = radio.talk({ talkgroupId: capitals });
  talk.send(payload);
  t.equal(socket().frames.length, 1, 'it talks there');
  t.equal(radio.isRequired(capitals), false);
  const left = radio.unsubscribe([capitals]);
  t.match(socket().texts.at(-1), { talkgroup_ids: [ALPHA.talkgroup_id] });
  left.catch(() => {});
});

t.test('joins, leaves, changes and rotations show at once', async (t) => {
  const { radio, socket } = setUp();
  let changes = 0;
  radio.on('talkgroups', () => changes++);
  socket().welcomes();
  socket().says({ type: 'TALKGROUP_JOINED', ...BRAVO });
  const bravo = radio.talkgroups.get(idOf('tg-bravo'));
  socket().says(keyRotated(idOf('tg-bravo'), 1, 3));
  socket().says({
    ...{
      type: 'TALKGROUP_CHANGED',
      talkgroup_id: idOf('tg-bravo'),
      name: 'Bravo 2',
      floor_mode: 'single',
      max_talk_ms: 0,
      encryption: 'allowed',
      clear_emergency: true,
      recording_days: 0,
    },
  });
  t.match(bravo, {
    name: 'Bravo 2',
    number: 2,
    floor_mode: 'single',
    max_talk_ms: 0,
    rotation_counter: 3,
    event: 1,
  });
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: idOf('tg-alpha'), reason: 'left' });
  t.same([...radio.talkgroups.keys()], [idOf('tg-bravo')]);
  socket().says({ type: 'SUBSCRIBED', more: false, talkgroups: [ALPHA], refused: [] });
  t.same([...radio.talkgroups.keys()], [idOf('tg-bravo'), idOf('tg-alpha')], 'one that is not in it stays');
  t.equal(changes, 6);
});

t.test(
  'talkgroups that follow WELCOME in parts are known as they come, and others then forgotten',
  async (t) => {
    const { clock, radio, socket, heard, relays } = setUp();
    const charlie = { ...ALPHA, talkgroup_id: idOf('tg-charlie'), number: 3 };
    socket().welcomes({ talkgroups: [ALPHA], talkgroups_total: 3 });
    socket().says(talkStart({ talkgroup_id: idOf('tg-bravo') }));
    socket().says({ type: 'SUBSCRIBED', more: true, talkgroups: [BRAVO], refused: [] });
    t.same([...radio.talkgroups.keys()], [idOf('tg-alpha'), idOf('tg-bravo')]);
    socket().says({ type: 'SUBSCRIBED', more: false, talkgroups: [charlie], refused: [] });
    t.same([...radio.talkgroups.keys()], [idOf('tg-alpha'), idOf('tg-bravo'), idOf('tg-charlie')]);
    socket().says(talkStart());
    t.same(heard.splice(0), ['started 20/1'], 'an event before the snapshot is nothing yet');

    socket().closes(1006);
    clock.pass(0);
    socket().welcomes({ talkgroups: [BRAVO], talkgroups_total: 2 });
    t.same(
      [...radio.talkgroups.keys()],
      [idOf('tg-alpha'), idOf('tg-bravo'), idOf('tg-charlie')],
      'the last known, until all came',
    );
    socket().says(talkStart({ session: 21, event: 7 }));
    clock.pass(5000);
    t.same([heard, socket().texts, radio.gaps], [[], [], 0], 'numbers of another connection are no gap');
    const running = { ...talker(), frames: 4, sequence: 3 };
    socket().says({
      ...{ type: 'SUBSCRIBED', more: false, refused: [] },
      talkgroups: [{ ...ALPHA, event: 7, talkers: [running], talkers_total: 1 }],
    });
    t.same([...radio.talkgroups.keys()], [idOf('tg-alpha'), idOf('tg-bravo')], 'charlie was left meanwhile');
    relays(4);
    t.same(heard, ['20/1 #4'], 'known to talk already: not begun twice');
  },
);

t.test('talkers are known from their first word to their last', async (t) => {
  const { radio, socket, heard, relays, ended } = setUp();
  socket().welcomes();
  const alpha = radio.talkgroups.get(ALPHA.talkgroup_id);
  socket().says(talkStart());
  t.match(alpha?.talkers.get(20), { username: 'other', burst: 1 });
  relays(0);
  relays(1);
  ended();
  t.equal(alpha?.talkers.size, 0);
  t.equal(alpha?.event, 2);
  t.same(heard, ['started 20/1', '20/1 #0', '20/1 #1', 'ended 20/1 released']);
});

t.test('a frame says who, where, when and what', async (t) => {
  const { clock, radio, socket } = setUp();
  socket().welcomes();
  const frames: unknown[] = [];
  radio.on('audio', (frame) => frames.push(frame));
  clock.pass(5);
  socket().relays({ flags: 0x08, talkgroup: 1, sender: 20, burst: 3, sequence: 0, payload });
  const receivedAtMs = clock.nowMs();
  t.same(frames, [
    { talkgroupId: idOf('tg-alpha'), session: 20, burst: 3, sequence: 0, flags: 0x08, payload, receivedAtMs },
  ]);
});

t.test('the frames of a bundle are heard one by one, and those of a bad one not at all', async (t) => {
  const { socket, heard } = setUp();
  socket().welcomes();
  const frame = (sequence: number, burst = 1) =>
    encodeFrame({ talkgroup: ALPHA.number, sender: 20, burst, sequence, payload }).buffer;
  socket().delivers(encodeBundle([frame(0), frame(1), frame(2)]));
  socket().delivers(encodeBundle([frame(3), frame(4, 2)]));
  socket().delivers(encodeBundle([frame(3), frame(4)]).slice(0, -1));
  socket().delivers(encodeBundle([frame(5)]));
  t.same(heard, ['20/1 #0', '20/1 #1', '20/1 #2', '20/1 #5']);
});

t.test('the sequence counts on past 16 bits, and bursts do not disturb each other', async (t) => {
  const { socket, heard, relays } = setUp();
  socket().welcomes();
  relays(65_534);
  relays(0, { sender: 21 });
  relays(65_535);
  relays(0);
  relays(1, { sender: 21 });
  relays(2);
  relays(0, { burst: 2 });
  t.same(heard, [
    '20/1 #65534',
    '21/1 #0',
    '20/1 #65535',
    '20/1 #65536',
    '21/1 #1',
    '20/1 #65538',
    '20/2 #0',
  ]);
});

t.test('one that comes late counts from where the talker is', async (t) => {
  const { socket, heard, relays } = setUp();
  socket().welcomes({
    talkgroups: [{ ...ALPHA, talkers: [{ ...talker(), frames: 70_000, sequence: 70_000 }] }],
  });
  relays(70_001 & 0xffff);
  t.same(heard, ['started 20/1', '20/1 #70001']);
});

t.test('over a reconnect a burst that still runs goes on, and one that is gone is lost', async (t) => {
  const { clock, socket, heard, relays } = setUp();
  socket().welcomes();
  socket().says(talkStart());
  socket().says(talkStart({ session: 21, event: 2 }));
  relays(0);
  socket().closes(1006);
  clock.pass(0);
  socket().welcomes({
    session: 8,
    talkgroups: [
      {
        ...ALPHA,
        talkers: [
          { ...talker(), frames: 90, sequence: 90 },
          { ...talker({ session: 22 }), frames: 1, sequence: 0 },
        ],
      },
    ],
  });
  relays(91);
  t.same(heard, ['started 20/1', 'started 21/1', '20/1 #0', 'ended 21/1 lost', 'started 22/1', '20/1 #91']);
});

t.test('whatever began ends once: by leaving, by a burst that follows, by stopping', async (t) => {
  const { radio, socket, heard, ended } = setUp();
  socket().welcomes();
  socket().says(talkStart());
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: ALPHA.talkgroup_id, reason: 'left' });
  ended();
  t.same(heard.splice(0), ['started 20/1', 'ended 20/1 lost']);

  socket().says({ type: 'TALKGROUP_JOINED', ...ALPHA });
  socket().says(talkStart());
  socket().says(talkStart({ burst: 2, event: 2 }));
  t.same(heard.splice(0), ['started 20/1', 'ended 20/1 lost', 'started 20/2']);
  radio.close();
  t.same(heard, ['ended 20/2 lost']);
});

t.test('the end of a burst tells how much of it was heard, of its own a talker nothing', async (t) => {
  const { radio, socket, relays, ended } = setUp();
  const ends: unknown[] = [];
  radio.on('talk_ended', ({ session, frames, heard }) => ends.push([session, frames, heard]));
  socket().welcomes({
    talkgroups: [
      { ...ALPHA, event: 4, talkers: [{ ...talker(), frames: 90, sequence: 120 }], talkers_total: 1 },
    ],
  });
  for (const sequence of [121, 122, 130]) relays(sequence);
  ended({ event: 5, frames: 93 });
  const own = radio.session ?? 0;
  socket().says(talkStart({ event: 6, session: own }));
  ended({ event: 7, session: own, frames: 50 });
  t.same(ends, [
    [20, 93, 3],
    [own, 50, 0],
  ]);
});

t.test('hearers are told how to decode the talker, those that come late as well', async (t) => {
  const { radio, socket } = setUp();
  const codec = { name: 'codec2', sample_rate: 8_000, frame_ms: 40 };
  const told: unknown[] = [];
  radio.on('talk_started', (talker) => told.push(talker.codec));
  const running = { ...talker({ session: 21, codec }), frames: 1, sequence: 0 };
  socket().welcomes({ talkgroups: [{ ...ALPHA, talkers: [running], talkers_total: 1 }] });
  socket().says(talkStart({ codec }));
  t.same(told, [codec, codec]);
});

t.test('what was on its way while the radio left is not heard', async (t) => {
  const { socket, heard, relays } = setUp();
  socket().welcomes();
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: ALPHA.talkgroup_id, reason: 'left' });
  relays(0);
  relays(0, { talkgroup: 99 });
  t.same(heard, []);
});
