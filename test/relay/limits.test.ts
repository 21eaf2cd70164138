// Limits: what happens at each one, to whom it happens, and that no other radio is touched.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import t from 'tap';
import { encodeFrame } from '../../src/protocol/frame.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { throughProxy } from '../helpers/database/proxied-database.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { scrape } from '../helpers/http/exposition.js';
import { BINARY, PING, wire, wireFrame } from '../helpers/relay/wire.js';
import { type Person, type Service, service } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

/** A talkgroup of so many people with names of their own. */
async function group(s: Service, name: string, count: number) {
  const people: Person[] = [];
  for (let index = 0; index < count; index++) people.push(await s.person(`${name}-${index}`));
  return { people, ...(await s.talkgroup(name, ...people)) };
}

t.test(
  'a message may be as long as the longer of both kinds, and a text no longer than its own',
  async (t) => {
    const s = await service(t, { TEXT_BYTES: '512', FRAME_BYTES: '1024' });
    const { people, number } = await group(s, 'long', 2);
    const [a, b] = await radiosOf(people);
    const text = (bytes: number) => JSON.stringify({ type: 'PING', t: 1 }).padEnd(bytes);
    a?.says(text(512));
    await a?.hears('PONG');
    a?.speaks(number, 'x'.repeat(1024));
    t.equal((await b?.hearsFrame())?.text.length, 1024);
    a?.says(text(513));
    t.same(await a?.closes(), { code: 1009, reason: 'message too big' });

    b?.sends(new Uint8Array(16 + 1024 + 1));
    t.ok([1006, 1009].includes((await b?.closes())?.code ?? 0), 'beyond both the engine ends the connection');
  },
);

/** Sockets of sessions that were closed, by the reason they are counted under. */
async function closedFor({ metrics }: Service, reason: string): Promise<number | undefined> {
  const { series } = await scrape(metrics);
  return series.get(`talkgroup_relay_closes_total{reason="${reason}"}`);
}

for (const RELAY_THREADS of ['0', '1']) {
  t.test(
    `what the engine finds too big is counted as that, with no limit set and RELAY_THREADS=${RELAY_THREADS}`,
    async (t) => {
      const s = await service(t, { RELAY_THREADS });
      const [a, b, c] = await radiosOf((await group(s, 'big', 3)).people);
      t.equal(await closedFor(s, 'message too big'), 0);
      a?.says(JSON.stringify({ type: 'PING', t: 1 }).padEnd(8193));
      t.same(await a?.closes(), { code: 1006, reason: '' });
      b?.sends(new Uint8Array(8193));
      t.same(await b?.closes(), { code: 1006, reason: '' });
      c?.socket.close(1000, 'Received too big message');
      await c?.closes();
      await eventually(async () => assert.equal(await closedFor(s, 'message too big'), 2));
      t.equal(await closedFor(s, 'timed out'), 0);
    },
  );
}

t.test('every control message with ref is answered, however many come', async (t) => {
  const s = await service(t, { TEXTS_PER_SECOND: '1' });
  const radio = await (await s.person('ann')).radio();
  for (let ref = 0; ref < 15; ref++) radio.says({ type: 'PING', t: 1, ref });
  await radio.settled();
  t.same(
    radio.messages.map(({ ref }) => ref),
    range(15),
  );
  const pongs = radio.messages.filter(({ type }) => type === 'PONG').length;
  t.ok(pongs >= 3 && pongs < 6, `${pongs} of 15: three at once and one a second`);
  t.equal(radio.socket.readyState, radio.socket.OPEN, 'refusing is no closing');
});

t.test('ten times a rate, kept up, is closed as abuse, and no other radio is touched', async (t) => {
  const s = await service(t);
  const { people, number } = await group(s, 'flood', 5);
  const [a, b, c, d, e] = await radiosOf(people);
  if (!a || !b || !c || !d || !e) throw new Error('five radios are needed');
  const speech = setInterval(() => d.speaks(number, 'of somebody else'), 20);
  t.teardown(() => clearInterval(speech));

  for (let frame = 0; frame < 4000; frame++) a.speaks(number, 'frame');
  for (let ping = 0; ping < 1000; ping++) b.says({ type: 'PING', t: ping });
  for (let ping = 0; ping < 500; ping++) c.socket.ping();
  for (const flooder of [a, b, c]) t.same(await flooder.closes(), { code: 1013, reason: 'rate_limited' });

  e.frames.length = 0;
  await e.hearsText('of somebody else');
  t.equal(d.socket.readyState, d.socket.OPEN);
});

t.test('of GPS fixes five at once are stored, and the sixth is told that it is not', async (t) => {
  const s = await service(t);
  const radio = await (await s.person('ann', { serial: 'SN-1' })).radio();
  for (let ref = 1; ref <= 6; ref++) radio.says({ type: 'GPS_UPDATE', lat: ref, lng: 0, alt: 0, ref });
  t.match(await radio.hears('ERROR'), { ref: 6, code: 'rate_limited' });
  for (let count = 0; count < 5; count++) await radio.hears('OK');
  t.same(radio.messages, []);
});

t.test(
  'of fixes sent together the last of each device is held, and an unknown device refuses its own',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann', { serial: 'SN-1' }), await s.person('bob', { serial: 'SN-2' })];
    const radio = await ann.radio();
    const devices = [ann.device, 'f0000000-0000-4000-8000-000000000000', bob.device, ann.device];
    for (const [ref, device_id] of devices.entries()) {
      radio.says({ type: 'GPS_UPDATE', device_id, lat: 0, lng: 0, alt: ref, ref });
    }
    t.match(await radio.hears('ERROR'), { ref: 1, code: 'unknown_device' });
    for (const ref of [0, 2, 3]) t.match(await radio.hears('OK'), { ref });
    t.match(await s.sql`select device_id, alt from gps_fixes order by alt`, [
      { device_id: bob.device, alt: 2 },
      { device_id: ann.device, alt: 3 },
    ]);
  },
);

t.test('a snapshot lists 32 talkers and counts all', async (t) => {
  const s = await service(t, { TALKERS_MAX: '33' });
  const { people, number } = await group(s, 'many', 34);
  const [late, ...talkers] = people;
  const radios = await radiosOf(talkers);
  for (const radio of radios) radio.speaks(number, 'all at once', { start: true });
  await radios[0]?.hearsFrames(32);
  const { welcome } = (await late?.radio()) ?? {};
  const [snapshot] = welcome?.talkgroups ?? [];
  t.match(snapshot, { talkers_total: 33, event: 33, online: 34 });
  t.match(snapshot?.talkers, { length: 32 });
});

// These wait more than they work: side by side they take as long as the longest.
t.jobs = 3;
/** A new one for each: tap keeps in it what a buffered test printed. */
const waiting = () => ({ buffered: true, timeout: 60_000 });

t.test('a radio that fell silent is dropped, one that answers pings stays', waiting(), async (t) => {
  const idleS = 8;
  // Without pings for lag: what comes after the one behind WELCOME is the engine's question.
  const s = await service(t, { IDLE_TIMEOUT_S: String(idleS), LAG_PING_MS: '0', TALK_SILENCE_MS: '60000' });
  const { people, number } = await group(s, 'idle', 2);
  const listener = await people[0]?.radio();
  if (listener === undefined) throw new Error('a listener is needed');
  // It answers no ping, as one that lost its network without a word.
  const lost = await wire(t, `${s.ws}/ws?token=${people[1]?.token}`);
  const payload = encodeFrame({ sequence: 0, talkgroup: number, payload: Buffer.from('last words') });
  lost.write(wireFrame({ opcode: BINARY, payload }));
  await listener.hearsFrame();
  const silentFrom = performance.now();

  await once(lost.socket, 'close', { signal: AbortSignal.timeout(HANGS_MS) });
  within(t, performance.now() - silentFrom, 1500 * idleS);
  t.match(await listener.hears('TALK_ENDED'), { code: 'disconnected', frames: 1 });
  await eventually(async () => assert.equal(await closedFor(s, 'timed out'), 1));
  // No least time: the engine counts in steps of 4 s, and a late first one brings the second nearer.
  const pings = lost.received.filter(({ opcode }) => opcode === PING);
  t.equal(pings.length, 2, 'it was asked before it was dropped');
  await listener.settled();
});

t.test('while the database is silent a fix is refused in time, and speech goes on', waiting(), async (t) => {
  const direct = await freshDatabase(t);
  const link = await throughProxy(t, direct);
  const s = await service(t, { DATABASE_URL: link.url }, direct);
  const ann = await s.person('ann', { serial: 'SN-1' });
  const bob = await s.person('bob');
  const { number } = await s.talkgroup('fire', ann, bob);
  const [a, b] = [await ann.radio(), await bob.radio()];
  const fix = { type: 'GPS_UPDATE', lat: 1, lng: 2, alt: 3 };

  link.proxy.hole();
  const startedAt = performance.now();
  a.says({ ...fix, ref: 'lost' });
  a.speaks(number, 'meanwhile', { start: true });
  t.equal((await b.hearsFrame()).text, 'meanwhile');
  t.match(await a.hears('ERROR'), { ref: 'lost', code: 'unavailable' });
  within(t, performance.now() - startedAt, 3000);

  link.proxy.heal();
  await eventually(async () => {
    const { type } = await a.asks(fix);
    if (type !== 'OK') throw new Error('not stored');
  });
  t.match(await s.sql`select lat, lng, alt from gps_fixes`, [{ lat: 1, lng: 2, alt: 3 }]);
});

t.test('of two newcomers, with room for one to wait, the other is refused at once', waiting(), async (t) => {
  const s = await service(t, {}, undefined, { handshakes: { loading: 1, waiting: 0 }, isOneNode: true });
  const people = [await s.person('ann'), await s.person('bob')];
  await s.sql.begin(async (sql) => {
    await sql`lock table memberships in access exclusive mode`;
    const startedAt = performance.now();
    const newcomers = people.map((person) => person.radioHere());
    const refused = await Promise.race(newcomers);
    t.same(await refused.closes(), { code: 1013, reason: 'overloaded' });
    within(t, performance.now() - startedAt, 1000);
    for (const newcomer of newcomers) t.equal((await newcomer).welcome, null);
  });
  for (const person of people) t.ok((await person.radio()).welcome, 'later each is let in');
});

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

const radiosOf = (people: readonly Person[]) => Promise.all(people.map((person) => person.radio()));
