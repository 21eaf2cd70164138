// A restart: who is told when, in what order sockets are closed, and what still works meanwhile.
import t from 'tap';
import { connect, type Radio, service, serviceProcess } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);
t.jobs = 4; // each is a process of its own that has to start first

const RESTART = { code: 1012, reason: 'restart' };

/** No burst ends by silence, so a radio that has begun to talk is a talker until its END. */
const TALKING = { TALK_SILENCE_MS: '60000' };

t.test(
  'idle radios are closed first, a talker at its END, another one at DRAIN_MS',
  { buffered: true },
  async (t) => {
    const drainMs = 4000;
    const s = await serviceProcess(t, { ...TALKING, DRAIN_MS: String(drainMs) });
    const group = await s.crew(t, 23, { name: 'drain' });
    const [endless, brief, ...idle] = group.radios;
    const order: Radio[] = [];
    for (const radio of group.radios) radio.socket.once('close', () => order.push(radio));
    for (const radio of [endless, brief]) {
      radio.speaks(group.number, `of ${radio.session}`, { start: true });
      await idle[0]?.hearsText(`of ${radio.session}`);
    }

    const signalledAt = performance.now();
    s.signal('SIGTERM');
    for (const radio of group.radios)
      t.match(
        await radio.hears('GOAWAY'),
        { reconnect_after_ms: drainMs + 1000 },
        'as long as a talker may take',
      );
    for (const radio of idle) t.same(await radio.closes(), RESTART);
    brief.speaks(group.number, 'over', { end: true });
    await endless.hearsText('over');
    for (const radio of [brief, endless]) t.same(await radio.closes(), RESTART);
    const lastMs = performance.now() - signalledAt;
    t.equal(await s.exit(), 0);
    t.same(
      order.slice(-2).map(({ session }) => session),
      [brief.session, endless.session],
    );
    t.ok(lastMs >= drainMs, `the last after ${Math.round(lastMs)} ms`);
  },
);

t.test(
  'one idle radio holds up the end for no longer than it takes to tell it',
  { buffered: true },
  async (t) => {
    const s = await serviceProcess(t, { DRAIN_MS: '600000' });
    const radio = await (await s.person('idle')).radio();
    const signalledAt = performance.now();
    s.signal('SIGTERM');
    t.match(await radio.hears('GOAWAY'), { reconnect_after_ms: 1001 });
    t.same(await radio.closes(), RESTART);
    t.equal(await s.exit(), 0);
    const tookMs = Math.round(performance.now() - signalledAt);
    within(t, tookMs, 5000); // below 1 s where the machine has nothing else to do
  },
);

t.test(
  'a burst that begins after GOAWAY keeps no socket open for longer than GOAWAY says',
  { buffered: true },
  async (t) => {
    const s = await serviceProcess(t, { ...TALKING, DRAIN_MS: '600000', SOCKETS_PER_USER: '1000' });
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const group = await s.talkgroup('late', ann, bob);
    // They are closed first, which gives the last one the time to begin.
    const sockets = 500;
    await Promise.all(Array.from({ length: sockets - 1 }, () => bob.radio()));
    const late = await ann.radio();
    late.socket.on('message', (data) => {
      if (String(data).includes('GOAWAY')) late.speaks(group.number, 'without an end', { start: true });
    });
    s.signal('SIGTERM');
    t.match(await late.hears('GOAWAY'), { reconnect_after_ms: sockets + 1000 });
    t.match(await late.hears('TALK_STARTED'), { session: late.session });
    t.same(await late.closes(), RESTART);
    t.equal(await s.exit(), 0);
  },
);

t.test('a radio that asks is told at once, and REST answers to the end', { buffered: true }, async (t) => {
  const s = await serviceProcess(t, { ...TALKING, DRAIN_MS: '60000' });
  const group = await s.crew(t, 2, { name: 'meanwhile' });
  const [ann] = group.people;
  const [first, second] = group.radios;
  const get = (path: string) => fetch(s.rest + path, { headers: { authorization: `Bearer ${ann.token}` } });
  t.equal((await get('/readyz')).status, 200);
  for (const radio of [first, second]) {
    radio.speaks(group.number, 'on and on', { start: true });
    await second.hears('TALK_STARTED', ({ session }) => session === radio.session);
  }
  s.signal('SIGTERM');
  const goaway = await first.hears('GOAWAY');
  t.same(goaway, { type: 'GOAWAY', reconnect_after_ms: 61_000 });
  t.equal((await get('/readyz')).status, 503, 'before the first socket is closed');
  t.match(await first.asks({ type: 'SYNC', talkgroup_id: group.id }), { online: 2 }, 'both are still there');
  const newcomer = await connect(t, `${s.ws}/ws?token=${ann.token}`);
  t.same(await newcomer.closes(), RESTART);

  first.speaks(group.number, 'over', { end: true });
  t.same(await first.closes(), RESTART);
  const answer = await get('/talkgroups');
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('connection'), 'close');
  t.equal((await get('/healthz')).status, 200);
  second.speaks(group.number, 'to the end', { end: true });
  await second.hears('TALK_ENDED', ({ session }) => session === second.session);
  t.same(await second.closes(), RESTART);
  t.equal(await s.exit(), 0);

  const again = await service(t, { DATABASE_URL: s.url });
  const back = await connect(t, `${again.ws}/ws?token=${ann.token}&resume=${first.welcome?.resume_token}`);
  t.match(back.welcome, { resumed: false, username: 'meanwhile-0' }, 'behind a restart it is a new session');
  t.not(back.session, first.session);
});

t.test('a drain waits for no radio that has gone, however long it takes', { buffered: true }, async (t) => {
  const s = await serviceProcess(t, { ...TALKING, DRAIN_MS: '600000' });
  const group = await s.crew(t, 4, { name: 'gone' });
  const [dead, ...others] = group.radios;
  for (const radio of others) {
    radio.speaks(group.number, 'on and on', { start: true });
    await radio.hears('TALK_STARTED', ({ session }) => session === radio.session);
  }
  dead.socket.terminate(); // kept for its return
  await dead.closes();
  s.signal('SIGTERM');
  for (const radio of others) {
    await radio.hears('GOAWAY');
    radio.socket.close(1001);
  }
  t.equal(await s.exit(), 0);
});

t.test('with DRAIN_MS=0 all are closed at once', { buffered: true }, async (t) => {
  const s = await serviceProcess(t, { DRAIN_MS: '0' });
  const group = await s.crew(t, 4, { name: 'at once' });
  const [a] = group.radios;
  a.speaks(group.number, 'one', { start: true });
  await a.hears('TALK_STARTED');
  s.signal('SIGTERM');
  for (const radio of group.radios) {
    await radio.hears('GOAWAY');
    t.same(await radio.closes(), RESTART);
  }
  t.equal(await s.exit(), 0);
});
