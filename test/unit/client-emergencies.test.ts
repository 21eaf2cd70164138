// Emergencies: raised over lost connections, and known to every radio of the talkgroup until they are cleared.
import t from 'tap';
import {
  ALPHA,
  BRAVO,
  emergency,
  fakeWorld,
  idOf,
  nameOf,
  talkStart,
  turn,
} from '../helpers/client/fakes.js';

const id = ALPHA.talkgroup_id;

function setUp({ connected = true } = {}) {
  const world = fakeWorld();
  const { clock, radio, socket } = world;
  if (connected) socket().welcomes();
  const told: string[] = [];
  radio.on('emergency', ({ emergency_id, state }) => told.push(`${nameOf(emergency_id)} ${state}`));
  const ref = () => socket().texts.at(-1)?.ref as number;
  const raises = () => socket().texts.filter(({ type }) => type === 'EMERGENCY_RAISE').length;
  const taken = () => socket().says({ type: 'OK', ref: ref(), emergency_id: idOf('em-9') });
  const refused = (code: 'rate_limited' | 'not_member' | 'unavailable') =>
    socket().says({ type: 'ERROR', ref: ref(), code, message: '' });
  const returns = () => {
    socket().closes(1006);
    clock.pass(0);
    socket().welcomes({ resumed: true });
  };
  return { ...world, told, ref, raises, taken, refused, returns };
}

t.test('a call is taken when the relay has announced it, with its id', async (t) => {
  const { radio, socket, taken } = setUp();
  const call = radio.emergency.raise({ talkgroupId: id, lat: 52.25, lng: 5.5, alt: 12 });
  t.match(socket().texts, [{ type: 'EMERGENCY_RAISE', talkgroup_id: id, lat: 52.25, lng: 5.5, alt: 12 }]);
  taken();
  t.equal(await call, idOf('em-9'));
});

t.test('a call without a connection is the first thing that is said on the next', async (t) => {
  const { radio, socket, taken } = setUp({ connected: false });
  radio.talk({ talkgroupId: id, floor: 'request' });
  radio.subscribe({ talkgroupIds: [id], mode: 'listen' }).catch(() => {});
  const call = radio.emergency.raise({ talkgroupId: id });
  t.same(socket().texts, []);
  socket().welcomes();
  const [first] = socket().texts;
  t.match(first, { type: 'EMERGENCY_RAISE' });
  socket().says({ type: 'OK', ref: first?.ref as number, emergency_id: idOf('em-9') });
  t.equal(await call, idOf('em-9'));
  taken();
});

t.test(
  'a call is sent until it is taken: over lost connections, refusals for now, missing answers',
  async (t) => {
    const { clock, radio, sockets, raises, taken, refused, returns, socket } = setUp();
    const call = radio.emergency.raise({ talkgroupId: id });
    returns();
    t.equal(raises(), 1, 'again on the new connection');
    await turn();
    refused('rate_limited');
    await turn();
    clock.pass(999);
    t.equal(raises(), 1);
    clock.pass(1);
    t.equal(raises(), 2);
    for (let second = 0; second < 10; second++) {
      clock.pass(1_000);
      socket().says({ type: 'PONG', t: 0, server_time: 0 });
    }
    await turn();
    clock.pass(1_000);
    t.equal(raises(), 3, 'nobody answered for 10 s');
    clock.pass(10_000);
    t.equal(sockets.length, 3, 'a dead link is left as soon as that');
    socket().welcomes();
    taken();
    t.equal(await call, idOf('em-9'));
    clock.pass(9_000);
    t.equal(raises(), 1, 'and no more once it is taken');
  },
);

t.test('a call that is refused for good, taken back, or left over is told so', async (t) => {
  const { clock, radio, refused, returns, raises } = setUp();
  const stranger = radio.emergency.raise({ talkgroupId: idOf('tg-other') });
  refused('not_member');
  await t.rejects(stranger, { code: 'not_member' });

  const mistake = new AbortController();
  const call = radio.emergency.raise({ talkgroupId: id, signal: mistake.signal });
  refused('unavailable');
  mistake.abort();
  await t.rejects(call, { code: 'cancelled' });
  clock.pass(5_000);
  t.equal(raises(), 2, 'nothing is sent any more');
  await t.rejects(radio.emergency.raise({ talkgroupId: id, signal: mistake.signal }), { code: 'cancelled' });
  returns();
  t.equal(raises(), 0);

  const last = radio.emergency.raise({ talkgroupId: id });
  radio.close();
  await t.rejects(last, { code: 'stopped' });
});

t.test('acknowledging and clearing are ordinary questions: without a connection they fail', async (t) => {
  const { radio, socket, ref } = setUp();
  const acked = radio.emergency.ack(idOf('em-1'));
  t.match(socket().texts.at(-1), { type: 'EMERGENCY_ACK', emergency_id: idOf('em-1') });
  socket().says({ type: 'OK', ref: ref() });
  await acked;
  const cleared = radio.emergency.clear(idOf('em-1'));
  t.match(socket().texts.at(-1), { type: 'EMERGENCY_CLEAR', emergency_id: idOf('em-1') });
  socket().says({ type: 'ERROR', ref: ref(), code: 'unknown_emergency', message: '' });
  await t.rejects(cleared, { code: 'unknown_emergency' });
  socket().closes(1006);
  await t.rejects(radio.emergency.clear(idOf('em-1')), { code: 'disconnected' });
});

t.test('emergencies are known from arrival, by events, and until they are cleared', async (t) => {
  const { radio, socket, told } = setUp({ connected: false });
  socket().welcomes({ talkgroups: [{ ...ALPHA, emergencies: [emergency()] }, BRAVO] });
  socket().says({
    type: 'EMERGENCY',
    event: 1,
    ...emergency({ emergency_id: idOf('em-2'), lat: 1, lng: 2 }),
  });
  socket().says({ type: 'EMERGENCY', event: 2, ...emergency({ state: 'acknowledged' }) });
  t.match(
    [...radio.emergencies.values()],
    [
      { emergency_id: idOf('em-1'), state: 'acknowledged' },
      { emergency_id: idOf('em-2'), state: 'raised', lat: 1, lng: 2 },
    ],
  );
  socket().says({ type: 'EMERGENCY', event: 3, ...emergency({ state: 'cleared' }) });
  t.same([...radio.emergencies.keys()], [idOf('em-2')]);
  t.same(told, ['em-1 raised', 'em-2 raised', 'em-1 acknowledged', 'em-1 cleared']);
});

t.test('what was raised and cleared while the radio was away is told when it is back', async (t) => {
  const { clock, radio, socket, told } = setUp();
  socket().says({ type: 'EMERGENCY', event: 1, ...emergency() });
  socket().says({ type: 'EMERGENCY', event: 2, ...emergency({ emergency_id: idOf('em-2') }) });
  socket().closes(1006);
  t.equal(radio.emergencies.size, 2, 'the last known');
  clock.pass(0);
  const now = [
    emergency({ emergency_id: idOf('em-3') }),
    emergency({ emergency_id: idOf('em-2'), state: 'acknowledged' }),
  ];
  socket().welcomes({ talkgroups: [{ ...ALPHA, emergencies: now }] });
  t.same(told, ['em-1 raised', 'em-2 raised', 'em-1 cleared', 'em-2 acknowledged', 'em-3 raised']);
  t.same([...radio.emergencies.keys()], [idOf('em-2'), idOf('em-3')]);
  const toldBefore = told.length;
  socket().says({
    type: 'SUBSCRIBED',
    more: false,
    talkgroups: [{ ...ALPHA, emergencies: now }],
    refused: [],
  });
  t.equal(told.length, toldBefore, 'no state is told twice');
});

t.test('a snapshot with room for the newest alone clears those of its time, and no older ones', async (t) => {
  const { radio, socket, told } = setUp();
  const at = (second: number) => ({
    emergency_id: idOf(`em-${second}`),
    raised_at: `2026-01-01T00:00:0${second}.000Z`,
  });
  for (const second of [1, 2, 3])
    socket().says({ type: 'EMERGENCY', event: second, ...emergency(at(second)) });
  const shows = (emergencies_total: number, ...seconds: number[]) =>
    socket().says({
      type: 'SYNCED',
      ...{ ...ALPHA, event: 3, emergencies_total },
      emergencies: seconds.map((second) => emergency(at(second))),
    });
  told.length = 0;
  shows(3, 4, 2);
  t.same(told, ['em-3 cleared', 'em-4 raised'], 'of em-1 nothing is said');
  t.same([...radio.emergencies.keys()].sort(), [idOf('em-1'), idOf('em-2'), idOf('em-4')]);
  t.match(radio.talkgroups.get(id), { emergencies_total: 3 });
  shows(1, 4);
  t.same([...radio.emergencies.keys()], [idOf('em-4')], 'that is all there is');
});

t.test(
  'emergencies of a talkgroup that was left are none of ours, and they are not reported as cleared',
  async (t) => {
    const { radio, socket, told } = setUp();
    socket().says({ type: 'EMERGENCY', event: 1, ...emergency() });
    socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: id, reason: 'left' });
    t.equal(radio.emergencies.size, 0);
    t.same(told, ['em-1 raised']);
  },
);

t.test('the burst of one in an emergency is known as such, from the raise to the clear', async (t) => {
  const { radio, socket } = setUp();
  socket().says(talkStart());
  socket().says(talkStart({ event: 2, session: 21, user_id: idOf('u-third') }));
  const talkers = radio.talkgroups.get(id)?.talkers;
  socket().says({ type: 'EMERGENCY', event: 3, ...emergency() });
  t.match(talkers?.get(20), { emergency: true, priority: 7 });
  t.match(talkers?.get(21), { emergency: false, priority: 1 });
  socket().says({ type: 'EMERGENCY', event: 4, ...emergency({ state: 'cleared' }) });
  t.match(talkers?.get(20), { emergency: false, priority: 1 });
});
