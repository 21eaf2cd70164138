// SOCKETS_MAX through the wire: who is refused beyond it and how, and that a connection that ends makes room.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { eventually } from '../helpers/eventually.js';
import { scrape } from '../helpers/http/exposition.js';
import { type Service, service } from '../helpers/service/service.js';

const OVERLOADED = { code: 1013, reason: 'overloaded' };
const MAX = 3;
/** So many more get as far as a close that says why. */
const REFUSED_AT_ONCE_MAX = 32;

async function figures({ metrics }: Service) {
  const { series } = await scrape(metrics);
  const of = (name: string) => series.get(`talkgroup_relay_${name}`);
  return {
    open: of('connections'),
    max: of('connections_max'),
    dropped: of('connections_dropped_total'),
    refused: of('handshakes_refused_total{reason="overloaded"}'),
  };
}

/** Connections that say nothing. Resolves when each was accepted or closed. */
async function strangers(t: Test, address: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(address);
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {}); // a reset. 'close' follows
    t.teardown(() => socket.destroy());
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

for (const RELAY_THREADS of ['0', '1', '2']) {
  t.test(
    `beyond SOCKETS_MAX a handshake is closed 1013 and counted, with RELAY_THREADS=${RELAY_THREADS}`,
    async (t) => {
      const s = await service(t, { SOCKETS_MAX: String(MAX), RELAY_THREADS });
      const ann = await s.person('ann');
      const inside = [await ann.radio(), await ann.radio(), await ann.radio()] as const;
      t.match(await figures(s), { open: MAX, max: MAX, dropped: 0, refused: 0 });
      await eventually(async () => assert.equal((await fetch(`${s.rest}/readyz`)).status, 503));
      for (let n = 1; n <= 5; n++) {
        t.same(await (await ann.radioHere()).closes(), OVERLOADED);
        t.match(await figures(s), { open: MAX, dropped: 0, refused: n });
      }
      for (const radio of inside) await radio.settled();
      inside[0].socket.close(1000);
      await inside[0].closes();
      await eventually(async () => assert.equal((await fetch(`${s.rest}/readyz`)).status, 200));
      const next = await ann.radio();
      t.ok(next.welcome, 'one that ends makes room');
      next.socket.terminate();
      await eventually(async () => assert.equal((await figures(s)).open, MAX - 1));
      t.ok((await ann.radio()).welcome, 'one that breaks too');
    },
  );
}

const TLS = {
  TLS_CERT_FILE: fileURLToPath(new URL('../../../test/helpers/network/tls-cert.pem', import.meta.url)),
  TLS_KEY_FILE: fileURLToPath(new URL('../../../test/helpers/network/tls-key.pem', import.meta.url)),
};

for (const [what, settings] of [
  ['plain text', {}],
  ['TLS', TLS],
] as const) {
  t.test(`connections that never become a WebSocket count, and too many are closed: ${what}`, async (t) => {
    const s = await service(t, { SOCKETS_MAX: String(MAX), ...settings });
    const before = (await figures(s)).open ?? 0;
    const free = MAX + REFUSED_AT_ONCE_MAX - before;
    const others = await strangers(t, s.ws, free + 10);
    await eventually(async () => assert.equal(others.filter(({ closed }) => closed).length, 10));
    t.match(await figures(s), { open: MAX + REFUSED_AT_ONCE_MAX, dropped: 10 });
    for (const socket of others) socket.destroy();
    await eventually(async () => assert.equal((await figures(s)).open, before));
  });
}
