// Nodes with two relay threads and NATS_URL: ports join the threads of a node, and NATS joins the nodes.
import assert from 'node:assert/strict';
import t, { type Test } from 'tap';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { metric, scrape } from '../helpers/http/exposition.js';
import { PLACES } from '../helpers/network/nats-cluster.js';
import { startNatsServer } from '../helpers/network/nats-server.js';
import { freePort, unless } from '../helpers/programs.js';
import { areOnline, radioOn, twoThreads } from '../helpers/service/relay-threads.js';
import { type Service, service } from '../helpers/service/service.js';
import { figure, gapOf, threeNodes } from '../helpers/service/three-nodes.js';
import { within } from '../helpers/within.js';

t.setTimeout(300_000);

/** A talker on one thread and a listener on the other. */
async function pairOn(s: Service) {
  await eventually(async () => assert.equal(await metric(s.metrics, 'talkgroup_cluster_peers'), 1));
  const [one, other] = await twoThreads(await s.person('scout'));
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('fire', ann, bob);
  const [talker, listener] = [await radioOn(one, ann), await radioOn(other, bob)];
  await areOnline(talker, group.id, 2);
  return { group, talker, listener };
}

type Pair = Awaited<ReturnType<typeof pairOn>>;

async function hearEachOther(t: Test, { group, talker, listener }: Pair): Promise<void> {
  talker.speaks(group.number, 'one', { start: true });
  talker.speaks(group.number, 'two', { end: true });
  t.strictSame(
    (await listener.hearsFrames(2)).map(({ text, sender }) => [text, sender]),
    [
      ['one', talker.session],
      ['two', talker.session],
    ],
  );
  t.match(await listener.hears('TALK_ENDED'), { session: talker.session, frames: 2 });
}

t.test(
  'two relay threads of a node with NATS hear each other, each frame once',
  { skip: unless('nats-server') },
  async (t) => {
    const nats = await startNatsServer(t);
    const s = await service(t, {
      RELAY_THREADS: '2',
      RESUME_MS: '0',
      NATS_URL: `nats://127.0.0.1:${nats.port}`,
    });
    const pair = await pairOn(s);
    await hearEachOther(t, pair);
    await s.admin.delete(`/talkgroups/${pair.group.id}`);
    for (const radio of [pair.talker, pair.listener]) await radio.hears('TALKGROUP_LEFT');
    const { series } = await scrape(s.metrics);
    t.equal(series.get('talkgroup_bus_frames_total{direction="in"}'), 2);
    t.equal(series.get('talkgroup_bus_frames_missed_total{reason="unknown"}'), 0);
    t.equal(series.get('talkgroup_bus_ignored_total{reason="overtaken"}'), 0);
    t.equal(series.get('talkgroup_bus_up'), 1);
    t.equal(series.get('talkgroup_bus_connections_total'), 2, 'each thread has a connection');
    t.equal(series.get('talkgroup_cluster_relays'), 2);
  },
);

t.test('two relay threads of a node hear each other when no NATS server ever answered', async (t) => {
  const s = await service(t, {
    RELAY_THREADS: '2',
    RESUME_MS: '0',
    NATS_URL: `nats://127.0.0.1:${await freePort()}`,
  });
  const pair = await pairOn(s);
  await hearEachOther(t, pair);
  const { welcome, messages } = pair.listener;
  await comesTrue('the listener is told at once, or 1.5 s after the node began', () =>
    [welcome, ...messages].some((message) => message?.reach === 'alone'),
  );
  t.equal(await metric(s.metrics, 'talkgroup_bus_up'), 0);
  t.equal(await metric(s.metrics, 'talkgroup_cluster_peers'), 1);
});

t.test('three nodes with two relay threads each', { skip: unless('nats-server') }, async (t) => {
  const three = await threeNodes(t, { threads: 2 });
  const { nats, station, metric } = three;
  /** Bursts of the talker on the other thread of this node that ended after `sinceMs`. */
  const ownBursts = (at: (typeof PLACES)[number], sinceMs: number) => {
    const { ear, talker } = station(at);
    return ear.bursts.filter(({ session, end }) => session === talker.session && (end?.atMs ?? 0) >= sinceMs);
  };

  await t.test('hear each frame once, in order and within its burst', async (t) => {
    await three.areWhole(2);
    three.judge(t, 'all is well');
    for (const at of PLACES) t.equal(await metric(at, 'talkgroup_cluster_relays'), 2);
  });

  await t.test(
    'without NATS the threads of a node go on without a gap, and all hear all again',
    async (t) => {
      const backs: number[] = [];
      for (let time = 0; time < 3; time++) {
        const awayAtMs = performance.now();
        await Promise.all(PLACES.map((server) => nats.kill(server)));
        for (const at of PLACES)
          await comesTrue(`node ${at} says that it is alone`, () => {
            const last = station(at).ear.reaches.at(-1);
            return last?.reach === 'alone' && last.atMs >= awayAtMs;
          });
        for (const at of PLACES) {
          t.equal(await metric(at, 'talkgroup_bus_up'), 0);
          await comesTrue(
            'the other thread alone is up',
            async () => (await metric(at, 'talkgroup_cluster_peers')) === 1,
          );
        }
        await Promise.all(PLACES.map((at) => three.isSaid(at, 2)));
        const backAtMs = performance.now();
        await Promise.all(PLACES.map((server) => nats.start(server)));
        await nats.isWhole();
        const wholeAtMs = performance.now();
        backs.push(await three.isWell());
        figure(
          `NATS back after ${Math.round(wholeAtMs - backAtMs)} ms, all hear all after ${Math.round(backs.at(-1) ?? 0)} ms more`,
        );
        await three.haveEnded();
        for (const at of PLACES) {
          const own = ownBursts(at, awayAtMs);
          t.ok(own.length >= 2, `node ${at}: ${own.length} bursts`);
          t.strictSame(
            own.filter(
              ({ end, indices, missed }) =>
                end?.code !== 'released' || missed > 0 || indices.length !== end.frames,
            ),
            [],
            `node ${at}: each burst of the other thread is heard to its end`,
          );
          figure(`NATS away: longest gap between the threads of node ${at} ${gapOf(own, awayAtMs)} ms`);
          within(t, gapOf(own, awayAtMs), 900, 'longest gap');
        }
        three.judge(t, 'NATS away');
      }
      within(t, Math.max(...backs), 2000, 'all hear all again');
    },
  );
});
