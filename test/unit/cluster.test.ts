// Two or three relays on one bus: radios on one hear talkers on another, and are told what was lost between them.
import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { bodyOf } from '../../src/relay/cluster/bodies.js';
import { EVERY_RELAY, relaySubject, type Subject, talkgroupSubject } from '../../src/relay/cluster/bus.js';
import { HeaderWriter, kinds } from '../../src/relay/cluster/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import { directory, reached, relayOn, settled, sharing, talkgroupIdOf } from '../helpers/relay/relays.js';

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
  t.match(a.figures(), { counts: { framesOut: 0 }, talkgroups: 2, shared: 0 });
  t.match(b.figures(), { counts: { framesIn: 0 }, talkgroups: 0 });
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
  await eventually(() => {
    if (a.figures()?.peers !== 0) throw new Error('still a peer');
  });
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
    await settled();
    const page = async (radio: typeof ann, after: number) => {
      await delay(2100); // the rate of MEMBERS
      radio.says({ type: 'MEMBERS', talkgroup_id: talkgroupIdOf(1), after, limit: 2 });
      const { members, next, online } = await radio.hears('MEMBERS');
      return { sessions: (members as { session: number }[]).map(({ session }) => session), next, online };
    };
    t.strictSame(await page(ann, 0), { sessions: [1000, 2000], next: 2000, online: 4 });
    t.strictSame(await page(ann, 2000), { sessions: [2001, 3000], next: null, online: 4 });
    bob.breaks();
    await ann.hears('PRESENCE');
    // A relay that does not answer holds nobody up.
    network.lose((from) => from === 1); // the second relay
    const askedAtMs = performance.now();
    t.strictSame((await page(ann, 0)).sessions, [1000, 3000]);
    t.ok(performance.now() - askedAtMs < 2100 + 1000);
  },
);

t.test('what comes by an older way after newer messages of the relay is ignored', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  const way = network.join(); // a server that was frozen, and goes on
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  const kept: [Subject, Uint8Array][] = [];
  network.lose((from, _to, subject, bytes) => {
    if (from === 0 && kindOf(bytes) !== kinds.beacon) kept.push([subject, new Uint8Array(bytes)]);
    return false;
  });
  ann.speaks('one', { start: true });
  ann.speaks('two');
  await settled();
  bob.says({ type: 'MEMBERS', talkgroup_id: talkgroupIdOf(1) });
  await bob.hears('MEMBERS');
  ann.speaks('three', { end: true });
  ann.speaks('four', { start: true });
  await bob.hears('TALK_ENDED');
  network.lose(() => false);
  a.bus.cut();
  a.bus.mend();
  ann.speaks('five');
  await settled();
  bob.heard('TALK_STARTED', 'TALK_ENDED', 'frame');
  t.ok(kept.length >= 5);
  for (const [subject, bytes] of kept) way.publish(subject, bytes, new Uint8Array(0));
  ann.speaks('six', { end: true });
  await bob.hears('TALK_ENDED');
  t.match(bob.heard('TALK_STARTED', 'TALK_ENDED', 'frame', 'MISSED'), [
    { frame: 'six', burst: 2 },
    { type: 'TALK_ENDED', burst: 2, frames: 3 },
  ]);
  t.ok((b.figures()?.counts.overtaken ?? 0) >= 5);
});

t.test('what a relay said itself is ignored when it comes back', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  const way = network.join();
  await reached(a, b);
  const own = new HeaderWriter(1);
  for (let each = 0; each < 3; each++) {
    way.publish(EVERY_RELAY, own.write(kinds.beacon, 0, 5, 0), bodyOf({ heard: [[1, 0, 0]] }));
    await settled();
  }
  t.equal(a.figures()?.peers, 1);
  t.equal(a.figures()?.counts.overtaken, 3);
});

t.test('frames lost between relays are told by MISSED, each once', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  let frames = 0;
  // The third, and the last two before the END.
  network.lose(
    (_from, _to, _subject, bytes) => kindOf(bytes) === kinds.frame && [3, 6, 7].includes(++frames),
  );
  for (let frame = 1; frame <= 7; frame++) ann.speaks(`${frame}`, { start: frame === 1, end: frame === 7 });
  await bob.hears('TALK_ENDED');
  t.strictSame(bob.frames(), ['1', '2', '4', '5']);
  const missed = bob.heard('MISSED') as { missed: number }[];
  t.match(missed, [{ session: 1000, burst: 1, talkgroup_id: talkgroupIdOf(1) }, {}]);
  t.equal(
    missed.reduce((sum, one) => sum + one.missed, 0),
    3,
  );
  t.equal(b.figures()?.counts.framesLost, 3);
});

t.test('a lost TALK_STARTED is asked for, and a lost TALK_ENDED found out', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  network.lose((_from, _to, _subject, bytes) => kindOf(bytes) === kinds.started);
  ann.speaks('1', { start: true });
  ann.speaks('2');
  await bob.hears('TALK_STARTED');
  ann.speaks('3');
  await settled();
  t.strictSame(bob.frames(), ['3']);
  t.match(bob.heard('MISSED'), [{ missed: 2 }]);

  network.lose((_from, _to, _subject, bytes) => kindOf(bytes) === kinds.ended);
  ann.speaks('4', { end: true });
  await settled();
  t.strictSame(bob.heard('TALK_ENDED'), []);
  t.match(await bob.hears('TALK_ENDED'), { code: 'disconnected', frames: 4 });
});

t.test('a frame that was on its way for too long is not played, and told as missed', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  ann.speaks('new', { start: true });
  await delay(600); // the clocks are compared
  network.delay(700);
  ann.speaks('old');
  await delay(100);
  network.delay(0);
  await delay(700);
  ann.speaks('newer', { end: true });
  await bob.hears('TALK_ENDED');
  t.strictSame(bob.frames(), ['new', 'newer']);
  t.match(bob.heard('MISSED'), [{ missed: 1 }]);
  t.equal(b.figures()?.counts.framesLate, 1);
});

t.test('when a relay cannot be reached its bursts end, and begin again when it is back', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  const talk = setInterval(() => ann.speaks('.'), 20);
  t.teardown(() => clearInterval(talk));
  await bob.hears('TALK_STARTED');
  a.bus.cut();
  const cutAtMs = performance.now();
  t.match(await bob.hears('TALK_ENDED'), { session: 1000, burst: 1, code: 'disconnected' });
  t.ok(performance.now() - cutAtMs < 2500);
  const before = bob.frames().length;
  a.bus.mend();
  t.match(await bob.hears('TALK_STARTED'), { session: 1000, burst: 1 });
  await eventually(() => {
    if (bob.frames().length <= before) throw new Error('no frame');
  });
  clearInterval(talk);
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
  'a message that is missing is asked about: a lost count is right after the next message',
  async (t) => {
    const network = createMemoryNetwork();
    const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
    await reached(a, b);
    const [ann, bob] = [await a.radio(), await b.radio()];
    await sharing(2, a, b);
    const online = async () => {
      bob.says({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroupIdOf(1)] });
      const { talkgroups } = await bob.hears('SUBSCRIBED');
      return (talkgroups as { online: number }[])[0]?.online;
    };
    await delay(600);
    network.lose((_from, _to, _subject, bytes) => kindOf(bytes) === kinds.count);
    await a.radio();
    await delay(600);
    t.equal(await online(), 2, 'the count was lost');
    ann.speaks('one', { start: true, end: true });
    await settled();
    t.equal(await online(), 3);
  },
);

t.test('with one message in ten lost, every burst is whole or what is missing of it is told', async (t) => {
  const network = createMemoryNetwork();
  const relays = [1, 2, 3].map((number) => relayOn(t, network, { number }));
  await reached(...relays);
  const radios = await Promise.all(relays.flatMap(({ radio }) => [radio(), radio()]));
  await sharing(2, ...relays);
  const seed = Number(process.env.CLUSTER_SEED ?? randomInt(2 ** 31));
  t.comment(`CLUSTER_SEED=${seed}`);
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff; // as POSIX has rand()
    return state / 0x80000000;
  };
  network.lose(() => random() < 0.1);
  const left = radios.map(() => 0);
  for (let step = 0; step < 400; step++) {
    for (const [index, radio] of radios.entries()) {
      const frames = left[index] ?? 0;
      if (frames === 0 && random() < 0.95) continue;
      const isFirst = frames === 0;
      const rest = isFirst ? 1 + Math.floor(30 * random()) : frames - 1;
      left[index] = rest;
      radio.speaks(`${step}`, { start: isFirst, end: rest === 0 });
    }
    await delay(10);
  }
  network.lose(() => false);
  for (const [index, radio] of radios.entries())
    if ((left[index] ?? 0) > 0) radio.speaks('end', { end: true });
  await delay(4000); // ends that were lost are found out
  let heardWhole = 0;
  for (const radio of radios) {
    const running = new Map<string, { frames: number; missed: number; last: string }>();
    for (const one of radio.heard('TALK_STARTED', 'TALK_ENDED', 'MISSED', 'frame')) {
      const key = `${'frame' in one ? one.sender : one.session}.${one.burst}`;
      if (key.startsWith(`${radio.session.number}.`)) continue; // its own
      const known = running.get(key);
      const type = 'frame' in one ? 'frame' : one.type;
      if (type === 'TALK_STARTED') {
        t.notOk(known, `${key} begins once`);
        running.set(key, { frames: 0, missed: 0, last: '' });
      } else if (known === undefined) t.fail(`${type} of ${key} outside of its burst`);
      else if ('frame' in one) known.frames++;
      else if (type === 'MISSED') known.missed += Number(one.missed);
      else {
        running.delete(key);
        if (one.code !== 'released') continue;
        heardWhole++;
        if (known.frames + known.missed !== one.frames)
          t.fail(`${key}: ${known.frames} heard and ${known.missed} missed of ${one.frames}`);
      }
    }
    t.equal(running.size, 0, 'all of them ended');
  }
  t.ok(heardWhole > 100, `${heardWhole} bursts`);
});

t.test('whatever comes over the bus, a relay goes on, and what it knows of others is right', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  const stranger = network.join();
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  const subjects = [EVERY_RELAY, relaySubject(2), talkgroupSubject(1)];
  for (let trial = 0; trial < 3000; trial++) {
    const bytes = randomBytes(trial % 90);
    if (trial % 2 === 0 && bytes.length > 8) {
      // As the relay 1, of this version, and often of a known kind.
      bytes[0] = [1, 2, 3, 5, 16, 17, 32, 200][trial % 8] ?? 0;
      bytes.writeUInt32BE(trial % 4 === 0 ? 1 : 77, 4);
      bytes[1] = 0x10;
    }
    stranger.publish(subjects[trial % 3] ?? EVERY_RELAY, bytes, new Uint8Array(0));
    if (trial % 50 === 0) await settled();
  }
  await settled();
  t.ok((b.figures()?.counts.unreadable ?? 0) > 100);
  ann.speaks('still here', { start: true, end: true });
  await bob.hears('TALK_ENDED');
  t.strictSame(bob.frames(), ['still here']);
});

t.test(
  'a change that one node makes reaches the others over the bus, whatever their databases do',
  async (t) => {
    const network = createMemoryNetwork();
    const reads = directory();
    const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
    await reached(a, b);
    const bob = await b.radio();
    reads.setMode('broadcast');
    await a.relay.tell({ id: 'one', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) });
    t.match(await bob.hears('TALKGROUP_CHANGED'), {
      floor_mode: 'broadcast',
      talkgroup_id: talkgroupIdOf(1),
    });
  },
);

t.test('radios are told how much of the service their relay reaches', async (t) => {
  const network = createMemoryNetwork();
  const relays = [1, 2, 3].map((number) => relayOn(t, network, { number }));
  const [a, b, c] = relays as [(typeof relays)[0], (typeof relays)[0], (typeof relays)[0]];
  await reached(...relays);
  const [ann, bob] = [await a.radio(), await b.radio()];
  t.match(await ann.hears('WELCOME'), { reach: 'whole' });
  await c.close();
  await delay(2000);
  t.strictSame(ann.heard('REACH'), [], 'a relay that ends as it should is not missed');
  b.bus.cut();
  t.match(await ann.hears('REACH'), { reach: 'alone' });
  t.match(await bob.hears('REACH'), { reach: 'alone' });
  t.match(await (await a.radio()).hears('WELCOME'), { reach: 'alone' });
  b.bus.mend();
  t.match(await ann.hears('REACH'), { reach: 'whole' });
  t.match(await bob.hears('REACH'), { reach: 'whole' });
});

t.test('single stays on one relay, and a change of the mode ends what was shared', async (t) => {
  const network = createMemoryNetwork();
  const reads = directory();
  const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  ann.speaks('1', { start: true });
  await bob.hears('TALK_STARTED');
  reads.setMode('single');
  const change = (id: string) => ({ id, kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) }) as const;
  await Promise.all([a.relay.notice(change('one')), b.relay.notice(change('one'))]);
  t.match(await bob.hears('TALK_ENDED'), { code: 'mode' });
  ann.speaks('2');
  await settled();
  t.strictSame(bob.frames(), ['1']);
  t.strictSame(ann.heard('TALK_ENDED'), [], 'it goes on where it began');
  ann.speaks('3');

  reads.setMode('open');
  await Promise.all([a.relay.notice(change('two')), b.relay.notice(change('two'))]);
  await eventually(() => {
    if (ann.heard('TALKGROUP_CHANGED').length === 0) throw new Error('not yet');
  });
  bob.heard('TALK_STARTED', 'TALK_ENDED');
  ann.speaks('4');
  t.match(await bob.hears('TALK_STARTED'), { session: 1000, burst: 1 }, 'the burst that goes on');
  ann.speaks('5', { end: true });
  t.match(await bob.hears('TALK_ENDED'), { code: 'released', frames: 5 });
  t.strictSame(bob.heard('frame', 'MISSED'), [
    { frame: '1', sender: 1000, burst: 1 },
    { frame: '5', sender: 1000, burst: 1 },
  ]);
});

t.test('settings that another relay has read count at once, and no older read undoes them', async (t) => {
  const network = createMemoryNetwork();
  const [read, old] = [directory(), directory()];
  const [a, b] = [
    relayOn(t, network, { number: 1, reads: read }),
    relayOn(t, network, { number: 2, reads: old }),
  ];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  const change = (id: string) =>
    a.relay.notice({ id, kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) });
  ann.speaks('1', { start: true });
  await bob.hears('TALK_STARTED');
  read.setMode('single');
  await change('one');
  t.match(await bob.hears('TALKGROUP_CHANGED'), { talkgroup_id: talkgroupIdOf(1), floor_mode: 'single' });
  t.match(await bob.hears('TALK_ENDED'), { code: 'mode' });
  await b.relay.notice({ id: 'two', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) });
  bob.says({ type: 'SYNC', talkgroup_id: talkgroupIdOf(1) });
  t.match(await bob.hears('SYNCED'), { floor_mode: 'single' });
  ann.speaks('2', { end: true });

  network.lose((_from, _to, _subject, bytes) => kindOf(bytes) === kinds.count);
  read.setMode('open');
  await change('three');
  ann.speaks('3', { start: true, end: true });
  await bob.hears('TALK_STARTED');
  t.strictSame(
    bob
      .heard('TALKGROUP_CHANGED', 'TALK_STARTED', 'frame')
      .map((one) => ('type' in one ? one.type : 'frame')),
    ['TALK_STARTED', 'frame', 'TALKGROUP_CHANGED', 'TALKGROUP_CHANGED', 'TALK_STARTED', 'frame'],
    'a burst tells of the floor mode that it belongs to',
  );
  old.setMode('broadcast');
  old.setMode('broadcast');
  await b.relay.notice({ id: 'four', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) });
  t.match(
    bob.heard('TALKGROUP_CHANGED'),
    [{ floor_mode: 'broadcast' }],
    'a read of the same revision counts',
  );
});
