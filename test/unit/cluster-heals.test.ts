// One message between relays is lost, of any kind: some seconds later each relay knows again what is true.

import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { bodyOf } from '../../src/relay/nodes/body.js';
import { relaySubject } from '../../src/relay/nodes/bus.js';
import { HeaderWriter, type Kind, kinds } from '../../src/relay/nodes/header.js';
import { eventually } from '../helpers/eventually.js';
import { randomOf } from '../helpers/random.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  DATABASE,
  directory,
  type Radio,
  type RelayOn,
  reached,
  reaching,
  relayOn,
  sharing,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';
import { runningTime } from '../helpers/within.js';

const GROUP = talkgroupIdOf(1);
/** Whatever one lost message left wrong is right again after this time (ms). */
const RIGHT_MS = 8500;

interface Seen {
  readonly online: number;
  readonly talkers: readonly { session: number; burst: number }[];
  readonly emergencies: readonly unknown[];
}

/** What the radio's relay says of talkgroup 1. */
async function seenBy(radio: Radio): Promise<Seen> {
  radio.heard('SUBSCRIBED');
  radio.messages.splice(
    0,
    radio.messages.length,
    ...radio.messages.filter(({ type }) => type !== 'SUBSCRIBED'),
  );
  radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [GROUP] });
  const { talkgroups } = await radio.hears('SUBSCRIBED');
  const [seen] = talkgroups as [Seen];
  return seen;
}

const onlineIs = (radio: Radio, count: number, withinMs = RIGHT_MS) =>
  eventually(async () => {
    await delay(100);
    const { online } = await seenBy(radio);
    if (online !== count) throw new Error(`${online} online, not ${count}`);
  }, withinMs);

/** Two relays that reach each other, with a radio each. */
async function two(t: Test) {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const [ann, bob] = [await a.radio(), await b.radio()];
  await sharing(2, a, b);
  await delay(600); // the counts are told
  /** The next message of this kind that the second relay says is lost. Resolves when it was. */
  const loseOne = (kind: Kind, count = 1) => {
    let lost = 0;
    network.lose((from, _to, _subject, bytes) => from === 1 && bytes[0] === kind && lost++ < count);
    return () =>
      eventually(() => {
        if (lost < count) throw new Error('none was lost');
      });
  };
  return { network, a, b, ann, bob, loseOne };
}

t.test('a lost count of a talkgroup without further messages', async (t) => {
  const { b, ann, loseOne } = await two(t);
  const lost = loseOne(kinds.count, 2); // in both talkgroups
  await b.radio();
  await lost();
  await onlineIs(ann, 3, 6000); // the listing comes every 5 s
});

t.test('a lost bye', async (t) => {
  const { a, b, ann, bob, loseOne } = await two(t);
  const lost = loseOne(kinds.bye, 2);
  bob.breaks();
  await lost();
  t.equal(b.figures()?.talkgroups, 0);
  await eventually(() => {
    if (a.figures()?.shared !== 0) throw new Error('still shared');
  }, RIGHT_MS);
  await onlineIs(ann, 1);
});

t.test('a lost bye of a talkgroup that has receivers again', async (t) => {
  const { b, ann, bob, loseOne } = await two(t);
  bob.speaks('1', { start: true });
  await ann.hears('TALK_STARTED');
  const lost = loseOne(kinds.bye, 2);
  bob.breaks();
  await lost();
  const ben = await b.radio();
  await ann.hears('TALK_ENDED');
  ben.speaks('2', { start: true, end: true });
  t.match(await ann.hears('TALK_ENDED'), { session: ben.session.number, code: 'released', frames: 1 });
  t.match(await seenBy(ann), { online: 2, talkers: [] });
});

t.test('questions that are lost are repeated until they are answered', async (t) => {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  let lost = 0;
  network.lose((_from, _to, _subject, bytes) => {
    const isLost = bytes[0] === kinds.hold || bytes[0] === kinds.here || bytes[0] === kinds.count;
    if (isLost) lost++;
    return isLost;
  });
  const [ann, bob] = [await a.radio(), await b.radio()];
  await delay(1000);
  t.ok(lost > 0);
  network.lose(() => false);
  await Promise.all([onlineIs(ann, 2), onlineIs(bob, 2)]);
});

t.test('a relay that no longer hears another one lets it know', async (t) => {
  const { network, a, b, ann, bob } = await two(t);
  ann.speaks('1', { start: true });
  bob.speaks('1', { start: true });
  await Promise.all([
    eventually(() => {
      if (ann.heard('TALK_STARTED').length + bob.heard('TALK_STARTED').length === 0)
        throw new Error('not yet');
    }),
    delay(100),
  ]);
  const talk = setInterval(() => [ann, bob].map((radio) => radio.speaks('.')), 50);
  t.teardown(() => clearInterval(talk));
  network.lose((from, to) => from === 1 && to === 0);
  const [fromB, fromA] = await Promise.all([ann.hears('TALK_ENDED'), bob.hears('TALK_ENDED')]);
  t.match(fromB, { session: 2000, code: 'disconnected' });
  t.match(fromA, { session: 1000, code: 'disconnected' });
  await reaching(0, a, b);
  t.match(await bob.hears('REACH'), { reach: 'alone' });
  network.lose(() => false);
  await Promise.all([ann.hears('TALK_STARTED'), bob.hears('TALK_STARTED')]);
  await Promise.all([onlineIs(ann, 2), onlineIs(bob, 2)]);
});

/** Frames heard and missed of the burst that just ended. */
function toldOf(radio: Radio) {
  const missed = radio.heard('MISSED') as { missed: number }[];
  return { heard: radio.heard('frame').length, missed: missed.reduce((sum, one) => sum + one.missed, 0) };
}

t.test('frames lost with the end of their burst are missed, and the end is the true one', async (t) => {
  const { network, ann, bob } = await two(t);
  bob.speaks('1', { start: true });
  await ann.hears('TALK_STARTED');
  network.lose((from) => from === 1);
  for (let frame = 2; frame <= 9; frame++) bob.speaks(`${frame}`);
  bob.speaks('10', { end: true });
  await delay(50);
  network.lose(() => false);
  t.match(await ann.hears('TALK_ENDED'), { session: 2000, code: 'released', frames: 10 });
  t.strictSame(toldOf(ann), { heard: 1, missed: 9 });
});

t.test('the same when the next burst has begun meanwhile', async (t) => {
  const { network, ann, bob } = await two(t);
  bob.speaks('1', { start: true });
  await ann.hears('TALK_STARTED');
  network.lose((from) => from === 1);
  bob.speaks('2');
  bob.speaks('3', { end: true });
  await delay(50);
  network.lose(() => false);
  bob.speaks('1', { start: true });
  t.match(await ann.hears('TALK_ENDED'), { session: 2000, burst: 1, code: 'released', frames: 3 });
  await ann.hears('TALK_STARTED');
  t.strictSame(toldOf(ann), { heard: 2, missed: 2 });
  bob.speaks('2', { end: true });
  t.match(await ann.hears('TALK_ENDED'), { session: 2000, burst: 2, code: 'released', frames: 2 });
});

t.test('the same when the bus was away for a moment', async (t) => {
  const { b, ann, bob } = await two(t);
  bob.speaks('1', { start: true });
  await ann.hears('TALK_STARTED');
  b.bus.cut();
  bob.speaks('2');
  bob.speaks('3', { end: true });
  await delay(50);
  const ranMs = runningTime(t);
  b.bus.mend();
  t.match(await ann.hears('TALK_ENDED'), { session: 2000, code: 'released', frames: 3 });
  t.ok(ranMs() < 1000, 'the question of the other relay shows it');
  t.strictSame(toldOf(ann), { heard: 1, missed: 2 });
});

t.test('a question that names a talkgroup often is answered once', async (t) => {
  const { b, a, bob } = await two(t);
  const before = a.bus.counts.bytesOut;
  const beforeMessages = a.bus.counts.messagesOut;
  const writer = new HeaderWriter(2, DATABASE);
  writer.setWay(1);
  const talkgroups = [1, 99].flatMap((number) =>
    Array.from({ length: 4500 }, () => ({ number, seq: 0, online: 1, changes: 0 })),
  );
  bob.speaks('1', { start: true, end: true });
  b.bus.publish(relaySubject(1), writer.write(kinds.hold, 0, performance.now(), 0), bodyOf({ talkgroups }));
  await delay(200);
  const bytes = a.bus.counts.bytesOut - before;
  t.ok(bytes < 5000, `${bytes} bytes in ${a.bus.counts.messagesOut - beforeMessages} messages`);
});

t.test('a page of members is whole although a question or an answer is lost', async (t) => {
  const { network, ann } = await two(t);
  const lost = new Set<number>();
  network.lose((_from, _to, _subject, bytes) => {
    const [kind = 0] = bytes;
    if (lost.has(kind) || (kind !== kinds.membersAsked && kind !== kinds.membersTold)) return false;
    lost.add(kind);
    return true;
  });
  ann.says({ type: 'MEMBERS', talkgroup_id: GROUP });
  const { members } = await ann.hears('MEMBERS');
  t.equal(lost.size, 2);
  t.strictSame(
    (members as { session: number }[]).map(({ session }) => session),
    [1000, 2000],
  );
});

t.test('any single message is lost, and everything is right within the promised time', async (t) => {
  const { next } = randomOf(t, 'CLUSTER_SEED');
  const random = (below: number) => Math.floor(next() * below);
  const tried = Object.entries(kinds).filter(([name]) => !['membersAsked', 'membersTold'].includes(name));
  // All at once: each waits most of the time.
  await Promise.all(tried.map(([name, kind]) => lostOne(t, { name, kind, skipped: random(3), random })));
});

async function lostOne(
  t: Test,
  {
    name,
    kind,
    skipped,
    random,
  }: { name: string; kind: Kind; skipped: number; random: (below: number) => number },
): Promise<void> {
  const network = createMemoryNetwork();
  const reads = directory();
  const relays = [1, 2, 3].map((number) => relayOn(t, network, { number, reads })) as [
    RelayOn,
    RelayOn,
    RelayOn,
  ];
  await reached(...relays);
  const radios = await Promise.all(relays.map(({ radio }) => radio()));
  await sharing(2, ...relays);
  let [seen, lost] = [0, 0];
  network.lose((from, _to, _subject, bytes) => {
    if (from !== 0 || bytes[0] !== kind || lost > 0) return false;
    if (seen++ < skipped) return false;
    lost++;
    return true;
  });
  const [first, second] = radios as [Radio, Radio, Radio];
  const others: Radio[] = [];
  first.says({ type: 'SUBSCRIBE', talkgroup_ids: [GROUP], presence: true });
  if (name === 'roster') second.says({ type: 'SUBSCRIBE', talkgroup_ids: [GROUP], presence: true });
  for (let step = 0; step < 30; step++) {
    const frame = step % 15;
    if (frame < 12) for (const radio of radios) radio.speaks('.', { start: frame === 0, end: frame === 11 });
    if (step % 5 === 0) others.push(await (relays[random(2)] ?? relays[0]).radio());
    if (step % 7 === 6) others.shift()?.breaks();
    await delay(60);
  }
  // The last of its kind, so that nothing later shows what is missing.
  lost = 0;
  seen = skipped;
  const alone = first;
  relays[0].database.isAway = true; // the emergency is not stored, and known from the relay alone
  others.push(await relays[0].radio());
  alone.speaks('1', { start: true });
  alone.speaks('2');
  alone.speaks('3', { end: true });
  alone.speaks('1', { start: true });
  const talk = setInterval(() => alone.speaks('.'), 100);
  alone.says({ type: 'EMERGENCY_RAISE', talkgroup_id: GROUP });
  if (name === 'bye') {
    clearInterval(talk);
    for (const radio of [...others.splice(0), alone]) radio.breaks();
  }
  await delay(RIGHT_MS);
  clearInterval(talk);
  network.lose(() => false);
  const left = name === 'bye' ? radios.slice(1) : radios;
  const online = left.length + others.length;
  const talkers = name === 'bye' ? [] : [{ session: alone.session.number }];
  for (const [index, radio] of radios.entries()) {
    if (!left.includes(radio)) continue;
    const told = await seenBy(radio);
    t.equal(told.online, online, `${name}: online at relay ${index + 1}`);
    t.match(
      told.talkers.map(({ session }) => ({ session })),
      talkers,
      `${name}: talkers at relay ${index + 1}`,
    );
    t.equal(told.talkers.length, talkers.length);
    t.equal(told.emergencies.length, 1, `${name}: emergencies at relay ${index + 1}`);
  }
  const shared = name === 'bye' ? [2, 2] : [2, 2, 2];
  t.strictSame(
    relays.slice(3 - shared.length).map(({ figures }) => figures()?.shared),
    shared,
  );
}
