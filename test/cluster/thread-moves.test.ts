// Radios that come back to the other relay thread of their node, and relay threads that end together.
import assert from 'node:assert/strict';
import t, { type Test } from 'tap';
import { eventually } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { startNatsServer } from '../helpers/network/nats-server.js';
import { freePort, unless } from '../helpers/programs.js';
import { areOnline } from '../helpers/service/relay-threads.js';
import { connect, type Person, type Radio, service } from '../helpers/service/service.js';
import { scoutPorts } from '../helpers/service/two-threads.js';

t.setTimeout(300_000);

/** A service with two threads. `at` connects to the one or the other, and would go on with the session of a WELCOME. */
async function threads(t: Test, environment: Record<string, string> = {}) {
  const s = await service(t, { RELAY_THREADS: '2', ...environment });
  await eventually(async () => assert.equal(await metric(s.metrics, 'talkgroup_cluster_peers'), 1));
  const ports = scoutPorts(t, { ws: s.ws, scout: async () => (await s.person('scout')).token });
  const at = async (turn: number, { token }: Person, welcome: Radio['welcome'] = null) => {
    const { localPort } = await ports.toTurn(turn);
    const resume = welcome === null ? '' : `&resume=${welcome.resume_token}`;
    return connect(t, `${s.ws}/ws?token=${token}${resume}`, { localPort });
  };
  return { s, at };
}

for (const floor_mode of ['open', 'single'] as const)
  t.test(`a radio goes on in its burst on the other thread: ${floor_mode}`, async (t) => {
    const { s, at } = await threads(t);
    const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
    const group = await s.talkgroupWith({ name: 'moved', floor_mode }, ann, bob, cid);
    const [first, near, far] = [await at(0, ann), await at(0, bob), await at(1, cid)];
    for (const radio of [first, far]) await areOnline(radio, group.id, 3);
    first.speaks(group.number, 'one', { start: true });
    for (const radio of [near, far]) await radio.hearsText('one');

    const back = await at(1, ann, first.welcome);
    t.same(await first.closes(), { code: 1000, reason: 'resumed' });
    t.match(back.welcome, { resumed: true, session: first.session });
    t.match(back.welcome?.talkgroups, [{ talkers: [{ session: first.session, burst: 1, frames: 1 }] }]);
    back.speaks(group.number, 'two');
    for (const radio of [near, far]) await radio.hearsText('two');
    const again = await at(0, ann, back.welcome);
    t.match(again.welcome, { resumed: true, session: first.session }, 'and back');
    again.speaks(group.number, 'three', { end: true });
    for (const radio of [near, far]) {
      t.match(await radio.hears('TALK_ENDED'), { session: first.session, burst: 1, frames: 3 });
      t.same(
        radio.frames.map(({ text }) => text),
        ['one', 'two', 'three'],
      );
      t.equal(radio.arrivals.filter((one) => 'type' in one && one.type === 'TALK_STARTED').length, 1);
    }
    const moved = (way: string) => metric(s.metrics, `talkgroup_cluster_sessions_moved_total{way="${way}"}`);
    t.same([await moved('given'), await moved('taken')], [2, 2]);
  });

t.test('a radio goes on in its burst on the other thread while no NATS server answers', async (t) => {
  const { s, at } = await threads(t, { NATS_URL: `nats://127.0.0.1:${await freePort()}` });
  const [ann, bob, cid] = [await s.person('ann'), await s.person('bob'), await s.person('cid')];
  const group = await s.talkgroupWith({ name: 'moved', floor_mode: 'single' }, ann, bob, cid);
  const [first, near, far] = [await at(0, ann), await at(0, bob), await at(1, cid)];
  for (const radio of [first, far]) await areOnline(radio, group.id, 3);
  first.speaks(group.number, 'one', { start: true });
  for (const radio of [near, far]) await radio.hearsText('one');
  const back = await at(1, ann, first.welcome);
  t.match(back.welcome, { resumed: true, session: first.session });
  back.speaks(group.number, 'two', { end: true });
  for (const radio of [near, far]) {
    t.match(await radio.hears('TALK_ENDED'), { session: first.session, burst: 1, frames: 2 });
    t.same(
      radio.frames.map(({ text }) => text),
      ['one', 'two'],
    );
  }
});

t.test('a radio that was away comes back to its session on the other thread', async (t) => {
  const { s, at } = await threads(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('away', ann, bob);
  const [first, other] = [await at(0, ann), await at(1, bob)];
  await areOnline(other, group.id, 2);
  await first.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id], mode: 'listen' });
  first.socket.terminate();
  await areOnline(other, group.id, 1);
  const back = await at(1, ann, first.welcome);
  t.match(back.welcome, { resumed: true, session: first.session });
  t.match(await back.asks({ type: 'FLOOR_REQUEST', talkgroup_id: group.id }), { code: 'listen_only' });
  await areOnline(other, group.id, 2);
});

for (const carrier of ['ports', 'ports and NATS'] as const)
  t.test(
    `a node that ends promises nothing of its own threads, which end with it: over ${carrier}`,
    { skip: carrier === 'ports and NATS' && unless('nats-server') },
    async (t) => {
      const nats = carrier === 'ports and NATS' ? await startNatsServer(t) : null;
      const { s, at } = await threads(t, nats === null ? {} : { NATS_URL: `nats://127.0.0.1:${nats.port}` });
      const ann = await s.person('ann');
      const radios = [await at(0, ann), await at(1, ann)];
      const closed = s.close();
      for (const radio of radios) {
        const told = await radio.hears('GOAWAY');
        t.match(told, { reconnect_after_ms: Number });
        t.notOk('resumable' in told);
        t.same(await radio.closes(), { code: 1012, reason: 'restart' });
      }
      await closed;
    },
  );
