// Relays on one bus that are cut off, come back, or get messages that they must not believe.

import { randomBytes } from 'node:crypto';
import t from 'tap';
import { clusterFamilies } from '../../src/metrics/cluster-families.js';
import { expose } from '../../src/metrics/exposition.js';
import type { Snapshot } from '../../src/metrics/snapshot.js';
import { bodyOf } from '../../src/relay/nodes/body.js';
import { EVERY_RELAY, relaySubject, type Subject, talkgroupSubject } from '../../src/relay/nodes/bus.js';
import { HEADER_BYTES, HeaderWriter, kinds } from '../../src/relay/nodes/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  DATABASE,
  type RelayOn,
  reached,
  reaching,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';
import { runningTime } from '../helpers/within.js';

const kindOf = (bytes: Uint8Array) => bytes[0];

/** The states of the reach that the metrics show with 1. */
function shown({ figures }: RelayOn): string[] {
  const text = expose(clusterFamilies, { relay: { cluster: figures() } } as unknown as Snapshot);
  return [...text.matchAll(/^talkgroup_cluster_reach\{state="(\w+)"\} 1$/gm)].map(([, state = '']) => state);
}

/** Resolves when the relay has sent this number of beacons, and so judged its reach as often. */
async function beacons({ figures }: RelayOn, count: number): Promise<void> {
  const sent = () => figures()?.bus.messagesOut ?? 0;
  const enough = sent() + count;
  await eventually(() => {
    if (sent() < enough) throw new Error('not yet');
  });
}

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
  const own = new HeaderWriter(1, DATABASE);
  for (let each = 0; each < 3; each++) {
    way.publish(
      EVERY_RELAY,
      own.write(kinds.beacon, 0, 5, 0),
      bodyOf({ encrypts: true, heard: [[1, 0, 0]] }),
    );
    await settled();
  }
  t.equal(a.figures()?.peers, 1);
  t.equal(a.figures()?.counts.overtaken, 3);
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
  const ranMs = runningTime(t);
  t.match(await bob.hears('TALK_ENDED'), { session: 1000, burst: 1, code: 'disconnected' });
  t.ok(ranMs() < 2500);
  const before = bob.frames().length;
  a.bus.mend();
  t.match(await bob.hears('TALK_STARTED'), { session: 1000, burst: 1 });
  await eventually(() => {
    if (bob.frames().length <= before) throw new Error('no frame');
  });
  clearInterval(talk);
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
    if (bytes.length >= HEADER_BYTES) bytes.writeUInt32BE(DATABASE, 28);
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

t.test('radios are told how much of the service their relay reaches', async (t) => {
  const network = createMemoryNetwork();
  const relays = [1, 2, 3].map((number) => relayOn(t, network, { number }));
  const [a, b, c] = relays as [(typeof relays)[0], (typeof relays)[0], (typeof relays)[0]];
  await reached(...relays);
  const [ann, bob] = [await a.radio(), await b.radio()];
  t.match(await ann.hears('WELCOME'), { reach: 'whole' });
  t.strictSame(shown(a), ['whole']);
  await c.close();
  await reaching(1, a);
  await beacons(a, 2);
  t.strictSame(ann.heard('REACH'), [], 'a relay that ends as it should is not missed');
  b.bus.cut();
  t.match(await ann.hears('REACH'), { reach: 'alone' });
  t.match(await bob.hears('REACH'), { reach: 'alone' });
  t.strictSame(shown(a), ['alone']);
  t.match(await (await a.radio()).hears('WELCOME'), { reach: 'alone' });
  b.bus.mend();
  t.match(await ann.hears('REACH'), { reach: 'whole' });
  t.match(await bob.hears('REACH'), { reach: 'whole' });
});
