// Relays on one bus count the sessions of each other, and name them to radios that ask.
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { kinds } from '../../src/relay/nodes/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import { type RelayOn, reached, reaching, relayOn, sharing, talkgroupIdOf } from '../helpers/relay/relays.js';

t.test('a relay counts the sessions elsewhere in each talkgroup that it has receivers of', async (t) => {
  const network = createMemoryNetwork();
  const all = [1, 2, 3].map((number) => relayOn(t, network, { number }));
  const [a, b, c] = all as [RelayOn, RelayOn, RelayOn];
  await reached(a, b, c);
  for (const relay of [a, b, b, c]) await relay.radio();
  await eventually(() => {
    const counted = all.map((relay) => relay.figures()?.elsewhere);
    if (String(counted) !== '6,4,6') throw new Error(`${counted}, each in both talkgroups`);
  });
  for (const relay of [a, b, c]) t.match(relay.figures(), { shared: 2 });
});

t.test('the number online is that of all relays, and falls when one ends or is cut off', async (t) => {
  const network = createMemoryNetwork();
  const relays = [1, 2, 3].map((number) => relayOn(t, network, { number }));
  const [a, b, c] = relays as [(typeof relays)[0], (typeof relays)[0], (typeof relays)[0]];
  await reached(...relays);
  const [ann, bob, cid] = [await a.radio(), await b.radio(), await c.radio()];
  await c.radio();
  const until = (radio: typeof ann, count: number) =>
    eventually(async () => {
      await delay(100);
      radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroupIdOf(1)] });
      const { talkgroups } = await radio.hears('SUBSCRIBED');
      t.match(talkgroups, [{ number: 1 }]);
      const [{ online }] = talkgroups as [{ online: number }];
      if (online !== count) throw new Error(`${online}, not ${count}`);
    });
  await until(ann, 4);
  await until(bob, 4);
  await until(cid, 4);
  bob.breaks();
  await until(ann, 3);
  await c.close();
  await until(ann, 1);
  t.equal(a.figures()?.peers, 1);
  b.bus.cut();
  await reaching(0, a);
});

t.test(
  'PRESENCE says that sessions elsewhere came or left, and MEMBERS names those of all relays',
  async (t) => {
    const network = createMemoryNetwork();
    const relays = [1, 2, 3].map((number) => relayOn(t, network, { number }));
    const [a, b, c] = relays as [(typeof relays)[0], (typeof relays)[0], (typeof relays)[0]];
    await reached(...relays);
    const ann = await a.radio();
    ann.says({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroupIdOf(1)], presence: true });
    await ann.hears('SUBSCRIBED');
    const bob = await b.radio();
    const changed = { type: 'PRESENCE', talkgroup_id: talkgroupIdOf(1) };
    t.match(await ann.hears('PRESENCE'), { ...changed, joined: [{ session: 2000 }], left: [], online: 2 });
    await b.radio();
    await c.radio();
    await sharing(2, ...relays);
    while ((await ann.hears('PRESENCE')).online !== 4);
    const page = async (radio: typeof ann, after: number) => {
      radio.says({ type: 'MEMBERS', talkgroup_id: talkgroupIdOf(1), after, limit: 2 });
      const { members, next, online } = await radio.hears('MEMBERS');
      return { sessions: (members as { session: number }[]).map(({ session }) => session), next, online };
    };
    t.strictSame(await page(ann, 0), { sessions: [1000, 2000], next: 2000, online: 4 });
    await delay(2100); // the rate of MEMBERS
    t.strictSame(await page(ann, 2000), { sessions: [2001, 3000], next: null, online: 4 });
    bob.breaks();
    t.match(await ann.hears('PRESENCE'), { left: [2000], online: 3 });
    // A relay that does not answer holds up no handshake.
    network.lose((from, _to, _subject, bytes) => from === 1 && bytes[0] === kinds.membersTold);
    await delay(2100);
    t.strictSame(await page(ann, 0), { sessions: [1000, 3000], next: null, online: 3 });
    t.strictSame(await ann.hears('PRESENCE'), { ...changed, online: 3 }, 'it is to ask again');
  },
);
