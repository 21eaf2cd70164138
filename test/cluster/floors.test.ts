// The floor of a talkgroup with members on two real nodes, with one database and a nats-server between them.
import t from 'tap';
import { createRadio, type Talk } from '../../src/client/node.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { unless } from '../helpers/programs.js';
import { isOnline, linkedNodes } from '../helpers/service/linked-nodes.js';
import type { Radio } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

/** Three times the bound in virtual time: two cores, and a figure that is read every few ms. */
const MERGE_MS_MAX = 3 * 500;

/** When the node reaches the other one (ms). */
const untilReached = (metrics: string) =>
  eventually(async () => {
    if ((await metric(metrics, 'talkgroup_cluster_peers')) !== 1) throw new Error('not reached');
    return performance.now();
  });

t.test('a floor that two nodes share', { skip: unless('nats-server') }, async (t) => {
  const { a, b, links } = await linkedNodes(t);
  let groups = 0;

  /** A talkgroup with a radio on each node. */
  async function pair() {
    const floor_mode = 'single';
    const name = `floor ${++groups}`;
    const [ann, bob] = [await a.person(`${name} ann`), await a.person(`${name} bob`, { role: 'admin' })];
    const group = await a.talkgroupWith({ name, floor_mode }, ann, bob);
    const radios: [Radio, Radio] = [await ann.radio(), await b.radioOf(bob)];
    for (const radio of radios) await isOnline(radio, group.id, 2);
    return { ...group, radios, tokens: [ann.token, bob.token] };
  }

  t.test('is asked for on either node, and each hears the other', async (t) => {
    // The home of a talkgroup is the one or the other node.
    for (let time = 0; time < 6; time++) {
      const { number, radios } = await pair();
      for (const [talker, listener] of [radios, radios.toReversed()] as [Radio, Radio][]) {
        for (let frame = 1; frame <= 5; frame++)
          talker.speaks(number, `${frame}`, { start: frame === 1, end: frame === 5 });
        t.match(await talker.hears('FLOOR_GRANTED'), { priority: 1 });
        const { session } = talker;
        t.match(await listener.hears('TALK_STARTED'), { session });
        t.match(await listener.hears('TALK_ENDED'), { session, code: 'released', frames: 5 });
        await talker.hears('TALK_ENDED');
        await talker.hears('TALK_STARTED');
        const heard = listener.frames.splice(0).map(({ text }) => text);
        t.strictSame(heard, ['1', '2', '3', '4', '5']);
      }
    }
  });

  t.test('is busy, has a queue, and is taken by a higher priority', async (t) => {
    const { id: talkgroup_id, number, radios } = await pair();
    const [ann, bob] = radios;
    ann.speaks(number, '1', { start: true });
    await bob.hears('TALK_STARTED');
    t.match(await bob.asks({ type: 'FLOOR_REQUEST', talkgroup_id }), {
      type: 'FLOOR_DENIED',
      code: 'busy',
      talker: { session: ann.session },
    });
    const queued = await bob.asks({ type: 'FLOOR_REQUEST', talkgroup_id, queue: true });
    t.match(queued, { type: 'FLOOR_QUEUED', position: 1 });
    const granted = await bob.asks({ type: 'FLOOR_REQUEST', talkgroup_id, priority: 5 });
    t.match(granted, { type: 'FLOOR_GRANTED', priority: 5 });
    t.match(await ann.hears('FLOOR_REVOKED'), { code: 'preempted' });
    t.match(await bob.hears('TALK_ENDED'), { session: ann.session, code: 'preempted' });
  });

  t.test('is one again after the nodes lost each other', async (t) => {
    const { number, radios } = await pair();
    const [ann, bob] = radios;
    links[1].refuse();
    links[1].reset();
    for (const radio of radios) t.match(await radio.hears('REACH'), { reach: 'alone' });
    const speaking = radios.map((radio) => {
      radio.speaks(number, 'mine', { start: true });
      return setInterval(() => radio.speaks(number, 'mine'), 20);
    });
    for (const radio of radios) await radio.hears('FLOOR_GRANTED');
    await links[1].listen();
    const reached = Promise.all([a, b].map(({ metrics }) => untilReached(metrics)));
    // The burst of the other one ends later, by silence.
    const isRevoked = ({ messages }: Radio) =>
      messages.some(({ type, code }) => type === 'FLOOR_REVOKED' && code === 'collision');
    await comesTrue('one is cut off', () => radios.some(isRevoked));
    const revoked = radios.find(isRevoked) as Radio;
    const revokedAtMs = performance.now();
    const ms = revokedAtMs - Math.max(...(await reached));
    within(t, ms, MERGE_MS_MAX, 'after both nodes reached each other');
    const kept = revoked === ann ? bob : ann;
    await revoked.hears('TALK_STARTED', ({ session }) => session === kept.session);
    for (const each of speaking) clearInterval(each);
    const collisions = await Promise.all(
      [a, b].map(({ metrics }) => metric(metrics, 'talkgroup_floor_collisions_total')),
    );
    t.strictSame(collisions.toSorted(), [0, 1]);
  });

  t.test('is asked for again by a talk that the other node did not answer', async (t) => {
    const { id: talkgroupId, radios, tokens } = await pair();
    const clients = tokens.map((token, at) => createRadio({ url: (at === 0 ? a : b).ws, token }));
    t.teardown(() => clients.map((client) => client.close()));
    const granted = (talk: Talk) =>
      new Promise<void>((resolve) => talk.on('state', ({ kind }) => kind === 'granted' && resolve()));
    let waits = 0;
    // On a busy machine the first one may ask when its node has already noticed that it is alone.
    for (let attempt = 0; attempt < 3 && waits === 0; attempt++) {
      for (const radio of radios) await isOnline(radio, talkgroupId, 4);
      links[1].refuse();
      links[1].reset();
      const talks = clients.map((client) => client.talk({ talkgroupId, floor: 'request' }));
      for (const talk of talks)
        talk.on('state', (state) => {
          if (state.kind === 'requested' && state.retry_ms !== undefined) waits++;
        });
      await Promise.all(talks.map(granted));
      for (const talk of talks) talk.end();
      await links[1].listen();
    }
    t.ok(waits > 0, 'one of the two nodes had to ask');
  });
});
