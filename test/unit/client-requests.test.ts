// A request of the radio settles with its own answer, with an error, or with a timeout.
import t from 'tap';
import { RadioError } from '../../src/client/radio.js';
import { fakeWorld, idOf } from '../helpers/client/fakes.js';

const FIX = { lat: 52.1, lng: 5.3, alt: 12 };

function setUp() {
  const { socket, ...world } = fakeWorld({ random: () => 0.5 });
  socket().welcomes();
  return { ...world, socket: socket() };
}

t.test('a position is stored when the relay says so, and each answer finds its own question', async (t) => {
  const { radio, socket } = setUp();
  const [first, second] = [radio.gps(FIX), radio.gps({ ...FIX, device_id: idOf('d-1') })];
  t.match(socket.texts, [
    { type: 'GPS_UPDATE', ...FIX },
    { type: 'GPS_UPDATE', ...FIX, device_id: idOf('d-1') },
  ]);
  const [ref1, ref2] = socket.texts.map(({ ref }) => ref as number);
  t.not(ref1, ref2);
  socket.says({ type: 'ERROR', ref: ref2 ?? 0, code: 'rate_limited', message: 'slow down' });
  socket.says({ type: 'OK', ref: ref1 ?? 0 });
  await first;
  await t.rejects(second, new RadioError('rate_limited', 'slow down'));
});

t.test('a question is refused when the connection ends, is not there, or has no answer', async (t) => {
  const { clock, radio, socket } = setUp();
  const unanswered = radio.gps(FIX);
  clock.pass(9_000);
  socket.says({ type: 'PONG', t: 0, server_time: 0 });
  clock.pass(1_000);
  await t.rejects(unanswered, { code: 'timeout' });

  const cut = radio.gps(FIX);
  socket.closes(1006);
  await t.rejects(cut, { code: 'disconnected' });
  await t.rejects(radio.gps(FIX), { code: 'disconnected' });
});

t.test('an answer of another kind than the question asks for is an error, not a result', async (t) => {
  const { radio, socket } = setUp();
  const pong = radio.ping();
  const [{ ref } = {}] = socket.texts;
  socket.says({ type: 'OK', ref: ref as number });
  await t.rejects(pong, { code: 'internal' });
});

t.test('a ping is timed on the monotonic clock', async (t) => {
  const { clock, radio, socket } = setUp();
  const pong = radio.ping();
  clock.pass(42);
  const [{ ref, t: echoed } = {}] = socket.texts;
  socket.says({ type: 'PONG', ref: ref as number, t: echoed as number, server_time: 1_700_000_000_000 });
  t.same(await pong, { rttMs: 42, server_time: 1_700_000_000_000 });
});
