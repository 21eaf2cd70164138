// nginx.conf and Caddyfile of docs/deploy with the real programs, and the real service behind them.
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { readConfig } from '../../src/config/config.js';
import { eventually } from '../helpers/eventually.js';
import { startCaddy, startNginx, type TlsProxy } from '../helpers/network/tls-proxy.js';
import { deployed } from '../helpers/pages/operations-page.js';
import { freePort, unless } from '../helpers/programs.js';
import { connect, service } from '../helpers/service/service.js';

t.setTimeout(300_000);
t.jobs = 4; // they mostly wait

const isLinux = process.platform === 'linux';
const TLS_ONLY = 'add_header Strict-Transport-Security "max-age=31536000" always;';

/** Only Linux has addresses beyond 127.0.0.1 for the clients. */
const unlessProxy = (name: string) => (isLinux ? unless(name) : 'needs 127.0.0.2, which only Linux has');

for (const [name, start] of [
  ['nginx', startNginx],
  ['caddy', startCaddy],
] as const) {
  t.test(
    `${name} leads /ws to the relay and everything else to REST`,
    { buffered: true, skip: unlessProxy(name) },
    async (t) => {
      const s = await service(t, { TRUST_PROXY: '127.0.0.1', CORS_ORIGINS: 'https://listed.example' });
      const proxy = await start(t, s);
      const [ann, bob] = [await s.person('ann'), await s.person('bob')];
      const { number } = await s.talkgroup('Fire 1', ann, bob);

      t.match(await proxy.ask('GET', '/healthz'), {
        ...{ status: 200, body: { ok: true } },
        headers: { 'strict-transport-security': 'max-age=31536000' },
      });
      const authorization = { headers: { authorization: `Bearer ${ann.token}` } };
      const mine = await proxy.ask('GET', '/talkgroups', authorization);
      t.match(mine.body, { talkgroups: [{ talkgroup: { name: 'Fire 1' } }] });
      t.match(await proxy.ask('GET', '/ws/'), { status: 404, body: { error: 'no such path' } }, 'REST');
      t.equal((await proxy.ask('GET', '/ws')).status, 426, 'the relay');
      const large = { name: 'x'.repeat(20_000) };
      t.match(await proxy.ask('POST', '/auth/login', { body: large }), { status: 413 }, 'of the service');

      t.match(await proxy.ask('GET', '/console'), { status: 302, headers: { location: '/console/' } });
      const { body: settings } = await proxy.ask('GET', '/console/config.json');
      t.match(settings, { ws_url: `wss://${new URL(s.ws).host}` }, 'as the page came over TLS');

      const [talker, listener] = [await radioOf(proxy, ann.token), await radioOf(proxy, bob.token)];
      talker.speaks(number, 'over', { start: true, end: true });
      await listener.hearsText('over');
      const stranger = await radioOf(proxy, 'whatever');
      t.same(await stranger.closes(), { code: 1008, reason: 'invalid token' });

      await s.close();
      t.same(await listener.closes(), { code: 1012, reason: 'restart' });

      function radioOf({ ws, ca }: TlsProxy, token: string) {
        // Cookies beyond what the relay reads of a request, and the origin of the console behind the proxy.
        const headers = { cookie: `large=${'x'.repeat(5000)}`, origin: ws.replace('wss', 'https') };
        return connect(t, `${ws}/ws?token=${token}`, { ca, headers });
      }
    },
  );

  t.test(
    `behind ${name} each client has its own limits, whatever X-Forwarded-For it sends`,
    { buffered: true, skip: unlessProxy(name) },
    async (t) => {
      const s = await service(t, { TRUST_PROXY: '127.0.0.1', REGISTRATIONS_PER_MINUTE: '1' });
      const proxy = await start(t, s);
      let registered = 0;
      const registers = async (from: string, headers = {}) => {
        const body = { username: `radio-${registered++}`, password: 'over and out' };
        return (await proxy.ask('POST', '/auth/register', { body, from, headers })).status;
      };
      t.equal(await registers('127.0.0.2'), 200);
      t.equal(await registers('127.0.0.2'), 429);
      t.equal(await registers('127.0.0.2', { 'x-forwarded-for': '203.0.113.9' }), 429, 'a forged address');
      t.equal(await registers('127.0.0.3'), 200, 'another client');
    },
  );

  t.test(
    `${name} writes no query string and no token, also when the service is down`,
    { buffered: true, skip: unlessProxy(name) },
    async (t) => {
      const s = await service(t);
      const proxy = await start(t, s);
      const ann = await s.person('ann');
      const address = `${proxy.ws}/ws?token=${ann.token}`;
      const radio = await connect(t, address, { ca: proxy.ca });
      await proxy.ask('GET', '/talkgroups?limit=77', { headers: { authorization: `Bearer ${ann.token}` } });
      await s.close();
      await radio.closes();
      t.equal((await connect(t, address, { ca: proxy.ca })).welcome, null);
      t.equal(
        (await proxy.ask('GET', `/ws/?token=${ann.token}`)).status,
        502,
        'a client with a slash too many',
      );
      t.equal((await proxy.ask('GET', '/healthz')).status, 502);

      const log = await eventually(async () => {
        const text = await proxy.log();
        // The socket that ended, the one that found no relay, and the last request: each is logged at its end.
        const sockets = text.match(/\/ws\b/g) ?? [];
        if (sockets.length < 2 || !text.includes('/healthz')) throw new Error(`not all logged: ${text}`);
        return text;
      });
      t.match(log, '/ws');
      t.match(log, '/talkgroups');
      t.notMatch(log, 'token=');
      t.notMatch(log, ann.token.slice(-20), 'nor the Authorization header');
      t.notMatch(log, 'limit=77');
    },
  );
}

t.test('nginx keeps radios that are silent', { buffered: true, skip: unlessProxy('nginx') }, async (t) => {
  const { IDLE_TIMEOUT_S } = readConfig({});
  const [, timeoutS] = /location \/ws \{[^}]*proxy_read_timeout (\d+)s/.exec(deployed('nginx.conf')) ?? [];
  t.ok(Number(timeoutS) > IDLE_TIMEOUT_S, `${timeoutS} s, longer than IDLE_TIMEOUT_S`);

  // The same in short: pinged within 8 s, and cut off after 10 s without a byte.
  const s = await service(t, { IDLE_TIMEOUT_S: '8' });
  const proxy = await startNginx(t, s, [['proxy_read_timeout 90s', 'proxy_read_timeout 10s']]);
  const radio = await connect(t, `${proxy.ws}/ws?token=${(await s.person('ann')).token}`, { ca: proxy.ca });
  await delay(13_000);
  await radio.settled();
});

t.test('nginx keeps radios when it reloads', { buffered: true, skip: unlessProxy('nginx') }, async (t) => {
  const s = await service(t);
  const proxy = await startNginx(t, s);
  const { token } = await s.person('ann');
  const radio = await connect(t, `${proxy.ws}/ws?token=${token}`, { ca: proxy.ca });
  await proxy.reload([TLS_ONLY, `${TLS_ONLY} add_header X-Reloaded yes;`]);
  await eventually(async () => {
    const { headers } = await proxy.ask('GET', '/healthz');
    if (headers['x-reloaded'] !== 'yes') throw new Error('not reloaded');
  });
  await radio.settled();
  t.ok((await connect(t, `${proxy.ws}/ws?token=${token}`, { ca: proxy.ca })).welcome);
});

t.test(
  'Caddy leads to another node when one does not accept connections',
  { buffered: true, skip: unlessProxy('caddy') },
  async (t) => {
    const s = await service(t);
    const proxy = await startCaddy(t, s, [`127.0.0.1:${await freePort()}`]);
    const { token } = await s.person('ann');
    // By chance alone, 15 choices in a row are right once in 30,000 runs.
    for (let n = 0; n < 10; n++) t.equal((await proxy.ask('GET', '/healthz')).status, 200);
    for (let n = 0; n < 5; n++)
      t.ok((await connect(t, `${proxy.ws}/ws?token=${token}`, { ca: proxy.ca })).welcome);
  },
);

t.test(
  'Caddy closes radios when it reloads, and takes them back',
  { buffered: true, skip: unlessProxy('caddy') },
  async (t) => {
    const s = await service(t);
    const proxy = await startCaddy(t, s);
    const { token } = await s.person('ann');
    const radio = await connect(t, `${proxy.ws}/ws?token=${token}`, { ca: proxy.ca });
    await proxy.reload(['handle {\n', 'header X-Reloaded yes\n\thandle {\n']);
    t.match(await radio.closes(), { code: Number });
    t.ok((await connect(t, `${proxy.ws}/ws?token=${token}`, { ca: proxy.ca })).welcome);
  },
);
