// Recordings over two nodes: a burst whose session moves in its midst is one recording, whole and in order.
import t, { type Test } from 'tap';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { eventually } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { startSecureNatsServer } from '../helpers/network/nats-server.js';
import { unless } from '../helpers/programs.js';
import { endedOf, framesAt } from '../helpers/service/recorded.js';
import { type Radio, type ServiceProcess, serviceProcess } from '../helpers/service/service.js';

const skip = unless('nats-server');

t.setTimeout(300_000);

/** Two nodes that reach each other. */
async function twoNodes(t: Test): Promise<[ServiceProcess, ServiceProcess]> {
  const DATABASE_URL = await migratedDatabase(t);
  const nats = await startSecureNatsServer(t);
  const environment = {
    DATABASE_URL,
    NATS_URL: `tls://${nats.user}@127.0.0.1:${nats.port}`,
    NODE_EXTRA_CA_CERTS: nats.authority,
  };
  const nodes: [ServiceProcess, ServiceProcess] = [
    await serviceProcess(t, environment),
    await serviceProcess(t, environment),
  ];
  for (const { metrics } of nodes)
    await eventually(async () => {
      if ((await metric(metrics, 'talkgroup_cluster_peers')) !== 1) throw new Error('not reached');
    });
  return nodes;
}

for (const floor_mode of ['open', 'single'] as const)
  t.test(`a burst that moves from node to node is one recording: ${floor_mode}`, { skip }, (t) =>
    moves(t, floor_mode),
  );

async function moves(t: Test, floor_mode: 'open' | 'single'): Promise<void> {
  const [a, b] = await twoNodes(t);
  const [ann, bob] = [await a.person('ann'), await a.person('bob')];
  const group = await a.talkgroupWith({ name: 'moved', floor_mode }, ann, bob);
  let radio: Radio = await ann.radio();
  const [near, far] = [await bob.radio(), await b.radioOf(bob)];
  await a.admin.patch(`/talkgroups/${group.id}`, { recording_days: 7 });
  for (const one of [radio, near, far]) await one.hears('TALKGROUP_CHANGED');
  const said: string[] = [];
  const says = async (more: { start?: boolean; end?: boolean } = {}) => {
    const text = `frame ${said.length}`;
    said.push(text);
    radio.speaks(group.number, text, { ...more, sequence: said.length });
    for (const one of [near, far]) await one.hearsText(text);
  };
  await says({ start: true });
  const { session } = radio;
  for (const node of [b, a, b]) {
    for (let frame = 0; frame < 3; frame++) await says();
    radio = await node.radioOf(ann, radio.welcome);
    t.match(radio.welcome, { resumed: true, session });
    await says();
  }
  await says({ end: true });
  // The node before stores the last of its share by itself, behind the end or before.
  const recordings = await eventually(async () => {
    const found = await endedOf(bob, group.id, 1);
    if (found.some(({ missing }) => missing !== 0)) throw new Error(JSON.stringify(found));
    return found;
  });
  t.match(recordings, [
    { session, burst: 1, piece: 0, code: 'released', frames: said.length, missing_because: {} },
  ]);
  t.equal(recordings.length, 1);
  const id = recordings[0]?.recording_id ?? '';
  for (const { rest } of [a, b]) {
    const { frames } = await framesAt(rest, bob, id);
    t.same(
      frames.map((frame) => frame.subarray(16).toString()),
      said,
    );
  }
  const parts = await a.sql`select from_frame::int as from, frames from recording_parts order by from_frame`;
  t.ok(parts.length >= 4, 'each node stored what it relayed');
  let next = 1;
  for (const { from, frames } of parts) {
    t.equal(from, next);
    next += frames;
  }
}

t.test(
  'a recording that was switched off is not taken up again by the node that the burst moves to',
  { skip },
  async (t) => {
    const [a, b] = await twoNodes(t);
    const [ann, bob] = [await a.person('ann'), await a.person('bob')];
    const group = await a.talkgroupWith({ name: 'ended', floor_mode: 'open' }, ann, bob);
    const [radio, near] = [await ann.radio(), await bob.radio()];
    await a.admin.patch(`/talkgroups/${group.id}`, { recording_days: 7 });
    for (const one of [radio, near]) await one.hears('TALKGROUP_CHANGED');
    radio.speaks(group.number, 'one', { start: true });
    await near.hearsText('one');
    await a.admin.patch(`/talkgroups/${group.id}`, { recording_days: 0 });
    const back = await b.radioOf(ann, radio.welcome);
    t.match(back.welcome, { resumed: true });
    back.speaks(group.number, 'two', { end: true, sequence: 1 });
    await near.hearsText('two');
    t.match(await endedOf(bob, group.id, 1), [{ code: 'switched_off', frames: 1, stored_frames: 1 }]);
  },
);
