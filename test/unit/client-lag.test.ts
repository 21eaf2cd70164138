// Audio that a radio did not get: its own lag, frames lost between nodes, and how far its node reaches.
import t from 'tap';
import { ALPHA, BRAVO, fakeWorld, nameOf, talkEnd, talker, talkStart } from '../helpers/client/fakes.js';

const payload = Uint8Array.of(0x08, 1);

function setUp() {
  const world = fakeWorld();
  const { radio } = world;
  const socket = world.socket();
  socket.welcomes({ talkgroups: [ALPHA, BRAVO] });
  const order: string[] = [];
  radio.on('lag', ({ talkgroupId, missed, sinceMs }) =>
    order.push(`lag ${nameOf(talkgroupId)} ${missed} ${sinceMs}`),
  );
  radio.on('audio', ({ session, sequence }) => order.push(`${session} #${sequence}`));
  const relays = (sequence: number) =>
    socket.relays({ talkgroup: ALPHA.number, sender: 20, burst: 1, sequence, payload });
  const lags = (missed: number) =>
    socket.says({
      type: 'LAG',
      talkgroups: [
        { talkgroup_id: ALPHA.talkgroup_id, missed },
        { talkgroup_id: BRAVO.talkgroup_id, missed: 0 },
      ],
      since_ms: 1_300,
    });
  const renews = (sequence: number) =>
    socket.says({
      type: 'SUBSCRIBED',
      more: false,
      talkgroups: [
        { ...ALPHA, event: 1, talkers: [{ ...talker(), frames: sequence + 1, sequence }], talkers_total: 1 },
        BRAVO,
      ],
      refused: [],
    });
  return { radio, socket, order, relays, lags, renews };
}

t.test('a player is told to drop its queue before the first live frame, for each talkgroup', async (t) => {
  const { socket, order, relays, lags, renews } = setUp();
  socket.says(talkStart());
  relays(0);
  lags(500);
  renews(500);
  relays(501);
  t.same(order, ['20 #0', 'lag tg-alpha 500 1300', 'lag tg-bravo 0 1300', '20 #501']);
});

t.test('the burst goes on over a lag, and live frames count on from where the talker is', async (t) => {
  const { radio, socket, order, relays, lags, renews } = setUp();
  const ends: unknown[] = [];
  radio.on('talk_ended', (end) => ends.push(end));
  socket.says(talkStart());
  relays(0);
  lags(69_998);
  renews(69_998);
  relays(69_999 & 0xffff);
  t.equal(order.at(-1), '20 #69999', 'more than half the range of 16 bits was skipped');
  socket.says(talkEnd({ frames: 70_000 }));
  t.match(ends, [{ code: 'released', frames: 70_000, heard: 2 }]);
});

t.test(
  'missed is what the relay counted and nothing else: no pause, no reconnect, no late arrival',
  async (t) => {
    const { radio, socket, relays, lags, renews } = setUp();
    const alpha = radio.talkgroups.get(ALPHA.talkgroup_id);
    socket.says(talkStart());
    relays(0);
    relays(300);
    t.equal(alpha?.missed, 0, 'a pause');
    lags(7);
    renews(400);
    relays(450);
    lags(5);
    t.equal(alpha?.missed, 12);
    socket.says(talkEnd({ frames: 99 }));
    t.equal(alpha?.missed, 12);
    t.equal(radio.talkgroups.get(BRAVO.talkgroup_id)?.missed, 0);
  },
);

t.test('frames lost between the nodes are told and counted apart from the lag', async (t) => {
  const { radio, socket, order, relays, lags } = setUp();
  const told: unknown[] = [];
  radio.on('missed', (missed) => told.push(missed));
  socket.says(talkStart());
  relays(0);
  const { talkgroup_id } = ALPHA;
  for (const missed of [3, 4]) socket.says({ type: 'MISSED', talkgroup_id, session: 20, burst: 1, missed });
  relays(8);
  socket.says({
    ...{ type: 'MISSED', talkgroup_id: '00000000-0000-4000-8000-000000000000' },
    ...{ session: 20, burst: 1, missed: 9 },
  });
  t.same(order, ['20 #0', '20 #8'], 'nothing says that audio is to be dropped');
  t.same(told.slice(0, 2), [
    { talkgroupId: talkgroup_id, session: 20, burst: 1, missed: 3 },
    { talkgroupId: talkgroup_id, session: 20, burst: 1, missed: 4 },
  ]);
  lags(5);
  t.match(radio.talkgroups.get(talkgroup_id), { lostBetweenNodes: 7, missed: 5 });
  t.match(radio.talkgroups.get(BRAVO.talkgroup_id), { lostBetweenNodes: 0, missed: 0 });
});

t.test('reach is that of the node, from WELCOME and REACH, and each change is one event', async (t) => {
  const { clock, radio, socket, ...world } = fakeWorld();
  const told: string[] = [];
  radio.on('reach', (reach) => told.push(`${reach}, and so says the radio: ${radio.reach}`));
  radio.on('open', () => told.push('open'));
  t.equal(radio.reach, 'whole');
  socket().welcomes({ reach: 'whole' });
  for (const reach of ['alone', 'alone', 'partial'] as const) socket().says({ type: 'REACH', reach });
  socket().closes(1006);
  t.equal(radio.reach, 'partial', 'the last known');
  clock.pass(1000);
  socket().welcomes({ reach: 'alone' });
  socket().closes(1006);
  clock.pass(1000);
  t.equal(world.sockets.length, 3);
  socket().welcomes(); // a node that is connected to no other
  t.same(told, [
    'open',
    'alone, and so says the radio: alone',
    'partial, and so says the radio: partial',
    'open',
    'alone, and so says the radio: alone',
    'open',
    'whole, and so says the radio: whole',
  ]);
});
