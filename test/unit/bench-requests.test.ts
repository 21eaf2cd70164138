// The bench's HTTP generator against servers that stall, break off and answer in pieces: nothing may be left out.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { createSender, encodeRequest, failuresOf, type Round } from '../../bench/generator/requests.js';
import { nowMs } from '../../bench/machine/clock.js';

const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 11\r\n\r\n{"ok":true}');

/** A server that calls `asked` for each request, which is one segment here. With its address. */
async function serve(t: Test, asked: (socket: Socket, request: number) => void): Promise<string> {
  const sockets = new Set<Socket>();
  let requests = 0;
  const server: Server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // the client goes first
    socket.on('data', () => asked(socket, requests++));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const request = () => encodeRequest({ method: 'GET', path: '/talkgroups', token: 'a' });
const roundOf = (round: Partial<Round>): Round => ({
  fromMs: nowMs(),
  ms: 100,
  perSecond: 200,
  request,
  ...round,
});

t.test('while a server stalls, requests become due all the same and wait from then on', async (t) => {
  const stallMs = 150; // longer than the round: each of its requests is due in the stall
  const held: Socket[] = [];
  let isStalled = true;
  const url = await serve(t, (socket) => {
    if (!isStalled) socket.write(ANSWER);
    else if (held.push(socket) === 2) setTimeout(goOn, stallMs);
  });
  const goOn = () => {
    isStalled = false;
    for (const socket of held) socket.write(ANSWER);
  };
  const sent = await createSender({ url, connectionsMax: 2 }).play(roundOf({}));
  t.equal(held.length, 2, 'of two connections');
  t.equal(sent.requests, 20);
  t.equal(sent.latency.count, 20);
  t.equal(failuresOf(sent), 0);
  // The last is due 95 ms after the first. HDR keeps three digits.
  t.ok(sent.latency.p50Ms > (stallMs - 95) * 0.99, `${sent.latency.p50Ms} ms`);
  t.ok(sent.latency.maxMs > stallMs * 0.99, `${sent.latency.maxMs} ms`);
});

t.test('a closed loop asks no more than it is answered', async (t) => {
  let asked = 0;
  const url = await serve(t, (socket, index) => {
    asked++;
    if (index < 5) socket.write(ANSWER);
    else setTimeout(() => socket.write(ANSWER), 150); // behind the end of the round
  });
  const sent = await createSender({ url, connectionsMax: 2 }).play(roundOf({ perSecond: null }));
  t.equal(sent.requests, asked);
  t.ok(asked <= 7, 'five answers at once, and two connections that wait');
});

t.test('a connection that breaks costs its own request and no other', async (t) => {
  const url = await serve(t, (socket, index) => {
    if (index % 4 === 1) socket.resetAndDestroy();
    else if (index % 4 === 3) socket.end(ANSWER.toString().replace('X: y', 'Connection: close'));
    else socket.write(ANSWER);
  });
  const sent = await createSender({ url, connectionsMax: 1 }).play(roundOf({}));
  t.equal(sent.requests, 20);
  t.equal(sent.outcomes['200']?.count, 15);
  t.equal(failuresOf(sent), 5);
});

t.test('an answer is one answer wherever TCP cuts it', async (t) => {
  const url = await serve(t, (socket, index) => {
    socket.write(ANSWER.subarray(0, index + 1));
    setImmediate(() => socket.write(ANSWER.subarray(index + 1)));
  });
  const bodies = new Set<string>();
  const sent = await createSender({ url, connectionsMax: 1 }).play(
    roundOf({
      perSecond: (1000 * (ANSWER.length - 1)) / 100,
      answered: (_, { status, body }) => bodies.add(`${status} ${body}`),
    }),
  );
  t.equal(sent.requests, ANSWER.length - 1);
  t.strictSame([...bodies], ['200 {"ok":true}']);
});
