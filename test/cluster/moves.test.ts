// Radios that come back to another node: with their old socket open, and while the nodes are restarted one by one.
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ENCRYPTED } from '../../src/protocol/frame.js';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { eventually } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { startSecureNatsServer } from '../helpers/network/nats-server.js';
import { unless } from '../helpers/programs.js';
import { type Person, type Radio, type ServiceProcess, serviceProcess } from '../helpers/service/service.js';

const skip = unless('nats-server');

t.setTimeout(300_000);

/** A database and a nats-server. The answer starts a node on them, and waits until it reaches so many others. */
async function service(t: Test) {
  const DATABASE_URL = await migratedDatabase(t);
  const nats = await startSecureNatsServer(t);
  const environment = {
    DATABASE_URL,
    NATS_URL: `tls://${nats.user}@127.0.0.1:${nats.port}`,
    NODE_EXTRA_CA_CERTS: nats.authority,
  };
  return async (others: number): Promise<ServiceProcess> => {
    const node = await serviceProcess(t, environment);
    await eventually(async () => {
      if ((await metric(node.metrics, 'talkgroup_cluster_peers')) !== others) throw new Error('not reached');
    });
    return node;
  };
}

for (const floor_mode of ['open', 'single'] as const)
  t.test(
    `a radio goes on in its burst at another node, and its old socket is closed: ${floor_mode}`,
    { skip },
    (t) => goOn(t, floor_mode),
  );

async function goOn(t: Test, floor_mode: 'open' | 'single'): Promise<void> {
  const start = await service(t);
  const a = await start(0);
  const b = await start(1);
  const [ann, bob, cid] = [await a.person('ann'), await a.person('bob'), await a.person('cid')];
  const group = await a.talkgroupWith({ name: 'moved', floor_mode }, ann, bob, cid);
  const [first, near, far] = [await ann.radio(), await bob.radio(), await b.radioOf(cid)];
  await first.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id], presence: true });
  first.speaks(group.number, 'one', { start: true });
  for (const radio of [near, far]) await radio.hearsText('one');

  const back = await b.radioOf(ann, first.welcome);
  t.same(await first.closes(), { code: 1000, reason: 'resumed' });
  t.match(back.welcome, { resumed: true, session: first.session });
  t.match(back.welcome?.talkgroups, [{ talkers: [{ session: first.session, burst: 1, frames: 1 }] }]);
  back.speaks(group.number, 'two');
  back.speaks(group.number, 'three', { end: true });
  for (const radio of [near, far]) await hearsAllOf(t, radio, first);
  t.same(back.frames, [], 'it does not hear itself');
  t.equal(await metric(a.metrics, 'talkgroup_cluster_sessions_moved_total{way="given"}'), 1);
  t.equal(await metric(b.metrics, 'talkgroup_cluster_sessions_moved_total{way="taken"}'), 1);

  // The token of one session, at both nodes at once.
  const tried = await Promise.all([a, b, a, b].map((node) => node.radioOf(ann, back.welcome)));
  t.equal(tried.filter(({ session }) => session === first.session).length, 1, 'one of them goes on');
}

for (const floor_mode of ['open', 'single'] as const)
  t.test(`an encrypted burst goes on at another node as it was announced: ${floor_mode}`, { skip }, (t) =>
    goOnEncrypted(t, floor_mode),
  );

const crypto = { suite: 4, epoch: 0, salt: 'oKGio6SlpqeoqaqrrK2urw' };

async function goOnEncrypted(t: Test, floor_mode: 'open' | 'single'): Promise<void> {
  const start = await service(t);
  const a = await start(0);
  const b = await start(1);
  const [ann, bob, cid] = [await a.person('ann'), await a.person('bob'), await a.person('cid')];
  const group = await a.talkgroupWith({ name: 'encrypted', floor_mode }, ann, bob, cid);
  const [first, near, far] = [await ann.radio(), await bob.radio(), await b.radioOf(cid)];
  t.match(await first.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id, crypto }), {
    type: 'FLOOR_GRANTED',
  });
  first.speaks(group.number, 'one', { flags: ENCRYPTED });
  for (const radio of [near, far]) t.match(await radio.hears('TALK_STARTED'), { crypto });

  const back = await b.radioOf(ann, first.welcome);
  t.match(back.welcome, { resumed: true, session: first.session });
  t.match(back.welcome?.talkgroups, [{ talkers: [{ session: first.session, burst: 1, crypto }] }]);
  back.speaks(group.number, 'clear', { sequence: 1 });
  t.match(await back.hears('ERROR'), { code: 'encryption_required' });
  back.speaks(group.number, 'another epoch', { sequence: 2, flags: ENCRYPTED, epoch: 1 });
  back.speaks(group.number, 'two', { sequence: 3, flags: ENCRYPTED });
  for (const radio of [near, far]) await radio.hearsText('two');
  if (floor_mode === 'open') back.speaks(group.number, 'three', { end: true, flags: ENCRYPTED });
  else {
    // Its node ends, so it comes back to the other one.
    b.signal('SIGTERM');
    t.same(await back.closes(), { code: 1012, reason: 'restart' });
    const again = await a.radioOf(ann, back.welcome);
    t.match(again.welcome, { resumed: true, session: first.session });
    t.match(again.welcome?.talkgroups, [{ talkers: [{ session: first.session, burst: 1, crypto }] }]);
    again.speaks(group.number, 'clear', { sequence: 4 });
    t.match(await again.hears('ERROR'), { code: 'encryption_required' });
    again.speaks(group.number, 'three', { sequence: 5, end: true, flags: ENCRYPTED });
  }
  for (const radio of floor_mode === 'open' ? [near, far] : [near]) await hearsAllOf(t, radio, first);
}

/** The burst was one for the listener, although its talker moved within it. */
async function hearsAllOf(t: Test, radio: Radio, { session }: Radio): Promise<void> {
  t.match(await radio.hears('TALK_ENDED'), { session, burst: 1, code: 'released', frames: 3 });
  t.same(
    radio.frames.map(({ text }) => text),
    ['one', 'two', 'three'],
  );
  t.equal(radio.arrivals.filter((one) => 'type' in one && one.type === 'TALK_STARTED').length, 1);
}

/** A radio as its user has it: when its node goes it comes back, to the node that `next` names. */
function faithful(person: Pick<Person, 'token'>, first: Radio, next: () => ServiceProcess) {
  const resumed: boolean[] = [];
  let radio = first;
  let isOver = false;

  async function follow(): Promise<void> {
    while (!isOver) {
      let awayUntilMs = 0;
      radio.socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) return;
        const message = JSON.parse(data.toString());
        if (message.type === 'GOAWAY') awayUntilMs = performance.now() + message.reconnect_after_ms;
      });
      const { socket } = radio;
      const code =
        socket.readyState === socket.CLOSED
          ? 1006
          : await new Promise<number>((resolve) => socket.once('close', resolve));
      if (isOver || code !== 1012) return;
      const { welcome } = radio;
      await delay(Math.max(0, awayUntilMs - performance.now()) + 300 * Math.random());
      radio = await next().radioOf(person, welcome);
      resumed.push(radio.welcome?.resumed === true);
    }
  }
  const over = follow();

  return {
    resumed,
    get radio() {
      return radio;
    },
    async stop(): Promise<void> {
      isOver = true;
      radio.socket.terminate();
      await over;
    },
  };
}

for (const floor_mode of ['open', 'single'] as const)
  t.test(
    `a restart of both nodes loses no session of a radio that comes back: ${floor_mode}`,
    { skip },
    (t) => restart(t, floor_mode),
  );

async function restart(t: Test, floor_mode: 'open' | 'single'): Promise<void> {
  const start = await service(t);
  let [a, b] = [await start(0), await start(1)];
  let next = b;
  const people = await Promise.all(Array.from({ length: 40 }, (_, index) => a.person(`radio-${index}`)));
  const group = await a.talkgroupWith({ name: 'restart', floor_mode }, ...people);
  const radios = await Promise.all(
    people.map(async (person, index) =>
      faithful(person, await (index % 2 === 0 ? a : b).radioOf(person), () => next),
    ),
  );
  const sessions = radios.map(({ radio }) => radio.session);
  let said = 0;
  const talk = setInterval(() => {
    // Two of them talk, in bursts of half a second.
    for (const { radio } of radios.slice(0, 2))
      if (radio.socket.readyState === radio.socket.OPEN)
        radio.speaks(group.number, `${++said}`, { start: said % 50 < 2, end: said % 50 > 47 });
  }, 20);
  t.teardown(() => clearInterval(talk));

  for (const restarted of ['a', 'b'] as const) {
    const ending = restarted === 'a' ? a : b;
    next = restarted === 'a' ? b : a;
    ending.signal('SIGTERM');
    t.equal(await ending.exit(), 0);
    await eventually(() => {
      for (const { radio } of radios)
        if (radio.socket.readyState !== radio.socket.OPEN) throw new Error('away');
    });
    if (restarted === 'a') a = await start(1);
    else b = await start(1);
  }
  clearInterval(talk);
  const returns = radios.flatMap(({ resumed }) => resumed);
  t.ok(returns.length >= 60, `${returns.length} returns`);
  t.ok(
    returns.every((resumed) => resumed),
    'all of them to their sessions',
  );
  t.same(
    radios.map(({ radio }) => radio.session),
    sessions,
  );
  for (const { radio } of radios) {
    const { talkgroups } = await radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id] });
    t.match(talkgroups, [{ online: 40 }]);
  }
  for (const radio of radios) await radio.stop();
}
