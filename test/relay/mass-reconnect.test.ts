// Who talks on while hundreds come and go.
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { handshake } from '../helpers/relay/wire.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';

/** More than the hundred within 50 ms that the relay takes for a mass reconnect, and each comes and goes. */
const SOCKETS = 150;
const BURSTS = 6;
const FRAMES = 25;

t.test(
  'what is said in a mass reconnect is heard once, in order, between its announcement and its end',
  { timeout: 60_000 },
  async (t) => {
    const s = await service(t);
    const group = await s.crew(t, 4, { name: 'fire' });
    const [a, b, bundled, lonely] = group.radios;
    await bundled.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id], bundle_ms: 60 });
    await lonely.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id], mode: 'events' });
    for (const { arrivals } of [b, bundled, lonely]) arrivals.length = 0;

    const expected: string[] = [];
    for (let burst = 0; burst < BURSTS; burst++) {
      await passBy(t, s.ws);
      const passing = passBy(t, s.ws);
      expected.push('TALK_STARTED');
      for (let frame = 0; frame < FRAMES; frame++) {
        const text = `${burst}.${frame}`;
        a.speaks(group.number, text, { start: frame === 0, end: frame === FRAMES - 1 });
        expected.push(text);
        if (frame % 5 === 0) await a.settled();
      }
      expected.push('TALK_ENDED');
      await passing;
    }
    for (const radio of [b, bundled, lonely]) await radio.settled();
    t.strictSame(heardBy(b), expected);
    t.strictSame(heardBy(bundled), expected);
    t.strictSame(
      heardBy(lonely),
      expected.filter((what) => what.startsWith('TALK')),
    );
    t.strictSame(a.frames, [], 'nobody hears himself');
  },
);

const heardBy = ({ arrivals }: Radio) =>
  arrivals
    .map((arrival) => ('payload' in arrival ? arrival.text : String((arrival as Json).type)))
    .filter((what) => what !== 'PONG');

/** Strangers who connect at once and are gone as soon as they are answered. */
async function passBy(t: Test, address: string): Promise<void> {
  const sockets = Array.from({ length: SOCKETS }, () => {
    const socket = connect(Number(new URL(address).port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.on('error', () => {}); // 'close' follows
    socket.write(handshake(`${address}/ws?token=none`));
    socket.once('data', () => socket.destroy());
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'close')));
}
