// A restart: who is told when, in what order sockets are closed, and what still works meanwhile.
import t from 'tap';
import { connect, type Radio, service, serviceProcess } from '../helpers/service.js';

t.setTimeout(120_000);
t.jobs = 4; // each is a process of its own that has to start first

const RESTART = { code: 1012, reason: 'restart' };

t.test('a drain closes the quiet ones spread over its time, talkers last', { buffered: true }, async (t) => {
  const drainMs = 1500;
  const s = await serviceProcess(t, { DRAIN_MS: String(drainMs) });
  const group = await s.crew(t, 23, { name: 'drain' });
  const [talker, listener, ...quiet] = group.radios;
  const later = quiet.pop() as Radio; // the last in the relay's order, or it might be closed before it begins
  const closes: { radio: Radio; atMs: number }[] = [];
  for (const radio of group.radios)
    radio.socket.once('close', () => closes.push({ radio, atMs: performance.now() - signalledAt }));
  const talk = (radio: Radio) => {
    const speech = setInterval(() => {
      if (radio.socket.readyState === radio.socket.OPEN) radio.speaks(group.number, `of ${radio.session}`);
    }, 20);
    t.teardown(() => clearInterval(speech));
  };
  talk(talker);
  await listener.hearsText(`of ${talker.session}`);

  const signalledAt = performance.now();
  s.signal('SIGTERM');
  await later.hears('GOAWAY');
  talk(later);
  for (const radio of group.radios) t.same(await radio.closes(), RESTART);
  t.equal(await s.exit(), 0);
  t.ok(talker.frames.some(({ text }) => text === `of ${later.session}`));
  const last = closes.slice(-2).map(({ radio }) => radio.session);
  t.same(new Set(last), new Set([talker.session, later.session]), 'who began meanwhile is a talker, too');

  const closedBy = (part: number) => closes.filter(({ atMs }) => atMs < part * drainMs).length;
  for (const part of [0.25, 0.5, 0.75])
    t.ok(closedBy(part) <= part * 23 + 1, `${closedBy(part)} of 23 closed in ${part} of the time`);
  const lastMs = closes.at(-1)?.atMs ?? 0;
  t.ok(lastMs > 0.8 * drainMs && lastMs < drainMs + 1500, `the last after ${Math.round(lastMs)} ms`);
});

t.test('whoever asks is told at once, and REST answers to the end', { buffered: true }, async (t) => {
  const s = await serviceProcess(t, { DRAIN_MS: '6000' });
  const group = await s.crew(t, 2, { name: 'meanwhile' });
  const [ann] = group.people;
  const [first, second] = group.radios;
  const get = (path: string) => fetch(s.rest + path, { headers: { authorization: `Bearer ${ann.token}` } });
  t.equal((await get('/readyz')).status, 200);
  s.signal('SIGTERM');
  const goaway = await first.hears('GOAWAY');
  t.same(Object.keys(goaway), ['type', 'reconnect_after_ms']);
  t.ok(Number.isInteger(goaway.reconnect_after_ms));
  t.equal((await get('/readyz')).status, 503, 'before the first socket is closed');
  t.match(await first.asks({ type: 'SYNC', talkgroup_id: group.id }), { online: 2 }, 'both are still there');
  const newcomer = await connect(t, `${s.ws}/ws?token=${ann.token}`);
  t.same(await newcomer.closes(), RESTART);

  t.same(await first.closes(), RESTART);
  const answer = await get('/talkgroups');
  t.equal(answer.status, 200);
  t.equal(answer.headers.get('connection'), 'close');
  t.equal((await get('/healthz')).status, 200);
  second.speaks(group.number, 'to the end', { start: true });
  await second.hears('TALK_STARTED');
  t.same(await second.closes(), RESTART);
  t.equal(await s.exit(), 0);

  const again = await service(t, { DATABASE_URL: s.url });
  const back = await connect(t, `${again.ws}/ws?token=${ann.token}&resume=${first.welcome?.resume_token}`);
  t.match(back.welcome, { resumed: false, username: 'meanwhile-0' }, 'behind a restart it is a new session');
  t.not(back.session, first.session);
});

t.test('a drain waits for nobody who has gone, however long it may take', { buffered: true }, async (t) => {
  const s = await serviceProcess(t, { DRAIN_MS: '600000' });
  const group = await s.crew(t, 4, { name: 'gone' });
  const [dead, ...others] = group.radios;
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
