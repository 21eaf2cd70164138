// A radio that was too slow: its lag events, its counts, and the audio after the gap.
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
