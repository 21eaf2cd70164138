// The relay threads of one node with NATS_URL: they talk over NATS, like the relays of other nodes.
import assert from 'node:assert/strict';
import t from 'tap';
import { eventually } from '../helpers/eventually.js';
import { scrape } from '../helpers/http/exposition.js';
import { startNatsServer } from '../helpers/network/nats-server.js';
import { unless } from '../helpers/programs.js';
import { radioOn, twoThreads } from '../helpers/service/relay-threads.js';
import { service } from '../helpers/service/service.js';

t.test(
  'two relay threads of a node hear each other over NATS',
  { skip: unless('nats-server') },
  async (t) => {
    const nats = await startNatsServer(t);
    const s = await service(t, {
      RELAY_THREADS: '2',
      RESUME_MS: '0',
      NATS_URL: `nats://127.0.0.1:${nats.port}`,
    });
    await eventually(async () =>
      assert.equal((await scrape(s.metrics)).series.get('talkgroup_cluster_peers'), 1),
    );
    const [one, other] = await twoThreads(await s.person('scout'));
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const group = await s.talkgroup('fire', ann, bob);
    const [talker, listener] = [await radioOn(one, ann), await radioOn(other, bob)];
    await eventually(async () => {
      const { talkgroups } = await talker.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id] });
      assert.equal((talkgroups as { online: number }[])[0]?.online, 2);
    });
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
    await s.admin.delete(`/talkgroups/${group.id}`);
    for (const radio of [talker, listener]) await radio.hears('TALKGROUP_LEFT');
    const { series } = await scrape(s.metrics);
    t.equal(series.get('talkgroup_bus_frames_total{direction="in"}'), 2);
    t.equal(series.get('talkgroup_bus_up'), 1);
    t.equal(series.get('talkgroup_cluster_relays'), 2);
  },
);
