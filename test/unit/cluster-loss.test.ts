// What is lost between relays on one bus is told, found out or asked for again.

import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import { encodeFrame } from '../../src/protocol/frame.js';
import { createCluster } from '../../src/relay/cluster/cluster.js';
import type { Fanout } from '../../src/relay/delivery/fanout.js';
import type { Feed } from '../../src/relay/delivery/feed.js';
import type { EmergenciesElsewhere } from '../../src/relay/emergencies/elsewhere.js';
import { newFloorCounts } from '../../src/relay/figures/floor-counts.js';
import { createSampling } from '../../src/relay/figures/sampling.js';
import { Bursts } from '../../src/relay/floor/bursts.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { bodyOf } from '../../src/relay/nodes/body.js';
import { EVERY_RELAY, newBusCounts, type Subject, talkgroupSubject } from '../../src/relay/nodes/bus.js';
import { HeaderWriter, type Kind, kinds } from '../../src/relay/nodes/header.js';
import { createPresence } from '../../src/relay/presence/presence.js';
import { eventually } from '../helpers/eventually.js';
import { randomOf } from '../helpers/random.js';
import { clockAt } from '../helpers/relay/clocks.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import { noTapes } from '../helpers/relay/relay-alone.js';
import {
  DATABASE,
  reached,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
  userIdOf,
} from '../helpers/relay/relays.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

const kindOf = (bytes: Uint8Array) => bytes[0];

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
  t.match(await bob.hears('TALK_ENDED'), { code: 'released', frames: 4 });
});

t.test('a relay is heard as before when the number of its messages begins again at 0', async (t) => {
  // In each of these numbers of its messages, the one after the last of 32 bits comes at another moment.
  const heard = async (left: number) => {
    const network = createMemoryNetwork();
    const lastSeq = 2 ** 32 - 1 - left;
    const [a, b] = [relayOn(t, network, { number: 1, lastSeq }), relayOn(t, network, { number: 2 })];
    await reached(a, b);
    const [ann, bob] = [await a.radio(), await b.radio()];
    await sharing(2, a, b);
    for (let frame = 1; frame <= 9; frame++) ann.speaks(`${frame}`, { start: frame === 1, end: frame === 9 });
    await bob.hears('TALK_STARTED');
    await bob.hears('TALK_ENDED');
    network.lose((_from, _to, _subject, bytes) => kindOf(bytes) === kinds.started);
    ann.speaks('10', { start: true });
    ann.speaks('11');
    await bob.hears('TALK_STARTED');
    ann.speaks('12');
    let frames = 0; // each is handed out once
    await eventually(() => {
      frames += bob.heard('frame').length;
      if (frames < 10) throw new Error(`${left} left: the frame behind the answer is not heard`);
    });
    t.equal(frames, 10, `${left} left: the lost start is noticed`);
    network.lose(() => false);
    for (let frame = 0; frame < 9; frame++) ann.speaks('13');
    await a.radio();
    await eventually(() => {
      if (b.figures()?.elsewhere !== 4)
        throw new Error(`${left} left: not counted: ${b.figures()?.elsewhere}`);
    });
    b.bus.cut();
    ann.speaks('not heard', { end: true });
    b.bus.mend();
    t.match(
      await bob.hears('TALK_ENDED'),
      { code: 'released', frames: 13 },
      `${left} left: what it asks is answered`,
    );
    t.match(
      [a, b].map((relay) => relay.figures()?.counts.unreadable),
      [0, 0],
    );
  };
  await Promise.all(Array.from({ length: 24 }, (_, at) => heard(at + 1)));
});

const talker = {
  ...{ talkgroup_id: talkgroupIdOf(1), session: 2000, burst: 1, user_id: userIdOf(2, 0), username: 'bob' },
  ...{ priority: 1, emergency: false, started_at: '1970-01-01T00:00:00.000Z', frames: 0, sequence: 0 },
};
const frame = encodeFrame({ sequence: 0, talkgroup: 1, payload: Buffer.from('x'), sender: 2000, burst: 1 });

/** Relay 1 with its clock in the hands of the test, which hears relay 2 in talkgroup 1: within one turn of the loop. */
function heardWithClock(t: Test) {
  let [nowMs, fairMs] = [1000, 1000];
  const receivers = new Map<Subject, (bytes: Uint8Array) => void>();
  const played: number[] = [];
  let lost = 0;
  const nothing = () => {};
  const clock = clockAt(() => nowMs);
  const talkgroup = new Talkgroup(talkgroupRow({ id: talkgroupIdOf(1) as TalkgroupId }));
  const bursts = new Bursts();
  const fanout = {
    ...{ onlineHere: () => 1, event: nothing },
    tell(_feed: Feed, text: string) {
      lost += JSON.parse(text).missed;
    },
  } as unknown as Fanout; // what a burst in `open` needs
  const cluster = createCluster({
    ...{ relay: 1, database: DATABASE, node: null, keys: [], records: false, lastSeq: 0 },
    bus: {
      ...{ publish: () => true, isUp: true, carriesSome: true, joinsNodes: true, counts: newBusCounts() },
      subscribe: (subject, receive) => {
        receivers.set(subject, receive);
        return nothing;
      },
      ...{ onChange: nothing, doubt: nothing, close: async () => {} },
    },
    fanout,
    remote: {
      ...{ bursts, fanout, tapes: noTapes, nowMs: () => nowMs, sampling: createSampling(clock) },
      holding: {
        live() {
          for (const { talker } of bursts.remoteIn(talkgroup)) played.push(talker.frames);
          return true;
        },
        ...{ keep: nothing, discard: nothing },
      },
    },
    presence: createPresence({ ...fanout, watchers: () => 0, presence: nothing }),
    emergencies: {} as EmergenciesElsewhere, // none is raised
    floor: { counts: newFloorCounts(), limits: { talkersMax: 32, talksPerUser: 2 }, onVerdicts: nothing },
    movesOf: () => undefined,
    sessions: { keepMs: 0, max: 0, has: () => false, give: () => null },
    ...{ adopt: nothing, noticed: nothing, located: nothing },
    fair: { at: () => fairMs },
    clock,
    log: { info: nothing, error: (_fields, message) => t.fail(message) },
  });
  cluster.came(talkgroup);
  const writer = new HeaderWriter(2, DATABASE);
  let seq = 0;
  const say = (subject: Subject, head: Uint8Array, body: Uint8Array) =>
    receivers.get(subject)?.(Buffer.concat([head, body]));
  // Its clock is ours, and the way takes no time.
  say(
    EVERY_RELAY,
    writer.write(kinds.beacon, 0, nowMs, 0),
    bodyOf({ encrypts: true, heard: [[1, nowMs, 0]] }),
  );
  t.teardown(() => cluster.close());
  return {
    played,
    missed: () => lost,
    stands(ms: number): void {
      nowMs += ms;
      fairMs += 1;
    },
    says(kind: Kind, { atMs, index = 0 }: { atMs: number; index?: number }, body: Uint8Array): void {
      say(talkgroupSubject(1), writer.write(kind, ++seq, atMs, index), body);
    },
  };
}

t.test('a relay that stood still plays what is at most 1 s old, and tells the rest as missed', async (t) => {
  for (const [stoodMs, oldest] of [
    [300, 1000],
    [5000, 5000],
  ] as const) {
    const { says, stands, played, missed } = heardWithClock(t);
    says(kinds.started, { atMs: 1000 }, bodyOf(talker));
    stands(stoodMs);
    // A frame each 20 ms, which waited in the socket.
    const frames = stoodMs / 20;
    for (let index = 1; index <= frames; index++) says(kinds.frame, { atMs: 980 + 20 * index, index }, frame);
    const [first = 0] = played;
    t.equal(980 + 20 * first, oldest, `${stoodMs} ms`);
    t.equal(played.length, (1000 + stoodMs - oldest) / 20);
    const ended = { session: talker.session, burst: talker.burst, code: 'released', duration_ms: stoodMs };
    says(kinds.ended, { atMs: 1000 + stoodMs, index: frames }, bodyOf(ended));
    t.equal(missed(), frames - played.length);
  }
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
  const random = randomOf(t, 'CLUSTER_SEED').next;
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
  // Ends that were lost are found out.
  await eventually(() => {
    const types = radios.flatMap(({ arrivals }) => arrivals.map((one) => ('type' in one ? one.type : '')));
    const [started, ended] = ['TALK_STARTED', 'TALK_ENDED'].map(
      (type) => types.filter((one) => one === type).length,
    );
    if (started !== ended) throw new Error(`${ended} of ${started} bursts have ended`);
  });
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
