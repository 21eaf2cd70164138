// Renewal of the TLS certificate in the running service: what new connections are presented, and what open ones notice.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect as connectTo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { askToReload } from '../../src/tls/reload.js';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { eventually } from '../helpers/eventually.js';
import { scrape } from '../helpers/http/exposition.js';
import {
  certificateFolder,
  issue,
  type Pair,
  presentedAt,
  shakenHands,
} from '../helpers/network/certificates.js';
import { connect, runCommand, type Service, service, serviceProcess } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

/** In place of the minute. */
const LOOK = { certificateLookMs: 20 };

type Ports = Pick<Service, 'rest' | 'ws'>;

const isPresented = (
  { rest, ws }: Ports,
  { rest: onRest, relay }: { rest: Pair; relay: Pair },
  name: string,
) =>
  eventually(async () => {
    const presented = { rest: await presentedAt(rest, name), relay: await presentedAt(ws, name) };
    const wanted = { rest: onRest.fingerprint, relay: relay.fingerprint };
    if (presented.rest !== wanted.rest || presented.relay !== wanted.relay)
      throw new Error(`presented ${JSON.stringify(presented)} instead of ${JSON.stringify(wanted)}`);
  });

/** Everyone hears everyone else. */
async function allHear(t: Tap, radios: readonly OpenRadio[], number: number, word: string): Promise<void> {
  for (const [index, radio] of radios.entries()) {
    radio.speaks(number, `${word} ${index}`, { start: true, end: true });
    const others = radios.filter((other) => other !== radio);
    await Promise.all(others.map((other) => other.hearsText(`${word} ${index}`)));
  }
  t.pass(`${radios.length} radios hear each other: ${word}`);
}

/** For a socket that names its server, '': none, and trusts this certificate. The types of `ws` lack what TLS takes. */
const named = (servername: string, { cert }: Pair): object => ({ servername, ca: cert });

type Tap = Parameters<typeof connect>[0];
type OpenRadio = Awaited<ReturnType<typeof connect>>;

t.test(
  'a renewed pair is presented on both ports, and radios of before and after hear each other',
  async (t) => {
    const [old, renewed] = [issue(), issue()];
    const { settings, swap } = await certificateFolder(t, old);
    const s = await service(t, settings, undefined, LOOK);
    const people = await Promise.all(['ann', 'bob', 'cy', 'dan'].map((name) => s.person(name)));
    const [ann, bob, cy, dan] = people as [Person, Person, Person, Person];
    const [talkgroup = ''] = await s.talkgroups(ann, 1);
    for (const { id } of [bob, cy, dan])
      await s.sql`insert into memberships (user_id, talkgroup_id, site) values (${id}, ${talkgroup}, 'depot')`;
    const [row] = await s.sql`select number::int from talkgroups where id = ${talkgroup}`;
    const number = row?.number as number;
    const radio = ({ token }: Person, servername: string, ca: Pair) =>
      connect(t, `${s.ws.replace('ws:', 'wss:')}/ws?token=${token}`, named(servername, ca));

    const before = [await radio(ann, 'localhost', old), await radio(bob, '', old)];
    await allHear(t, before, number, 'before');
    await isPresented(s, { rest: old, relay: old }, 'localhost');

    await swap(renewed);
    await isPresented(s, { rest: renewed, relay: renewed }, 'localhost');
    t.equal(await presentedAt(s.rest, ''), renewed.fingerprint, 'REST also without SNI');
    t.equal(
      await presentedAt(s.ws, ''),
      old.fingerprint,
      'the relay without SNI: the certificate of its start',
    );

    const after = [await radio(cy, 'localhost', renewed), await radio(dan, '', old)];
    await allHear(t, [...before, ...after], number, 'after');
    for (const one of [...before, ...after])
      t.match(await one.asks({ type: 'PING', t: 1 }), { type: 'PONG' });

    await s.close();
    for (const one of [...before, ...after])
      t.match(await one.closes(), { code: 1012 }, 'all are told of the end');
  },
);

type Person = Awaited<ReturnType<Service['person']>>;

t.test('every relay thread presents the renewed pair', async (t) => {
  const [old, renewed] = [issue(), issue()];
  const { settings, swap } = await certificateFolder(t, old);
  const s = await service(t, { ...settings, RELAY_THREADS: '2' }, undefined, LOOK);
  /** Of connections that Linux deals out to both threads. */
  const presented = async () =>
    new Set(await Promise.all(Array.from({ length: 20 }, () => presentedAt(s.ws, 'localhost'))));
  t.strictSame(await presented(), new Set([old.fingerprint]));
  await swap(renewed);
  await isPresented(s, { rest: renewed, relay: renewed }, 'localhost');
  t.strictSame(await presented(), new Set([renewed.fingerprint]));
});

t.test('the relay takes 8 renewals for a name of three labels, after that REST alone', async (t) => {
  const wanted = { names: ['radio.example.test', '*.fleet.test'], addresses: [] };
  const name = { full: 'radio.example.test', wildcard: 'x7.fleet.test' };
  const { settings, swap } = await certificateFolder(t, issue(wanted));
  const s = await service(t, settings, undefined, LOOK);
  let last = issue(wanted);
  for (let renewal = 0; renewal < 4; renewal++) {
    last = issue(wanted);
    await swap(last);
    for (const one of Object.values(name)) await isPresented(s, { rest: last, relay: last }, one);
  }
  const full = { names: ['radio.example.test'], addresses: [] };
  for (let renewal = 4; renewal < 8; renewal++) {
    last = issue(full); // the wildcard had its four
    await swap(last);
    await isPresented(s, { rest: last, relay: last }, name.full);
  }
  const ninth = issue(full);
  await swap(ninth);
  await isPresented(s, { rest: ninth, relay: last }, name.full);
});

t.test('connections that shook hands before renewals are answered after them', async (t) => {
  const wanted = { names: ['radio.example.test'] };
  const { settings, swap } = await certificateFolder(t, issue(wanted));
  const s = await service(t, settings, undefined, LOOK);
  const quiet = [];
  for (let renewal = 0; renewal < 4; renewal++) {
    for (let count = 0; count < 10; count++) quiet.push(await shakenHands(s.ws, 'radio.example.test'));
    const renewed = issue(wanted);
    await swap(renewed);
    await isPresented(s, { rest: renewed, relay: renewed }, 'radio.example.test');
  }
  for (const socket of quiet) {
    socket.write('GET /nowhere HTTP/1.1\r\nHost: radio.example.test\r\n\r\n');
    const [answer] = await once(socket, 'data');
    t.match(String(answer), /^HTTP\/1\.1 404 /);
  }
});

t.test('the metric says for each listener how long its certificate is valid', async (t) => {
  const [day, hour] = [issue({ expiresInS: 86_400 }), issue({ expiresInS: 3600 })];
  const { settings, swap } = await certificateFolder(t, hour);
  const s = await service(t, settings, undefined, LOOK);
  const remainingS = async () => {
    const { series } = await scrape(s.metrics);
    const name = 'talkgroup_tls_certificate_remaining_seconds';
    return ['rest', 'relay', 'relay_without_sni'].map((one) => series.get(`${name}{listener="${one}"}`));
  };
  const isAbout = (wantedS: number, s = 0) => s <= wantedS && s > wantedS - 120;
  for (const s of await remainingS()) t.ok(isAbout(3600, s), `${s}`);
  await swap(day);
  await isPresented(s, { rest: day, relay: day }, 'localhost');
  const [rest, relay, withoutSni] = await remainingS();
  t.ok(isAbout(86_400, rest) && isAbout(86_400, relay) && isAbout(3600, withoutSni), `${rest} ${relay}`);
});

t.test('reload says what became of the pair, and one that cannot be used is logged once', async (t) => {
  const first = issue();
  const { settings, swap } = await certificateFolder(t, first);
  const environment = { ...settings, LOG_LEVEL: 'info', DATABASE_URL: await migratedDatabase(t) };
  const s = await serviceProcess(t, environment);
  const reload = () => runCommand(['reload'], { PORT: '0', ...environment });
  /** What the command does, without its start, which takes a second. */
  const ask = () => askToReload({ DATA_DIR: settings.DATA_DIR, PORT: 0 });
  const keeps = async (pair: Pair) => {
    for (const url of [s.rest, s.ws]) t.equal(await presentedAt(url, 'localhost'), pair.fingerprint, url);
  };
  t.match(await reload(), { code: 0, output: /^certificate unchanged, expires 20\d\d-.*Z\n$/ });

  const renewed = issue();
  await swap(renewed);
  t.match(await reload(), { code: 0, output: /^certificate renewed, expires / });
  await keeps(renewed);
  t.match(await ask(), { isPresented: true, text: /^certificate unchanged, / });

  const other = issue();
  const cases = {
    'TLS_KEY_FILE must be the key of TLS_CERT_FILE': { cert: other.cert, key: renewed.key },
    'cannot read TLS_KEY_FILE: ENOENT': { cert: other.cert },
    'cannot read TLS_CERT_FILE: ENOENT': { key: other.key },
    'TLS_CERT_FILE must be a certificate in PEM: ': { ...other, cert: other.cert.slice(0, 200) },
    'TLS_KEY_FILE must be a private key in PEM: ': { ...other, key: '' },
    'the certificate in TLS_CERT_FILE expired 20': issue({ expiresInS: -60 }),
    'the certificate in TLS_CERT_FILE is not valid before 20': issue({ validFromS: 3600 }),
  };
  const logged = () =>
    s
      .output()
      .split('\n')
      .filter((line) => line.includes('certificate not renewed, the previous one stays'));
  for (const [reason, pair] of Object.entries(cases)) {
    const before = logged().length;
    await swap(pair);
    for (const _again of [1, 2]) {
      const { isPresented, text } = await ask();
      t.notOk(isPresented);
      t.ok(text.startsWith(reason), text);
      t.match(text, /\. The service keeps the previous certificate\.$/);
    }
    const lines = await eventually(() => {
      if (logged().length === before) throw new Error('not logged yet');
      return logged().slice(before);
    });
    t.equal(lines.length, 1, `logged once: ${reason}`);
    t.match(lines[0], reason.slice(0, 30));
    await keeps(renewed);
  }

  await swap({ cert: other.cert, key: renewed.key });
  t.match(await reload(), {
    code: 1,
    output: /^TLS_KEY_FILE must be the key of TLS_CERT_FILE\. The service/,
  });

  await swap(other);
  t.match(await ask(), { isPresented: true, text: /^certificate renewed, / });
  await keeps(other);
  await eventually(() => assert.match(s.output(), /"listener":"relay".*"certificate renewed"/));
  await eventually(() =>
    assert.match(s.output(), /relay keeps the certificate of its start for clients without SNI/),
  );

  await swap(issue()); // the third for `localhost`, which has one label
  t.match(await ask(), {
    isPresented: false,
    text: /The relay keeps the previous one: .* Restart the service/,
  });
  t.equal(await presentedAt(s.ws, 'localhost'), other.fingerprint);
  t.not(await presentedAt(s.rest, 'localhost'), other.fingerprint);
  await eventually(() =>
    assert.match(s.output(), /relay keeps its previous certificate: restart the service/),
  );

  const { token } = await s.person('ann');
  const radio = await connect(t, `${s.ws}/ws?token=${token}`, named('localhost', other));
  const idle = connectTo(join(settings.DATA_DIR, 'reload-0.sock')); // it asks nothing, and holds up nothing
  await once(idle, 'connect');
  s.signal('SIGHUP');
  t.same(await radio.closes(), { code: 1012, reason: 'restart' });
  const signalledAt = performance.now();
  t.equal(await s.exit(), 0, 'SIGHUP ends the service');
  within(t, performance.now() - signalledAt, 8000);
  t.notOk(existsSync(join(settings.DATA_DIR, 'reload-0.sock')));
  t.match(await reload(), { code: 1, output: /^no service with TLS answers at .*reload-0\.sock/ });
});

t.test('a service with an expired certificate starts, warns, and presents the renewed one', async (t) => {
  const [expired, renewed] = [issue({ expiresInS: -60 }), issue()];
  const { settings, swap } = await certificateFolder(t, expired);
  const environment = { ...settings, LOG_LEVEL: 'warn', DATABASE_URL: await migratedDatabase(t) };
  const s = await serviceProcess(t, environment);
  const warning =
    /"reason":"the certificate in TLS_CERT_FILE expired 20[^"]+","msg":"certificate not valid, clients reject it"/;
  await eventually(() => assert.match(s.output(), warning));
  t.equal(await presentedAt(s.ws, 'localhost'), expired.fingerprint);
  await swap(renewed);
  await askToReload({ DATA_DIR: settings.DATA_DIR, PORT: 0 });
  await isPresented(s, { rest: renewed, relay: renewed }, 'localhost');
});

t.test('reload fails when no service with TLS runs', async (t) => {
  const { code, output } = await runCommand(['reload'], { DATA_DIR: t.testdir({}) });
  t.match({ code, output }, { code: 1, output: /^no service with TLS answers at \// });
});

t.test('a socket that cannot be made leaves the service without reload, and with its minute', async (t) => {
  const [old, renewed] = [issue(), issue()];
  const { folder, settings, swap } = await certificateFolder(t, old);
  await writeFile(join(folder, 'file'), '');
  const environment = { ...settings, DATA_DIR: join(folder, 'file', 'data') };
  const s = await service(t, environment, undefined, LOOK);
  await swap(renewed);
  await isPresented(s, { rest: renewed, relay: renewed }, 'localhost');
  t.match(await runCommand(['reload'], { PORT: '0', ...environment }), { code: 1, output: /^no service/ });
});
