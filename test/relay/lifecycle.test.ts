// The life of the process as radios see it: cut connections, signals, restarts, a stalled server, a deaf node.
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import t from 'tap';
import { encodeFrame } from '../../src/protocol/frame.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { throughProxy } from '../helpers/database/proxied-database.js';
import { eventually } from '../helpers/eventually.js';
import { BINARY, handshake, wireFrame } from '../helpers/relay/wire.js';
import { connect, service, serviceProcess } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

const CUTS = Number(process.env.CONNECTION_CUTS ?? 500);

/** Connections to the database that may have been opened meanwhile: two pools and the notices. */
const POOLS = 15;

t.test(`${CUTS} connections cut at any byte leave nothing behind`, { timeout: 300_000 }, async (t) => {
  const s = await serviceProcess(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const open = await s.talkgroup('fire', ann, bob);
  const single = await s.talkgroup('rail', ann, bob);
  await s.admin.patch(`/talkgroups/${single.id}`, { floor_mode: 'single' });
  const b = await bob.radio();
  const baseline = await s.descriptors();

  const speech = ['one', 'two', 'three'].flatMap((text) =>
    [open, single].map(({ number }) =>
      wireFrame({
        opcode: BINARY,
        payload: encodeFrame({ sequence: 0, talkgroup: number, payload: Buffer.from(text) }),
      }),
    ),
  );
  const opening = Buffer.from(handshake(`${s.ws}/ws?token=${ann.token}`));
  const talk = Buffer.concat(speech);
  const { hostname, port } = new URL(s.ws);

  /**
   * Sends so many bytes of a connection that would have spoken, and cuts it: by a reset, for which the relay's kernel
   * drops what it has not read, or by an end, before which the relay reads all of it.
   */
  async function cut(length: number, by: 'reset' | 'end'): Promise<void> {
    const socket = connectTcp(Number(port), hostname);
    socket.on('error', () => {}); // the relay may be first
    await once(socket, 'connect');
    const write = (bytes: Buffer) => new Promise((resolve) => socket.write(bytes, resolve));
    await write(opening.subarray(0, length));
    if (length > opening.length) {
      // WELCOME is longer than the answer to the handshake. The cuts are meant for a session that talks.
      while (socket.bytesRead < 400 && !socket.closed)
        await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      await write(talk.subarray(0, length - opening.length));
    }
    if (by === 'reset') return void socket.resetAndDestroy();
    socket.resume().end();
    if (!socket.closed) await once(socket, 'close');
  }
  const longest = opening.length + talk.length;
  for (let done = 0; done < CUTS; done += 10) {
    const lengths = Array.from({ length: 10 }, (_, index) => 1 + (((done + index) * 7919) % longest));
    await Promise.all(lengths.map((length, index) => cut(length, index % 2 === 0 ? 'reset' : 'end')));
  }

  await eventually(async () => {
    const held = await s.descriptors();
    if (held > baseline + POOLS) throw new Error(`${held} descriptors, ${baseline} before`);
  });
  // A floor whose socket died is kept a moment for its return.
  await eventually(async () => {
    const synced = await b.asks({ type: 'SYNC', talkgroup_id: single.id });
    if (synced.talkers_total !== 0) throw new Error(`not free yet: ${JSON.stringify(synced)}`);
  });
  const started = b.messages.filter(({ type }) => type === 'TALK_STARTED').length;
  t.equal(
    b.messages.filter(({ type }) => type === 'TALK_ENDED').length,
    started,
    'every burst that began has ended',
  );
  t.ok(started > 0, `${started} of them had begun to talk`);
  const late = await bob.radio();
  t.match(
    late.welcome?.talkgroups,
    [open, single].map(() => ({ online: 2, talkers: [], talkers_total: 0 })),
    'no session and no burst is left',
  );
  late.speaks(single.number, 'free', { start: true });
  t.match(await late.hears('FLOOR_GRANTED'), { talkgroup_id: single.id }, 'the floor is free');
});

t.test(
  'SIGTERM: every socket is told, the exit code is 0, and a restart serves the same accounts',
  async (t) => {
    const url = await freshDatabase(t);
    const s = await serviceProcess(t, { DATABASE_URL: url });
    const ann = await s.person('ann');
    await s.talkgroup('fire', ann);
    const radios = await Promise.all([ann.radio(), ann.radio(), ann.radio()]);
    s.signal('SIGTERM');
    for (const radio of radios) {
      t.match(await radio.hears('GOAWAY'), { reconnect_after_ms: Number });
      t.same(await radio.closes(), { code: 1012, reason: 'restart' });
    }
    t.equal(await s.exit(), 0);
    const again = await service(t, { DATABASE_URL: url });
    t.match((await again.radioOf(ann)).welcome, { username: 'ann', talkgroups: [{ name: 'fire' }] });
  },
);

t.test('a talker in the middle of its speech is told of the restart like all others', async (t) => {
  const s = await serviceProcess(t);
  const people = await Promise.all(Array.from({ length: 10 }, (_, index) => s.person(`busy-${index}`)));
  const { number } = await s.talkgroup('busy', ...people);
  const radios = await Promise.all(people.map((person) => person.radio()));
  // All at once and without a pause: a close that meets unread bytes must not become a reset.
  const speech = setInterval(() => {
    for (const radio of radios) if (radio.socket.readyState === radio.socket.OPEN) radio.speaks(number, 'x');
  }, 10);
  t.teardown(() => clearInterval(speech));
  await radios[0]?.hearsFrames(50);
  s.signal('SIGTERM');
  for (const radio of radios) t.same(await radio.closes(), { code: 1012, reason: 'restart' });
  t.equal(await s.exit(), 0);
});

t.test('a second signal ends at once what the first could not end yet', async (t) => {
  const s = await serviceProcess(t);
  const ann = await s.person('ann');
  const radio = await ann.radio();
  await s.sql.begin(async (sql) => {
    await sql`lock table memberships in access exclusive mode`;
    // A request under way holds the close up until its deadline.
    const request = ann.call('GET', '/talkgroups').catch(() => null);
    await radio.settled();
    await eventually(async () => {
      const [waiting] = await s.sql`select from pg_locks where not granted`;
      if (waiting === undefined) throw new Error('the request is not there yet');
    });
    const startedAt = performance.now();
    s.signal('SIGTERM');
    await radio.closes();
    s.signal('SIGTERM');
    t.equal(await s.exit(), 'SIGKILL');
    within(t, performance.now() - startedAt, 1000);
    await request;
  });
});

t.test('killed with -9 and started again, it knows everything that was acknowledged', async (t) => {
  const url = await freshDatabase(t);
  const s = await serviceProcess(t, { DATABASE_URL: url });
  const ann = await s.person('ann', { serial: 'SN-1' });
  const { id } = await s.talkgroup('fire');
  await ann.post(`/talkgroups/${id}/join`);
  const radio = await ann.radio();
  radio.says({ type: 'GPS_UPDATE', lat: 1, lng: 2, alt: 3, ref: 1 });
  await radio.hears('OK');
  s.signal('SIGKILL');
  t.equal((await radio.closes()).code, 1006);
  const again = await service(t, { DATABASE_URL: url });
  t.match((await again.radioOf(ann)).welcome?.talkgroups, [{ talkgroup_id: id }]);
  t.match((await again.call('GET', `/devices/${ann.device}/gps`, ann.token)).body.gps, {
    lat: 1,
    lng: 2,
    alt: 3,
  });
});

t.test('a server that stood still does not take its own pause for silence', async (t) => {
  const s = await serviceProcess(t, { TALK_SILENCE_MS: '1000' });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const { number } = await s.talkgroup('fire', ann, bob);
  const [a, b] = [await ann.radio(), await bob.radio()];
  a.speaks(number, 'before', { start: true });
  await b.hearsFrame();
  s.signal('SIGSTOP');
  for (let frame = 0; frame < 5; frame++) {
    await new Promise((resolve) => setTimeout(resolve, 400)); // the pace of a talker, twice T1 long
    a.speaks(number, `${frame}`);
  }
  s.signal('SIGCONT');
  await b.hearsText('4');
  a.speaks(number, 'after', { end: true });
  t.match(await b.hears('TALK_ENDED'), { burst: 1, code: 'released', frames: 7 });
});

t.test(
  'a node whose listening connection is half-open follows all the same',
  { timeout: 120_000 },
  async (t) => {
    const here = await service(t);
    const link = await throughProxy(t, here.url);
    const deaf = await service(t, { DATABASE_URL: link.url }, here.url);
    const [ann, bob] = [await here.person('ann'), await here.person('bob')];
    const { id, number } = await here.talkgroup('fire', ann, bob);
    const [a, b] = [await deaf.radioOf(ann), await deaf.radioOf(bob)];
    a.speaks(number, 'one', { start: true });
    await b.hearsFrame();

    // All connections so far lose what they carry. New ones work. The pool finds out by itself, the listener must too.
    link.proxy.hole();
    link.proxy.heal();
    const startedAt = performance.now();
    await ann.delete(`/talkgroups/${id}/leave`);
    t.match(await a.hears('TALKGROUP_LEFT'), { talkgroup_id: id, reason: 'left' });
    t.match(await b.hears('TALK_ENDED'), { code: /left|silence/ });
    within(t, performance.now() - startedAt, 5000);
    const radio = await connect(t, `${deaf.ws}/ws?token=${ann.token}`);
    t.same(radio.welcome?.talkgroups, []);
  },
);
