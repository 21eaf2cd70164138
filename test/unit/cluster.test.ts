// Two relays on one bus: radios on one hear talkers on another, in the floor mode open.
import t from 'tap';
import { AppError } from '../../src/errors.js';
import { kinds } from '../../src/relay/nodes/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  directory,
  reached,
  reaching,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';

const kindOf = (bytes: Uint8Array) => bytes[0];

t.test('a radio hears a talker on another relay: TALK_STARTED, the frames, TALK_ENDED', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  ann.speaks('one', { start: true });
  ann.speaks('two');
  ann.speaks('three', { end: true });
  await settled();
  const common = { session: 1000, burst: 1, talkgroup_id: talkgroupIdOf(1) };
  t.match(bob.heard('TALK_STARTED', 'frame', 'TALK_ENDED', 'MISSED'), [
    { type: 'TALK_STARTED', event: 1, username: '000', priority: 1, emergency: false, ...common },
    { frame: 'one', sender: 1000, burst: 1 },
    { frame: 'two', sender: 1000, burst: 1 },
    { frame: 'three', sender: 1000, burst: 1 },
    { type: 'TALK_ENDED', event: 2, code: 'released', frames: 3, ...common },
  ]);
  t.strictSame(ann.frames(), [], 'nothing comes back to the talker');
  t.equal(ann.heard('TALK_STARTED', 'TALK_ENDED').length, 2);
  t.match(a.figures(), { counts: { framesOut: 3, framesIn: 0 } });
  t.match(b.figures(), { counts: { framesIn: 3, framesOut: 0, framesLost: 0, unreadable: 0, strange: 0 } });
});

t.test('nothing leaves a relay whose talkgroups have no receivers elsewhere', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const [ann, abe] = [await a.radio(), await a.radio()];
  ann.speaks('one', { start: true });
  await settled();
  t.strictSame(abe.frames(), ['one']);
  t.match(a.figures(), { counts: { framesOut: 0 }, talkgroups: 2, shared: 0, elsewhere: 0 });
  t.match(b.figures(), { counts: { framesIn: 0 }, talkgroups: 0 });
});

t.test('frames that only relay threads of the node need are not sent to other nodes', async (t) => {
  const network = createMemoryNetwork();
  const a = relayOn(t, network, { number: 1, node: 7 });
  const b = relayOn(t, network, { number: 2, node: 7 });
  const c = relayOn(t, network, { number: 3 });
  await reached(a, b, c);
  t.strictSame([a.figures()?.siblings, c.figures()?.siblings], [1, 0]);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  ann.speaks('one', { start: true });
  ann.speaks('two');
  await settled();
  t.strictSame([a.bus.near(), bob.frames()], [2, ['one', 'two']]);
  const cid = await c.radio();
  t.match(await cid.hears('WELCOME'), { talkgroups: [{ talkers: [{ session: 1000, burst: 1 }] }, {}] });
  ann.speaks('three');
  await settled();
  t.strictSame([a.bus.near(), cid.frames(), cid.heard('MISSED')], [2, ['three'], []]);
  cid.breaks();
  await c.close();
  await reaching(1, a);
  ann.speaks('four', { end: true });
  await settled();
  t.strictSame([a.bus.near(), bob.frames()], [3, ['one', 'two', 'three', 'four']]);
});

t.test('a radio that comes during a burst elsewhere is told of it, and hears it from there on', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const ann = await a.radio();
  ann.speaks('one', { start: true });
  ann.speaks('two');
  const bob = await b.radio();
  t.match(await bob.hears('WELCOME'), { talkgroups: [{ talkers: [{ session: 1000, burst: 1 }] }, {}] });
  await sharing(2, a, b);
  ann.speaks('three', { end: true });
  await bob.hears('TALK_ENDED');
  t.strictSame(bob.frames(), ['three']);
  t.strictSame(bob.heard('MISSED'), [], 'what was said before it came is not missed');

  ann.speaks('again', { start: true });
  await settled();
  bob.says({ type: 'SYNC', talkgroup_id: talkgroupIdOf(1) });
  t.match(await bob.hears('SYNCED'), {
    talkers: [{ session: 1000, burst: 2, frames: 1, sequence: 0 }],
    talkers_total: 1,
    online: 2,
  });
});

t.test(
  'the limits on talkers count the bursts of other relays, but for an own one that has begun',
  async (t) => {
    const network = createMemoryNetwork();
    const limits = { talkersMax: 2, talksPerUser: 2 };
    const [a, b] = [relayOn(t, network, { number: 1, limits }), relayOn(t, network, { number: 2, limits })];
    await reached(a, b);
    const [ann, abe, bob] = [await a.radio(), await a.radio(), await b.radio()];
    await sharing(2, a, b);
    ann.speaks('1', { start: true });
    abe.speaks('1', { start: true });
    await bob.hears('TALK_STARTED');
    await bob.hears('TALK_STARTED');
    t.equal(bob.speaks('no', { start: true }), false);
    t.match(await bob.hears('FLOOR_DENIED'), { code: 'busy' });
    abe.speaks('2', { end: true });
    await bob.hears('TALK_ENDED');
    t.equal(bob.speaks('yes', { start: true }), true);
  },
);

t.test(
  'a change that one node makes reaches the others over the bus, whatever their databases do',
  async (t) => {
    const network = createMemoryNetwork();
    const reads = directory();
    const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
    await reached(a, b);
    const bob = await b.radio();
    reads.setMode('broadcast');
    await a.relay.notice({ id: 'one', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) });
    t.match(await bob.hears('TALKGROUP_CHANGED'), {
      floor_mode: 'broadcast',
      talkgroup_id: talkgroupIdOf(1),
    });
  },
);

t.test('a burst goes on for listeners elsewhere when the floor mode changes', async (t) => {
  const network = createMemoryNetwork();
  const reads = directory();
  const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  const change = (id: string) => ({ id, kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) }) as const;
  for (const mode of ['single', 'open'] as const) {
    const [before, now] = mode === 'single' ? ['1', '2'] : ['3', '4'];
    ann.speaks(before, { start: mode === 'single' });
    await eventually(() => {
      if (!bob.frames().includes(before)) throw new Error('not heard yet');
    });
    reads.setMode(mode);
    await Promise.all([a.relay.noticed(change(mode)), b.relay.noticed(change(mode))]);
    await settled();
    ann.speaks(now);
    await eventually(() => {
      if (!bob.frames().includes(now)) throw new Error('not heard yet');
    });
  }
  ann.speaks('5', { end: true });
  t.match(await bob.hears('TALK_ENDED'), { code: 'released', frames: 5 });
  t.equal(bob.heard('TALK_STARTED').length, 1, 'it began once');
  t.strictSame(bob.heard('MISSED', 'TALK_ENDED').length, 1);
});

t.test(
  'all bursts that a change of the floor mode ends are ended on other nodes with its code',
  async (t) => {
    for (const mode of ['broadcast', 'single'] as const) {
      const network = createMemoryNetwork();
      const reads = directory();
      const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
      await reached(a, b);
      const talkers = [await a.radio(), await a.radio(), await a.radio()];
      const bob = await b.radio();
      await sharing(2, a, b);
      for (const talker of talkers) {
        talker.speaks('1', { start: true });
        await bob.hears('TALK_STARTED');
      }
      reads.setMode(mode);
      const change = { id: 'one', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) } as const;
      await Promise.all([a.relay.noticed(change), b.relay.noticed(change)]);
      const ending = talkers.slice(mode === 'broadcast' ? 0 : 1);
      for (const _ of ending) t.match(await bob.hears('TALK_ENDED'), { code: 'mode', frames: 1 });
      t.strictSame(
        new Set(bob.heard('TALK_ENDED').map((one) => 'session' in one && one.session)),
        new Set(ending.map(({ session }) => session.number)),
      );
    }
  },
);

t.test('of bursts of two nodes the oldest goes on in `single`, and the other one ends once', async (t) => {
  for (const isNear of [true, false]) {
    const network = createMemoryNetwork();
    const reads = directory();
    const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
    await reached(a, b);
    const [ann, bob] = [await a.radio(), await b.radio()];
    const [eve, fay] = [await a.radio(), await b.radio()];
    await sharing(2, a, b);
    const [older, younger] = isNear ? [ann, bob] : [bob, ann];
    older.speaks('1', { start: true });
    await younger.hears('TALK_STARTED');
    younger.speaks('2', { start: true });
    const [of, than] = [older.session.number, younger.session.number];
    for (const one of [eve, fay]) for (let bursts = 0; bursts < 2; bursts++) await one.hears('TALK_STARTED');
    reads.setMode('single');
    const change = { id: 'one', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) } as const;
    await Promise.all([a.relay.noticed(change), b.relay.noticed(change)]);
    t.match(await younger.hears('FLOOR_REVOKED'), { code: 'mode' });
    for (const one of [eve, fay])
      t.match(await one.hears('TALK_ENDED'), { session: than, code: 'mode', frames: 1 });
    older.speaks('3', { end: true });
    for (const one of [eve, fay])
      t.match(await one.hears('TALK_ENDED'), { session: of, code: 'released', frames: 2 });
    for (const one of [eve, fay]) {
      t.equal(one.heard('TALK_STARTED').length, 2, 'each began once');
      t.equal(one.heard('TALK_ENDED').length, 2, 'and ended once');
    }
  }
});

t.test(
  'settings that another relay has read count at once, also while the own database cannot be read',
  async (t) => {
    const network = createMemoryNetwork();
    const [read, old] = [directory(), directory()];
    let isAway = false;
    const talkgroupsOf: typeof old.talkgroupsOf = async (ids) => {
      if (isAway) throw new AppError('not_ready');
      return old.talkgroupsOf(ids);
    };
    const [a, b] = [
      relayOn(t, network, { number: 1, reads: read }),
      relayOn(t, network, { number: 2, reads: { ...old, talkgroupsOf } }),
    ];
    await reached(a, b);
    const [ann, bob] = [await a.radio(), await b.radio()];
    await sharing(2, a, b);
    isAway = true;
    const change = (id: string) =>
      a.relay.noticed({ id, kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) });
    ann.speaks('1', { start: true });
    await bob.hears('TALK_STARTED');
    read.setMode('single');
    await change('one');
    t.match(await bob.hears('TALKGROUP_CHANGED'), { talkgroup_id: talkgroupIdOf(1), floor_mode: 'single' });
    bob.says({ type: 'SYNC', talkgroup_id: talkgroupIdOf(1) });
    t.match(await bob.hears('SYNCED'), { floor_mode: 'single' });
    await settled(); // the home has placed it
    ann.speaks('2', { end: true });
    await bob.hears('TALK_ENDED');

    network.lose((_from, _to, _subject, bytes) => kindOf(bytes) === kinds.count);
    read.setMode('open');
    await change('three');
    ann.speaks('3', { start: true, end: true });
    await bob.hears('TALK_STARTED');
    t.strictSame(
      bob
        .heard('TALKGROUP_CHANGED', 'TALK_STARTED', 'frame')
        .map((one) => ('type' in one ? one.type : 'frame')),
      [
        ...['TALK_STARTED', 'frame', 'TALKGROUP_CHANGED', 'frame'],
        ...['TALKGROUP_CHANGED', 'TALK_STARTED', 'frame'],
      ],
      'a burst tells of the floor mode that it belongs to',
    );
    old.setMode('broadcast');
    old.setMode('broadcast');
    isAway = false;
    await b.relay.noticed({ id: 'four', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) });
    t.match(
      bob.heard('TALKGROUP_CHANGED'),
      [{ floor_mode: 'broadcast' }],
      'a read of the same revision counts',
    );
  },
);
