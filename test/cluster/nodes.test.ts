import t from 'tap';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { eventually } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { startSecureNatsServer } from '../helpers/network/nats-server.js';
import { freePort, unless } from '../helpers/programs.js';
import { isOnline, linkedNodes } from '../helpers/service/linked-nodes.js';
import { serviceProcess } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

const skip = unless('nats-server');

t.test('two nodes with one database and one nats-server', { skip }, async (t) => {
  const { a, b, links } = await linkedNodes(t);

  t.test('a radio on one node hears a talker on the other', async (t) => {
    const [ann, bob, cid] = [
      await a.person('talk-ann'),
      await a.person('talk-bob'),
      await a.person('talk-cid'),
    ];
    const group = await a.talkgroup('talk', ann, bob, cid);
    const [radioA, radioB, radioC] = [await ann.radio(), await b.radioOf(bob), await b.radioOf(cid)];
    await radioC.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id], bundle_ms: 60 });
    for (const radio of [radioA, radioB, radioC]) await isOnline(radio, group.id, 3);

    for (let frame = 1; frame <= 9; frame++)
      radioA.speaks(group.number, `${frame}`, { start: frame === 1, end: frame === 9 });
    const said = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
    for (const radio of [radioB, radioC]) {
      t.match(await radio.hears('TALK_STARTED'), { session: radioA.session, username: 'talk-ann', burst: 1 });
      t.match(await radio.hears('TALK_ENDED'), { session: radioA.session, code: 'released', frames: 9 });
      const heard = radio.arrivals.flatMap((one) => ('text' in one ? [one.text] : [one.type]));
      t.strictSame(
        heard.slice(heard.indexOf('TALK_STARTED')),
        ['TALK_STARTED', ...said, 'TALK_ENDED'],
        'in this order',
      );
      t.ok(radio.frames.every(({ sender, burst }) => sender === radioA.session && burst === 1));
    }
    radioB.speaks(group.number, 'answer', { start: true, end: true });
    await radioA.hears('TALK_ENDED', ({ session }) => session === radioB.session);
    t.strictSame(
      radioA.frames.map(({ text }) => text),
      ['answer'],
    );

    t.equal(await metric(b.metrics, 'talkgroup_bus_up'), 1);
    t.equal(await metric(b.metrics, 'talkgroup_bus_frames_total{direction="in"}'), 9);
    t.equal(await metric(b.metrics, 'talkgroup_bus_frames_missed_total{reason="lost"}'), 0);
    radioC.socket.close(1000);
    await isOnline(radioA, group.id, 2);
  });

  t.test('without its NATS server a node goes on alone, and never plays old speech after it', async (t) => {
    const [ann, abe, bob] = [
      await a.person('alone-ann'),
      await a.person('alone-abe'),
      await a.person('alone-bob'),
    ];
    const group = await a.talkgroup('alone', ann, abe, bob);
    const [radioA, near, far] = [await ann.radio(), await abe.radio(), await b.radioOf(bob)];
    await isOnline(far, group.id, 3);
    radioA.speaks(group.number, 'before', { start: true });
    await far.hearsText('before');

    links[0].refuse();
    links[0].reset();
    const talk = setInterval(() => radioA.speaks(group.number, `at ${Math.round(performance.now())}`), 20);
    t.teardown(() => clearInterval(talk));
    t.match(await far.hears('TALK_ENDED'), { session: radioA.session, code: 'disconnected' });
    await isOnline(far, group.id, 1);
    const heard = near.frames.length;
    await eventually(() => {
      if (near.frames.length <= heard) throw new Error('no frame');
    });
    t.equal(await metric(a.metrics, 'talkgroup_bus_up'), 0);

    const mendedAtMs = performance.now();
    const before = far.arrivals.length;
    await links[0].listen();
    t.match(await far.hears('TALK_STARTED', ({ burst }) => burst === 1), { session: radioA.session });
    const ages = await eventually(() => {
      const heard = far.arrivals.slice(before).flatMap((one) => {
        const [, atMs] = 'text' in one ? (/^at (\d+)$/.exec(String(one.text)) ?? []) : [];
        return atMs === undefined ? [] : [Number(atMs) - mendedAtMs];
      });
      if (heard.length < 10) throw new Error(`${heard.length} frames`);
      return heard;
    });
    clearInterval(talk);
    t.ok(
      ages.every((ms) => ms > -20),
      'nothing that was said while the node was alone, or before',
    );
    await isOnline(far, group.id, 3);
  });

  t.test('a node that is killed is told by the end of its bursts, and leaves the count', async (t) => {
    const [ann, bob] = [await a.person('killed-ann'), await a.person('killed-bob')];
    const group = await a.talkgroup('killed', ann, bob);
    const [radioA, far] = [await ann.radio(), await b.radioOf(bob)];
    await isOnline(far, group.id, 2);
    radioA.speaks(group.number, 'the last', { start: true });
    await far.hearsText('the last');
    const killedAtMs = performance.now();
    a.signal('SIGKILL');
    t.match(await far.hears('TALK_ENDED'), { session: radioA.session, code: 'disconnected', frames: 1 });
    within(t, performance.now() - killedAtMs, 2500);
    await isOnline(far, group.id, 1);
  });
});

t.test(
  'an emergency on a node without its database is announced on the other, which stores it when the first is killed',
  { skip },
  async (t) => {
    const { a, b, database } = await linkedNodes(t);
    const [ann, bob, admin] = [
      await b.person('emergency-ann'),
      await b.person('emergency-bob'),
      await b.person('emergency-admin', { role: 'admin' }),
    ];
    const group = await b.talkgroup('emergency', ann, bob, admin);
    const [radioA, far, dispatcher] = [await a.radioOf(ann), await b.radioOf(bob), await a.radioOf(admin)];
    await isOnline(far, group.id, 3);
    database.refuse();
    database.reset();
    const { emergency_id } = await radioA.asks({
      type: 'EMERGENCY_RAISE',
      talkgroup_id: group.id,
      lat: 52.5,
    });
    const told = { emergency_id, talkgroup_id: group.id, username: 'emergency-ann', lat: 52.5 };
    t.match(await far.hears('EMERGENCY'), { ...told, state: 'raised' });
    await b.admin.patch(`/talkgroups/${group.id}`, { name: 'emergency here' }); // a read that does not show it
    await far.hears('TALKGROUP_CHANGED');
    const late = await b.radioOf(bob);
    t.match(late.welcome?.talkgroups, [{ emergencies: [told], emergencies_total: 1 }]);
    await dispatcher.asks({ type: 'EMERGENCY_ACK', emergency_id });
    t.match(await far.hears('EMERGENCY', ({ state }) => state !== 'raised'), {
      ...told,
      state: 'acknowledged',
    });

    t.equal((await b.sql`select id from emergencies`).length, 0);
    a.signal('SIGKILL');
    await eventually(async () => {
      const [row] = await b.sql`select * from emergencies where id = ${emergency_id as string}`;
      if (row?.state !== 'acknowledged') throw new Error(row?.state ?? 'not stored');
      t.equal(row.user_id, ann.id);
      t.equal(row.acknowledged_by, admin.id);
    });
    await far
      .asks({ type: 'SYNC', talkgroup_id: group.id })
      .then(({ emergencies }) => t.match(emergencies, [{ ...told, state: 'acknowledged' }]));
    t.match(await (await b.radioOf(ann)).asks({ type: 'EMERGENCY_CLEAR', emergency_id }), { type: 'OK' });
    t.match(await far.hears('EMERGENCY', ({ state }) => state === 'cleared'), told);
  },
);

t.test(
  'a node that ends says so, and ends with 0 also when its NATS server does not answer',
  { skip },
  async (t) => {
    const { a, b, links } = await linkedNodes(t, { LOG_LEVEL: 'info' });
    a.signal('SIGTERM');
    t.equal(await a.exit(), 0);
    await eventually(async () => {
      if ((await metric(b.metrics, 'talkgroup_cluster_peers')) !== 0) throw new Error('still a peer');
    });
    t.match(b.output(), /"msg":"bus connected"/);
    for (const { output } of [a, b]) t.notMatch(output(), /choose-another-one/, 'no log names the password');
    links[1].hole();
    const endedAtMs = performance.now();
    b.signal('SIGTERM');
    t.equal(await b.exit(), 0);
    within(t, performance.now() - endedAtMs, 8000);
  },
);

t.test('a node whose user or password is wrong does not start, and says why', { skip }, async (t) => {
  const nats = await startSecureNatsServer(t);
  const { output, exit } = await serviceProcess(t, {
    DATABASE_URL: await migratedDatabase(t),
    NATS_URL: `tls://radio:another-password@127.0.0.1:${nats.port}`,
    NODE_EXTRA_CA_CERTS: nats.authority,
  });
  t.equal(await exit(), 1);
  t.match(output(), /^ended: NATS_URL and NATS_CREDENTIALS_FILE must be accepted by the NATS server/m);
  t.notMatch(output(), /another-password/);
});

t.test('a node whose NATS server is away starts, and serves alone', { skip }, async (t) => {
  const url = `nats://127.0.0.1:${await freePort()}`;
  const node = await serviceProcess(t, { DATABASE_URL: await migratedDatabase(t), NATS_URL: url });
  const [ann, bob] = [await node.person('ann'), await node.person('bob')];
  const group = await node.talkgroup('depot', ann, bob);
  const [radioA, radioB] = [await ann.radio(), await bob.radio()];
  radioA.speaks(group.number, 'hello', { start: true });
  await radioB.hearsText('hello');
  t.equal(await metric(node.metrics, 'talkgroup_bus_up'), 0);
  node.signal('SIGTERM');
  t.equal(await node.exit(), 0);
});
