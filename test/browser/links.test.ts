// The console over a network that fails: cut in mid-word, a server that is killed, and too many sockets of one account.
import t from 'tap';
import { WebSocket } from 'ws';
import { startChromium } from '../helpers/browser/chromium.js';
import { connected, connection, desk } from '../helpers/browser/desk.js';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { comesTrue } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { freePort } from '../helpers/programs.js';
import { linkedNodes } from '../helpers/service/linked-nodes.js';
import { service, serviceProcess } from '../helpers/service/service.js';

const browser = await startChromium(t);

/** Chromium writes an error for each connection that fails. */
const CUT = /WebSocket connection to|ERR_CONNECTION|Failed to load resource/;

async function behindProxy(t: Parameters<typeof service>[0], settings: Record<string, string> = {}) {
  const port = await freePort();
  const proxy = await startChaosProxy({ host: '127.0.0.1', port });
  t.teardown(() => proxy.stop());
  const environment = { ...settings, WS_PORT: String(port), PUBLIC_WS_URL: `ws://127.0.0.1:${proxy.port}` };
  return { proxy, s: await service(t, environment) };
}

t.test('a link that is cut in mid-word resumes the session, and the held button talks on', async (t) => {
  const { proxy, s } = await behindProxy(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroupWith({ name: 'Fire 1', floor_mode: 'single' }, ann, bob);
  const listener = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann, { expected: [CUT] });
  await button('Talk in', 'Fire 1').hover();
  await page.mouse.down();
  await listener.hears('TALK_STARTED');
  proxy.reset();
  await connection(page).filter({ hasText: 'Connected again' }).waitFor({ state: 'attached' });
  const before = listener.frames.length;
  await comesTrue('speech goes on', () => listener.frames.length > before + 10);
  await page.mouse.up();
  await listener.hears('TALK_ENDED');
});

t.test(
  'a link that is away for long says so, and the button that is still held talks after it',
  async (t) => {
    const { proxy, s } = await behindProxy(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    await s.talkgroup('Fire 1', ann, bob);
    const listener = await bob.radio();
    const { page, button } = await desk(t, browser, s, ann, { expected: [CUT] });
    proxy.slam();
    proxy.reset();
    await connection(page).filter({ hasText: 'The connection was lost.' }).waitFor({ state: 'attached' });
    await button('Talk in', 'Fire 1').hover();
    await page.mouse.down();
    await page
      .getByText('Fire 1: Not connected. Trying again while you hold.')
      .first()
      .waitFor({ state: 'attached' });
    await proxy.listen();
    await listener.hears('TALK_STARTED', ({ username }) => username === 'ann');
    await page.mouse.up();
  },
);

t.test('a server that is killed and started again is found again by itself', async (t) => {
  const url = await migratedDatabase(t);
  const [port, wsPort] = [String(await freePort()), String(await freePort())];
  const environment = { DATABASE_URL: url, PORT: port, WS_PORT: wsPort, RELAY_THREADS: '0' };
  const first = await serviceProcess(t, environment);
  const ann = await first.person('ann');
  await first.talkgroup('Fire 1', ann);
  const { page } = await desk(t, browser, first, ann, { expected: [CUT] });
  first.signal('SIGKILL');
  await first.exit();
  await connection(page).filter({ hasText: 'The connection was lost.' }).waitFor({ state: 'attached' });
  const second = await serviceProcess(t, environment);
  await connection(page)
    .filter({ hasText: 'Connected again' })
    .waitFor({ state: 'attached', timeout: 40_000 });
  await page.getByRole('group', { name: 'Fire 1', exact: true }).getByText('1 online').waitFor();
  second.signal('SIGTERM');
  await connection(page)
    .filter({ hasText: /shutting down|restarts|was lost/ })
    .waitFor({ state: 'attached' });
});

t.test(
  'the 33rd socket of an account takes the place of the console, which says so and comes back',
  async (t) => {
    const s = await service(t, {}, undefined, { isOneNode: true });
    const ann = await s.person('ann');
    await s.talkgroup('Fire 1', ann);
    const { page } = await desk(t, browser, s, ann, { expected: [CUT] });
    const sockets = Array.from({ length: 32 }, () => new WebSocket(`${s.ws}/ws?token=${ann.token}`));
    t.teardown(() => {
      for (const socket of sockets) socket.terminate();
    });
    await connection(page)
      .filter({ hasText: 'Another connection of this account' })
      .waitFor({ state: 'attached' });
    for (const socket of sockets) socket.close(1000);
    await connected(page);
  },
);

t.test('a node that reaches no other one says so, and says when it does again', async (t) => {
  const { a, links } = await linkedNodes(t);
  const ann = await a.person('ann');
  await a.talkgroup('Fire 1', ann);
  const { page } = await desk(t, browser, a, ann);
  const [link] = links;
  link.slam();
  link.reset();
  await connection(page)
    .filter({ hasText: 'This server reaches no other one.' })
    .waitFor({ timeout: 30_000 });
  await link.listen();
  await connected(page);
});

t.test('loss is told honestly on the tile', async (t) => {
  const { proxy, s } = await behindProxy(t, { BACKLOG_MS: '500', LAG_PING_MS: '100' });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const radio = await bob.radio();
  const { tile } = await desk(t, browser, s, ann, { expected: [CUT] });
  proxy.stall(true);
  let frames = 0;
  const speaking = setInterval(() => {
    radio.speaks(group.number, 'x'.repeat(400));
    frames += 1;
  }, 20);
  t.teardown(() => clearInterval(speaking));
  radio.speaks(group.number, 'first', { start: true });
  const lagging = async () => (await metric(s.metrics, 'talkgroup_relay_receivers_lagging')) === 1;
  await comesTrue('the relay pauses its audio', lagging);
  const before = frames;
  await comesTrue('speech is left out', () => frames > before + 10);
  proxy.stall(false);
  await tile('Fire 1')
    .getByText(/^You missed \d+ frames of Fire 1$/)
    .waitFor();
});
