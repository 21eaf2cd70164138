// When the radio reconnects, when it stops, and how it detects a dead link.
import fc from 'fast-check';
import t from 'tap';
import { LIBRARY, relayAddress } from '../../src/client/connection/address.js';
import { nextStep } from '../../src/client/connection/backoff.js';
import type { ServerMessage } from '../../src/client/radio.js';
import { readVersion } from '../../src/version.js';
import { fakeWorld, idOf, keyRotated, turn } from '../helpers/client/fakes.js';

function setUp({ url = 'ws://relay:1', random = () => 0.5 }: { url?: string; random?: () => number } = {}) {
  const { socket: last, ...world } = fakeWorld({ url, random });
  const waits: number[] = [];
  world.radio.on('waiting', ({ delayMs }) => waits.push(delayMs));
  const stops: string[] = [];
  world.radio.on('stopped', ({ code, reason }) => stops.push(`${code} ${reason}`));
  return { ...world, waits, stops, last };
}

t.test('the token travels encoded, and /ws is appended once', async (t) => {
  for (const url of ['ws://relay:1', 'ws://relay:1/', 'ws://relay:1/ws']) {
    const named = `client=${encodeURIComponent(LIBRARY)}`;
    t.equal(setUp({ url }).last().address, `ws://relay:1/ws?token=x%2Fy&${named}`);
  }
  t.equal(LIBRARY, `talkgroup-radio-service/${readVersion()}`);
  t.match(relayAddress({ url: 'ws://relay:1', token: 'x', client: 'acme 3' }), /&client=acme%203$/);
});

t.test('`opened` is the first WELCOME, or says why there was none', async (t) => {
  const { radio, clock, waits, last } = setUp();
  let welcomes = 0;
  void radio.opened.then(() => {
    welcomes += 1;
  });
  last().closes(1006);
  clock.pass(waits.at(-1) ?? 0);
  await turn();
  t.equal(welcomes, 0, 'it waits over lost connections');
  last().welcomes();
  t.match(await radio.opened, { type: 'WELCOME' });
  radio.close();
  t.match(await radio.opened, { type: 'WELCOME' }, 'a later stop changes nothing');

  const rejected = setUp();
  rejected.last().closes(1008, 'invalid token');
  await turn(); // an error that was not read ends no process
  await t.rejects(rejected.radio.opened, {
    code: 'stopped',
    message: 'the radio has stopped: invalid token',
  });
  const closed = setUp();
  closed.radio.close();
  await t.rejects(closed.radio.opened, { code: 'stopped', message: 'the radio has stopped: 1000' });
});

t.test('the back-off doubles to 30 s and no further, and starts anew after 5 s of connection', async (t) => {
  const { clock, waits, last } = setUp();
  for (let i = 0; i < 8; i++) {
    last().closes(1006);
    clock.pass(waits.at(-1) ?? 0);
  }
  t.same(waits.splice(0), [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);

  last().welcomes();
  clock.pass(4_999);
  last().closes(1006);
  t.same(waits.splice(0), [15_000], 'a connection that flaps counts as none');

  clock.pass(15_000);
  last().welcomes();
  clock.pass(5_000);
  last().closes(1006);
  t.same(waits, [250]);
});

t.test('every wait lies within what its close code allows, whatever the dice', async () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  type Situation = Omit<Parameters<typeof nextStep>[0], 'attempt' | 'random'>;
  const after = (code: number, reason = '', more: Partial<Situation> = {}): Situation => ({
    ...{ close: { code, reason }, reconnectAfterMs: 0, wasSlow: false },
    ...more,
  });
  const bounds: [Situation, (ceilingMs: number) => [number, number]][] = [
    [after(1001), (ceiling) => [0, ceiling]],
    [after(1006), (ceiling) => [0, ceiling]],
    [after(1006, '', { wasSlow: true }), (ceiling) => [5_000, 5_000 + ceiling]],
    [after(1006, '', { reconnectAfterMs: 3_000 }), (ceiling) => [3_000, 3_000 + ceiling]],
    [after(1009), (ceiling) => [0, ceiling]],
    [after(1011), (ceiling) => [0, ceiling]],
    [after(1012, '', { reconnectAfterMs: 3_000 }), (ceiling) => [3_000, 3_000 + ceiling]],
    [after(1013, 'slow consumer'), (ceiling) => [5_000, 5_000 + ceiling]],
    [after(1013, 'overloaded'), (ceiling) => [5_000, 5_000 + Math.max(5_000, ceiling)]],
    [after(1013, 'replaced'), (ceiling) => [5_000, 5_000 + ceiling]],
    [after(1013, 'rate_limited'), (ceiling) => [30_000, 30_000 + ceiling]],
    [after(1008, 'device disabled'), () => [45_000, 75_000]],
  ];
  fc.assert(
    fc.property(fc.constantFrom(...bounds), fc.nat({ max: 2_000 }), random, (row, attempt, dice) => {
      const [situation, boundsOf] = row;
      const step = nextStep({ ...situation, attempt, random: () => dice });
      const [min, max] = boundsOf(Math.min(30_000, 500 * 2 ** attempt));
      return step.kind === 'wait' && step.delayMs >= min && step.delayMs <= max;
    }),
  );
});

t.test('a token that will never be good stops the radio, a disabled device only slows it down', async (t) => {
  for (const reason of ['invalid token', 'unknown user']) {
    const { clock, sockets, radio, stops, last } = setUp();
    last().closes(1008, reason);
    clock.pass(3_600_000);
    t.equal(radio.state, 'stopped');
    t.same(stops, [`1008 ${reason}`]);
    t.equal(sockets.length, 1);
    t.equal(clock.pending, 0, 'nothing keeps the process alive');
  }
  const { clock, sockets, radio, last } = setUp();
  last().closes(1008, 'device disabled');
  t.equal(radio.state, 'waiting');
  clock.pass(59_999);
  t.equal(sockets.length, 1);
  clock.pass(1);
  t.equal(sockets.length, 2);
});

t.test('a drain is followed by the wait that GOAWAY asked for, once', async (t) => {
  const { clock, waits, last } = setUp();
  last().welcomes();
  last().says({ type: 'GOAWAY', reconnect_after_ms: 4_000 });
  last().closes(1012);
  t.same(waits.splice(0), [4_250]);
  clock.pass(4_250);
  last().closes(1012);
  t.same(waits, [500], 'the next server has asked for nothing');
});

t.test('the wait that GOAWAY asked for runs from GOAWAY on, not from the close', async (t) => {
  for (const [closedAfterMs, wait] of [
    [0, 6_250],
    [4_000, 2_250],
    [6_000, 250],
    [9_000, 250],
  ] as const) {
    const { clock, waits, last } = setUp();
    last().welcomes();
    last().says({ type: 'GOAWAY', reconnect_after_ms: 6_000 });
    clock.pass(closedAfterMs);
    last().closes(1012);
    t.same(waits, [wait], `closed ${closedAfterMs} ms behind it`);
  }
});

t.test('a radio that broke off soon after lagging is taken for slow, a lag of long ago is not', async (t) => {
  const { clock, waits, last } = setUp();
  const lag: ServerMessage = { type: 'LAG', talkgroups: [], since_ms: 4_000 };
  last().welcomes();
  last().says(lag);
  clock.pass(30_000 - 20_000);
  last().closes(1006);
  t.same(waits.splice(0), [5_250]);

  clock.pass(5_250);
  last().welcomes();
  clock.pass(5_000);
  last().closes(1006);
  t.same(waits.splice(0), [250], 'that was another connection');

  clock.pass(250);
  last().welcomes();
  last().says(lag);
  clock.pass(14_000);
  last().says(lag);
  for (let i = 0; i < 31; i++) {
    clock.pass(1_000);
    last().says({ type: 'PONG', t: 0, server_time: 0 });
  }
  last().closes(1006);
  t.same(waits, [250]);
});

t.test(
  'a question that meets dead silence ends the connection in 10 s, however many follow it',
  async (t) => {
    const { clock, radio, last } = setUp();
    last().welcomes();
    for (let asked = 0; asked < 10; asked++) {
      t.equal(radio.state, 'open');
      radio.ping().catch(() => {});
      clock.pass(1_000);
    }
    t.equal(radio.state, 'waiting');

    clock.pass(500);
    last().welcomes();
    radio.ping().catch(() => {});
    clock.pass(9_000);
    last().says(keyRotated(idOf('tg-alpha'), 1, 1));
    clock.pass(9_000);
    t.equal(radio.state, 'open', 'any word will do');
    await turn();
  },
);

t.test('a radio told to reconnect does so at once, from whatever state but the last', async (t) => {
  const { clock, radio, sockets, waits, last } = setUp();
  radio.reconnect();
  t.equal(sockets.length, 2);
  last().welcomes();
  const [left] = sockets.slice(-1);
  radio.reconnect();
  t.equal(sockets.length, 3);
  t.equal(radio.state, 'connecting');
  t.equal(left?.closedWith, undefined, 'its session moves only while it is open');
  t.same(waits.splice(0), [0]);
  left?.closes(1006);
  t.equal(radio.state, 'connecting', 'the one it left does not count');
  last().closes(1013);
  t.equal(radio.state, 'waiting');
  radio.reconnect();
  t.equal(sockets.length, 4);
  clock.pass(9_999);
  t.equal(sockets.length, 4, 'the wait was taken back');
  radio.close();
  radio.reconnect();
  t.equal(sockets.length, 4);
  t.equal(clock.pending, 0);
});

t.test('the connection that a reconnect replaces is closed when the next one is open or fails', async (t) => {
  for (const [next, closedWith] of [
    [(world: ReturnType<typeof setUp>) => world.last().welcomes({ resumed: true }), null],
    [(world: ReturnType<typeof setUp>) => world.last().closes(1006), null],
    [(world: ReturnType<typeof setUp>) => world.last().closes(1008, 'invalid token'), null],
    [(world: ReturnType<typeof setUp>) => world.clock.pass(10_000), null],
    [(world: ReturnType<typeof setUp>) => world.radio.close(), 1000],
  ] as const) {
    const world = setUp();
    world.last().welcomes();
    world.radio.reconnect();
    const [replaced, opening] = world.sockets;
    t.match(opening?.address, 'resume=token-1');
    world.radio.reconnect();
    t.same([replaced?.closedWith, opening?.closedWith], [undefined, null], 'only the attempt is given up');
    next(world);
    t.equal(replaced?.closedWith, closedWith);
  }
});

t.test('a link that swallows everything is noticed within 25 s and left', async (t) => {
  const { clock, radio, sockets, last } = setUp();
  const [first] = sockets;
  last().welcomes();
  clock.pass(15_000);
  t.match(first?.texts, [{ type: 'PING' }]);
  clock.pass(9_999);
  t.equal(radio.state, 'open');
  clock.pass(1);
  t.equal(radio.state, 'waiting');
  t.equal(first?.closedWith, null, 'without 1000, which would give up the session');
  first?.welcomes();
  t.equal(radio.state, 'waiting', 'what the dead link still says counts for nothing');
});

t.test('any word of the server proves the link, and a quiet one is asked again and again', async (t) => {
  const { clock, radio, last } = setUp();
  last().welcomes();
  clock.pass(14_000);
  last().says(keyRotated(idOf('tg-alpha'), 1, 1));
  clock.pass(14_000);
  t.equal(last().texts.length, 0);
  clock.pass(1_000);
  for (let asked = 1; asked <= 3; asked++) {
    t.equal(last().texts.length, asked);
    last().says({ type: 'PONG', t: 0, server_time: 0 });
    clock.pass(15_000);
  }
  t.equal(radio.state, 'open');
});

t.test('a server that accepts and then says nothing is left after 10 s', async (t) => {
  const { clock, radio } = setUp();
  clock.pass(9_999);
  t.equal(radio.state, 'connecting');
  clock.pass(1);
  t.equal(radio.state, 'waiting');
});

t.test('a radio that is closed stays closed, in whatever state it was', async (t) => {
  const before = [
    () => {},
    ({ last }: ReturnType<typeof setUp>) => last().welcomes(),
    ({ last }: ReturnType<typeof setUp>) => last().closes(1006),
  ];
  for (const bring of before) {
    const world = setUp();
    bring(world);
    world.radio.close();
    world.radio.close();
    world.last().closes(1006);
    world.clock.pass(3_600_000);
    t.same(world.stops, ['1000 ']);
    t.equal(world.sockets.length, 1);
    t.equal(world.clock.pending, 0);
  }
});

t.test('what is no message of our server is passed over', async (t) => {
  const { radio, last } = setUp();
  const socket = last();
  for (const data of ['', 'null', '[]', '{}', '{"type":7}', '{"type":"WEL', new ArrayBuffer(40)])
    socket.delivers(data);
  t.equal(radio.state, 'connecting');
  socket.welcomes();
  for (const data of ['null', '{"type":"FROM_THE_FUTURE"}', new ArrayBuffer(0), new ArrayBuffer(40)])
    socket.delivers(data);
  t.equal(radio.state, 'open');
});
