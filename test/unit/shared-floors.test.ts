// Floors of `single` and `broadcast` over relays that share a bus: the radios hear what radios of one relay hear.

import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { noticeOf } from '../../src/db/notice.js';
import { readBody, type Started } from '../../src/relay/cluster/bodies.js';
import { HEADER_BYTES, kinds } from '../../src/relay/nodes/header.js';
import { createRandom } from '../helpers/cluster/world.js';
import { eventually } from '../helpers/eventually.js';
import { burstsHeard, floorPair, floorRelays, type Radio, story } from '../helpers/relay/floor-pair.js';
import { type RelayOn, settled, talkgroupIdOf } from '../helpers/relay/relays.js';
import { runningTime } from '../helpers/within.js';

t.setTimeout(300_000);

const about = { talkgroup_id: talkgroupIdOf(1) };
const request = (radio: Radio, over: object = {}) => radio.says({ type: 'FLOOR_REQUEST', ...about, ...over });
const release = (radio: Radio) => radio.says({ type: 'FLOOR_RELEASE', ...about });
const until = (is: () => boolean, what: string) =>
  eventually(() => {
    if (!is()) throw new Error(what);
  });
const numberOf = ({ session }: Radio) => session.number;

t.test('a talker is granted the floor by the relay that decides, and is heard on both', async (t) => {
  const { near, far } = await floorPair(t);
  const pressedAtMs = performance.now();
  far.speaks('one', { start: true });
  far.speaks('two');
  far.speaks('three', { end: true });
  await far.hears('FLOOR_GRANTED');
  // The first frame waits for so long, also when the machine stands still.
  const isInTime = performance.now() - pressedAtMs < 200;
  await near.hears('TALK_ENDED');
  const about = `${numberOf(far)}`;
  t.strictSame(
    story(near).filter((what) => isInTime || what !== 'one'),
    [
      `TALK_STARTED ${about}`,
      ...['one', 'two', 'three'].slice(isInTime ? 0 : 1),
      `TALK_ENDED ${about} released`,
    ],
  );
  t.strictSame(story(far), ['FLOOR_GRANTED', `TALK_STARTED ${about}`, `TALK_ENDED ${about} released`]);
});

t.test('a relay is told what a talker of another one asked for the floor with', async (t) => {
  for (const role of ['admin', 'user'] as const) {
    const { network, near, far } = await floorPair(t, { role });
    const told: (Started | null)[] = [];
    network.lose((_from, _to, _subject, bytes) => {
      if (bytes[0] === kinds.started) told.push(readBody('started', bytes.subarray(HEADER_BYTES)));
      return false;
    });
    far.speaks('one', { start: true, end: true });
    const { codec: _, ...heard } = { codec: null, ...(await near.hears('TALK_STARTED')) };
    t.match(told, [{ claim: { priority: 1, isAdmin: role === 'admin' } }]);
    t.notOk('claim' in heard || 'isAdmin' in heard, 'clients are not told');
  }
});

t.test('while one talks, another is busy and hears who talks, and so does one that comes', async (t) => {
  const { near, far, home, other } = await floorPair(t);
  for (const [talker, listener, there] of [
    [near, far, other],
    [far, near, home],
  ] as const) {
    talker.speaks('one', { start: true });
    await listener.hears('TALK_STARTED');
    const session = numberOf(talker);
    listener.speaks('mine', { start: true, end: true });
    t.match(await listener.hears('FLOOR_DENIED'), { code: 'busy', talker: { session } });
    request(listener, { ref: 7 });
    t.match(await listener.hears('FLOOR_DENIED'), { code: 'busy', ref: 7, talker: { session } });
    t.notOk('frames' in (listener.heard('FLOOR_DENIED')[0] as { talker: object }).talker);
    const welcome = await (await there.radio()).hears('WELCOME');
    t.match(welcome.talkgroups, [{ talkers: [{ session, frames: 1 }], talkers_total: 1 }, {}]);
    talker.speaks('two', { end: true });
    await listener.hears('TALK_ENDED');
    t.strictSame(listener.heard('frame').length, 2);
    talker.arrivals.length = 0;
    talker.messages.length = 0;
  }
});

t.test('one queue has the sessions of both, in the order in which they asked', async (t) => {
  const { near, far, home, other } = await floorPair(t);
  const [near2, far2] = [await home.radio(), await other.radio()];
  far.speaks('one', { start: true });
  await near.hears('TALK_STARTED');
  for (const [at, radio] of [near, far2, near2].entries()) {
    request(radio, { queue: true });
    t.match(await radio.hears('FLOOR_QUEUED'), { position: at + 1, size: at + 1 });
  }
  far.speaks('two', { end: true });
  await near.hears('FLOOR_GRANTED');
  t.match(await far2.hears('FLOOR_QUEUED'), { position: 1, size: 2 }, 'told of the new place');
  near.speaks('hers', { start: true, end: true });
  await far2.hears('FLOOR_GRANTED');
  release(far2);
  await near2.hears('FLOOR_GRANTED');
  release(near2);
  await settled();
  for (const radio of [near, far, near2, far2])
    t.strictSame(
      burstsHeard(t, radio).map(({ session }) => session),
      [numberOf(far), numberOf(near)],
    );
});

t.test(
  'no session gets the floor of a deleted talkgroup, before the relay that decides has read so either',
  async (t) => {
    const { reads, home, other, near, far } = await floorPair(t);
    far.speaks('one', { start: true });
    await near.hears('TALK_STARTED');
    request(near, { queue: true });
    await near.hears('FLOOR_QUEUED');
    reads.delete(1);
    const deleted = noticeOf({ kind: 'talkgroup_deleted', talkgroup: about.talkgroup_id });
    await other.relay.noticed(deleted);
    await near.hears('TALK_ENDED');
    await settled();
    await home.relay.noticed(deleted);
    await near.hears('TALKGROUP_LEFT');
    const session = numberOf(far);
    t.strictSame(story(near), [
      ...[`TALK_STARTED ${session}`, 'one', 'FLOOR_QUEUED'],
      ...[`TALK_ENDED ${session} deleted`, 'TALKGROUP_LEFT'],
    ]);
  },
);

t.test('a higher claim takes the floor from a talker of the other relay', async (t) => {
  const { near, far } = await floorPair(t, { role: 'admin' });
  for (const [talker, other] of [
    [near, far],
    [far, near],
  ] as const) {
    for (const radio of [near, far]) {
      radio.arrivals.length = 0;
      radio.messages.length = 0;
    }
    talker.speaks('one', { start: true });
    await other.hears('TALK_STARTED');
    request(other, { priority: 5 });
    t.match(await talker.hears('FLOOR_REVOKED'), { code: 'preempted' });
    await other.hears('FLOOR_GRANTED');
    talker.speaks('still');
    other.speaks('mine', { start: true });
    other.speaks('more', { end: true });
    for (const radio of [talker, other]) {
      await until(() => burstsHeard(t, radio)[1]?.code === 'released', 'both ended');
      t.match(burstsHeard(t, radio), [
        { session: numberOf(talker), code: 'preempted' },
        { session: numberOf(other), code: 'released' },
      ]);
    }
    t.strictSame(story(talker).slice(-4), [
      `TALK_STARTED ${numberOf(other)}`,
      ...['mine', 'more'],
      `TALK_ENDED ${numberOf(other)} released`,
    ]);
  }
});

t.test(
  'an emergency takes the floor from a talker of the other relay, before and while it talks',
  async (t) => {
    const { near, far, home } = await floorPair(t);
    near.speaks('one', { start: true });
    await far.hears('TALK_STARTED');
    far.says({ type: 'EMERGENCY_RAISE', ...about });
    await near.hears('EMERGENCY');
    far.speaks('help', { start: true });
    t.match(await near.hears('FLOOR_REVOKED'), { code: 'preempted' });
    await until(() => story(near).includes('help'), 'heard');
    t.match(burstsHeard(t, near).at(-1), { session: numberOf(far), frames: ['help'] });
    const third = await home.radio();
    request(third, { queue: true });
    await third.hears('FLOOR_QUEUED');
    third.says({ type: 'EMERGENCY_RAISE', ...about });
    request(near, { queue: true });
    t.match(await near.hears('FLOOR_QUEUED'), { position: 2 }, 'the emergency is served first');
    far.speaks('thanks', { end: true });
    await third.hears('FLOOR_GRANTED');
  },
);

t.test('in broadcast only an administrator or an emergency talks', async (t) => {
  const { near, far } = await floorPair(t, { mode: 'broadcast' });
  for (const [talker, other] of [
    [near, far],
    [far, near],
  ] as const) {
    for (const radio of [near, far]) radio.messages.length = 0;
    talker.speaks('one', { start: true });
    t.match(await talker.hears('FLOOR_DENIED'), { code: 'forbidden' });
    talker.says({ type: 'EMERGENCY_RAISE', ...about });
    await other.hears('EMERGENCY');
    talker.speaks('help', { start: true, end: true });
    await other.hears('TALK_ENDED');
    t.match(burstsHeard(t, other).at(-1), { session: numberOf(talker), frames: ['help'] });
  }
});

t.test('from open to single the oldest burst goes on though its relay tells its part late', async (t) => {
  const { network, reads, home, other, near, far } = await floorPair(t, { mode: 'open' });
  far.speaks('one', { start: true });
  await near.hears('TALK_STARTED');
  near.speaks('two', { start: true });
  await until(() => far.frames().includes('two'), 'both talk');
  let lost = 0;
  network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.part && lost++ < 4); // asked for every 40 ms
  reads.setMode('single');
  const change = { id: 'one', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) } as const;
  await Promise.all([home, other].map(({ relay }) => relay.noticed(change)));
  t.match(await near.hears('FLOOR_REVOKED'), { code: 'mode' });
  for (const radio of [near, far])
    t.match(await radio.hears('TALK_ENDED'), { session: numberOf(near), code: 'mode' });
  await settled();
  far.speaks('three', { end: true });
  t.match(await near.hears('TALK_ENDED'), { session: numberOf(far), code: 'released', frames: 2 });
  t.ok(lost >= 4, `${lost} parts`);
});

t.test(
  'from open to single the oldest burst goes on though the relays are slow to hear of each other',
  async (t) => {
    const { network, reads, home, other, near, far } = await floorPair(t, { mode: 'open' });
    far.speaks('one', { start: true });
    await near.hears('TALK_STARTED');
    near.speaks('two', { start: true });
    await until(() => far.frames().includes('two'), 'both talk');
    network.delay(200); // the age of a burst in a part is that of its departure
    reads.setMode('single');
    const change = { id: 'one', kind: 'talkgroup_changed', talkgroup: talkgroupIdOf(1) } as const;
    await Promise.all([home, other].map(({ relay }) => relay.noticed(change)));
    t.match(await near.hears('FLOOR_REVOKED'), { code: 'mode' });
    t.match(await far.hears('TALK_ENDED'), { session: numberOf(near), code: 'mode' });
  },
);

t.test('a silent burst of either relay ends', async (t) => {
  const { near, far } = await floorPair(t, { limits: { talkSilenceMs: 100 } });
  for (const talker of [near, far]) {
    const listener = talker === near ? far : near;
    talker.speaks('one', { start: true });
    t.match(await listener.hears('TALK_ENDED'), { code: 'silence' });
    t.match(await talker.hears('FLOOR_REVOKED'), { code: 'silence' });
  }
});

t.test('the talk limit ends a burst of either relay', async (t) => {
  // However slow the machine, no burst here ends by silence.
  const { near, far } = await floorPair(t, { maxTalkMs: 250, limits: { talkSilenceMs: 60_000 } });
  for (const talker of [near, far]) {
    const listener = talker === near ? far : near;
    request(talker);
    await talker.hears('FLOOR_GRANTED');
    talker.speaks('two', { start: true });
    const speaking = setInterval(() => talker.speaks('more'), 20);
    t.match(await listener.hears('TALK_ENDED'), { code: 'too_long' });
    clearInterval(speaking);
    t.match(await talker.hears('FLOOR_REVOKED'), { code: 'too_long' });
  }
});

t.test('of two that press at once one is granted and the other busy, 200 times', async (t) => {
  const { near, far, home, other } = await floorPair(t, { limits: { resumeMs: 0 } });
  const granted = new Map<number, number>();
  let [one, two] = [near, far];
  for (let time = 0; time < 200; time++) {
    if (time % 8 === 0) [one, two] = [await home.radio(), await other.radio()]; // 8 presses in 10 s are too many
    const pair = [one, two] as const;
    for (const radio of pair) {
      radio.messages.length = 0;
      radio.arrivals.length = 0;
    }
    two.speaks(`${time}`, { start: true });
    // The one beside the home has a start of up to three turns of the loop, or none.
    for (let turn = 0; turn < time % 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    one.speaks(`${time}`, { start: true });
    await until(
      () =>
        pair.every((radio) => radio.messages.some(({ type }) => /FLOOR_(GRANTED|DENIED)/.test(`${type}`))),
      'both are answered',
    );
    const winner = pair.find((radio) => radio.messages.some(({ type }) => type === 'FLOOR_GRANTED')) as Radio;
    const loser = winner === one ? two : one;
    t.equal(loser.messages.filter(({ type }) => type === 'FLOOR_GRANTED').length, 0);
    t.match(await loser.hears('FLOOR_DENIED'), { code: 'busy' });
    winner.speaks('end', { end: true });
    for (const radio of pair) {
      await radio.hears('TALK_ENDED');
      t.match(burstsHeard(t, radio), [{ session: numberOf(winner), code: 'released' }]);
    }
    t.strictSame(burstsHeard(t, loser)[0]?.frames, [`${time}`, 'end']);
    granted.set(winner === one ? 0 : 1, (granted.get(winner === one ? 0 : 1) ?? 0) + 1);
  }
  t.equal(granted.size, 2, 'not always the same one');
  t.match(home.figures()?.floors, { unanswered: 0, collisions: 0 });
});

t.test(
  'the relay that decides is killed while another one talks: it talks on, and a third is busy',
  async (t) => {
    const { relays, radios } = await floorRelays(t, 3);
    const [home] = relays as [RelayOn, RelayOn, RelayOn];
    const [, talker, third] = radios as [Radio, Radio, Radio];
    talker.speaks('0', { start: true });
    await third.hears('TALK_STARTED');
    home.bus.cut();
    const speaking = setInterval(() => talker.speaks('more'), 20);
    await delay(50);
    request(third);
    t.match(await third.hears('FLOOR_DENIED'), { code: 'retry_later', retry_ms: 500 });
    await until(() => relays[1]?.figures()?.peers === 1 && relays[2]?.figures()?.peers === 1, 'it is down');
    await delay(500);
    request(third);
    t.match(await third.hears('FLOOR_DENIED'), { code: 'busy', talker: { session: numberOf(talker) } });
    request(third, { queue: true });
    await third.hears('FLOOR_QUEUED');
    clearInterval(speaking);
    talker.speaks('end', { end: true });
    await third.hears('FLOOR_GRANTED');
    third.speaks('mine', { start: true, end: true });
    for (const radio of [talker, third]) {
      await until(
        () => burstsHeard(t, radio).length === 2 && burstsHeard(t, radio)[1]?.code !== null,
        'both',
      );
      t.match(burstsHeard(t, radio), [
        { session: numberOf(talker), code: 'released' },
        { session: numberOf(third), code: 'released' },
      ]);
    }
    t.strictSame(third.heard('MISSED'), [], 'nothing of it was lost');
  },
);

t.test('a user in an emergency is granted the floor at once where the home does not answer', async (t) => {
  const { network, near, far } = await floorPair(t);
  far.says({ type: 'EMERGENCY_RAISE', ...about });
  await near.hears('EMERGENCY');
  network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.verdicts);
  const pressedAtMs = performance.now();
  const ranMs = runningTime(t);
  far.speaks('help', { start: true });
  await far.hears('TALK_STARTED');
  t.ok(performance.now() - pressedAtMs >= 200);
  t.ok(ranMs() < 900);
  far.speaks('more');
  await settled();
  t.strictSame(near.frames(), [], 'elsewhere with the word of the home');
  network.lose(() => false);
  await near.hears('TALK_STARTED');
  far.speaks('thanks', { end: true });
  await near.hears('TALK_ENDED');
  t.strictSame(near.frames().at(-1), 'thanks');
  t.strictSame(near.heard('MISSED'), []);
  burstsHeard(t, near);
});

t.test(
  'a grant that was overtaken is revoked at its first frame, and the next press is answered',
  async (t) => {
    const { network, near, far } = await floorPair(t);
    request(far);
    await far.hears('FLOOR_GRANTED');
    let lost = 0;
    network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.verdicts && ++lost > 0);
    near.says({ type: 'EMERGENCY_RAISE', ref: 1, ...about });
    await far.hears('EMERGENCY');
    near.speaks('help', { start: true });
    await far.hears('TALK_STARTED');
    far.speaks('too late', { start: true });
    t.match(await far.hears('FLOOR_REVOKED'), { code: 'collision' });
    t.ok(lost > 0, 'its home took the grant away, and the word of it was lost');
    network.lose(() => false);
    far.speaks('again', { start: true, end: true });
    t.match(await far.hears('FLOOR_DENIED'), { code: 'busy' });
    near.speaks('end', { end: true });
    await far.hears('TALK_ENDED');
    far.speaks('mine', { start: true, end: true });
    await until(() => story(near).includes(`TALK_STARTED ${numberOf(far)}`), 'the next press is granted');
  },
);

t.test('where the home does not answer, an emergency does not cut another one that is heard', async (t) => {
  for (const isRaisedBefore of [true, false]) {
    const { network, relays, radios } = await floorRelays(t, 3);
    const [, talker, far] = radios as [Radio, Radio, Radio];
    const listener = await (relays[2] as RelayOn).radio();
    const raises = async () => {
      talker.says({ type: 'EMERGENCY_RAISE', ref: 1, ...about });
      await far.hears('EMERGENCY');
    };
    if (isRaisedBefore) await raises();
    talker.speaks('help', { start: true });
    await far.hears('TALK_STARTED');
    if (!isRaisedBefore) await raises();
    const speaking = setInterval(() => talker.speaks('help'), 20);
    t.teardown(() => clearInterval(speaking));
    network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.verdicts);
    far.says({ type: 'EMERGENCY_RAISE', ref: 1, ...about });
    await far.hears('EMERGENCY');
    far.speaks('me too', { start: true });
    t.match(await far.hears('FLOOR_DENIED'), { code: 'retry_later' });
    clearInterval(speaking);
    talker.speaks('end', { end: true });
    await listener.hears('TALK_ENDED');
    t.match(burstsHeard(t, listener), [{ session: numberOf(talker), code: 'released' }]);
  }
});

t.test('two sides that cannot reach each other have a floor each, and one when they can again', async (t) => {
  const { home, other, near, far } = await floorPair(t);
  other.bus.cut();
  await until(() => home.figures()?.peers === 0 && other.figures()?.peers === 0, 'a cut');
  const speaking = [near, far].map((radio, at) => {
    radio.speaks(`${at}`, { start: true });
    return setInterval(() => radio.speaks(`${at}`), 20);
  });
  await near.hears('TALK_STARTED');
  await far.hears('TALK_STARTED');
  other.bus.mend();
  const isRevoked = ({ messages }: Radio) => messages.some(({ type }) => type === 'FLOOR_REVOKED');
  await until(() => isRevoked(near) || isRevoked(far), 'neither is cut off');
  const revoked = isRevoked(near) ? near : far;
  t.match(await revoked.hears('FLOOR_REVOKED'), { code: 'collision' });
  const kept = revoked === near ? far : near;
  await revoked.hears('TALK_STARTED');
  for (const each of speaking) clearInterval(each);
  kept.speaks('end', { end: true });
  await until(() => burstsHeard(t, revoked).at(-1)?.code === 'released', 'the end');
  t.match(burstsHeard(t, revoked), [
    { session: numberOf(revoked), code: 'collision' },
    { session: numberOf(kept), code: 'released' },
  ]);
  t.match(burstsHeard(t, kept), [{ session: numberOf(kept), code: 'released' }]);
  t.equal((home.figures()?.floors.collisions ?? 0) + (other.figures()?.floors.collisions ?? 0), 1);
  t.strictSame(kept.heard('FLOOR_REVOKED'), []);
});

t.test(
  'of a talker that runs, a relay that comes later tells its radios what TALK_STARTED has, and no more',
  async (t) => {
    const { home, other, near, far } = await floorPair(t);
    other.bus.cut();
    await until(() => home.figures()?.peers === 0 && other.figures()?.peers === 0, 'a cut');
    near.speaks('one', { start: true });
    const own = await near.hears('TALK_STARTED');
    other.bus.mend();
    const { event: _, ...told } = await far.hears('TALK_STARTED');
    const { event: __, ...said } = own;
    t.strictSame(told, said);
  },
);

t.test('any bytes about a floor are read without a throw, and counted', async (t) => {
  const { network, home, other, near, far } = await floorPair(t);
  const random = createRandom(Math.floor(Math.random() * 2 ** 31));
  const about = new Set<number>([kinds.part, kinds.verdicts, kinds.want, kinds.started, kinds.ended]);
  network.lose((_from, _to, _subject, bytes) => {
    if (!about.has(bytes[0] ?? 0) || random.chance(0.3)) return false;
    const at = 12 + random.below(bytes.length - 16);
    bytes[at < 28 ? at : at + 4] = random.below(256); // all but the database, which is another one then
    return false;
  });
  const unreadable = () => [home, other].map((one) => one.figures()?.counts.unreadable ?? 0);
  // Most changed bytes can be read: now and then forty presses bring one side none that cannot.
  for (let press = 0; press < 40 || (press < 1000 && !unreadable().every((count) => count > 0)); press++) {
    const radio = random.pick([near, far]);
    radio.speaks('first', { start: true });
    radio.speaks('last', { end: true });
    request(radio, { queue: random.chance(0.5) });
    release(radio);
    await delay(5);
  }
  t.ok(unreadable().every((count) => count > 0));
  network.lose(() => false);
  await delay(600); // the mute after a denial
  await until(() => home.figures()?.peers === 1 && other.figures()?.peers === 1, 'both are up');
});

t.test('a burst that arrives before the end of the one before it waits for that end', async (t) => {
  const { network, relays, radios } = await floorRelays(t, 3, { role: 'admin' });
  const [home, far, third] = radios as [Radio, Radio, Radio];
  const at = [home, far, third].map((radio) => Math.floor(numberOf(radio) / 1000) - 1);
  far.speaks('one', { start: true });
  await third.hears('TALK_STARTED');
  // What the talker says comes 60 ms late to the other two, and what the home says at once.
  network.delayOf((from) => (from === at[1] ? 60 : 0));
  far.speaks('two');
  request(home, { priority: 5 });
  await home.hears('FLOOR_GRANTED');
  home.speaks('mine', { start: true, end: true });
  for (const radio of radios) {
    await until(() => burstsHeard({ fail: () => false }, radio).at(-1)?.code === 'released', 'the end');
    t.match(burstsHeard(t, radio), [
      { session: numberOf(far), frames: radio === far ? [] : ['one', 'two'], code: 'preempted' },
      { session: numberOf(home), frames: radio === home ? [] : ['mine'], code: 'released' },
    ]);
  }
  t.ok(
    relays.some((relay) => (relay.figures()?.counts.held ?? 0) > 0),
    'it was held back',
  );
});

t.test('an end that is lost holds the next talker up for a moment only', async (t) => {
  const { network, near, far } = await floorPair(t, { role: 'admin' });
  far.speaks('one', { start: true });
  await near.hears('TALK_STARTED');
  network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.ended);
  const ranMs = runningTime(t);
  request(near, { priority: 5 });
  await near.hears('FLOOR_GRANTED');
  t.ok(ranMs() < 1500, 'a burst without frames is asked about after 2.5 s');
  near.speaks('mine', { start: true });
  await far.hears('TALK_STARTED');
  t.match(
    burstsHeard(t, near).map(({ code }) => code),
    ['preempted', null],
  );
});

t.test('frames lost with the end of their burst are missed, and the end is the true one', async (t) => {
  for (const talks of ['near', 'far'] as const)
    for (const begins of [false, true]) {
      const { network, near, far } = await floorPair(t, { limits: { resumeMs: 0 } });
      const [talker, listener] = talks === 'near' ? [near, far] : [far, near];
      talker.speaks('1', { start: true });
      await listener.hears('TALK_STARTED');
      await until(() => listener.heard('frame').length === 1, 'its first frame');
      const lost: unknown[] = [];
      network.lose((_from, _to, _subject, [kind]) => {
        const isLost = kind === kinds.frame || kind === kinds.ended;
        if (isLost) lost.push(kind);
        return isLost;
      });
      talker.speaks('2');
      talker.speaks('3', { end: true });
      await until(() => lost.length === 3, 'two frames and the end are lost');
      network.lose(() => false);
      if (begins) talker.speaks('1', { start: true });
      const session = numberOf(talker);
      t.match(await listener.hears('TALK_ENDED'), { session, burst: 1, code: 'released', frames: 3 });
      t.match(await listener.hears('MISSED'), { session, burst: 1, missed: 2 });
      if (!begins) continue;
      await listener.hears('TALK_STARTED');
      talker.speaks('2', { end: true });
      t.match(await listener.hears('TALK_ENDED'), { session, burst: 2, code: 'released', frames: 2 });
    }
});

t.test('when the relay of the talker is lost, its burst ends and another one talks', async (t) => {
  for (const lost of ['home', 'other'] as const) {
    const { home, other, near, far } = await floorPair(t);
    const [talker, listener] = lost === 'home' ? [near, far] : [far, near];
    talker.speaks('one', { start: true });
    await listener.hears('TALK_STARTED');
    (lost === 'home' ? home : other).bus.cut();
    t.match(await listener.hears('TALK_ENDED'), { code: 'disconnected' });
    await until(() => {
      listener.speaks('mine', { start: true });
      return listener.messages.some(({ type }) => type === 'FLOOR_GRANTED');
    }, 'granted');
    t.match(
      burstsHeard(t, listener).map(({ session, code }) => [session, code]),
      [
        [numberOf(talker), 'disconnected'],
        [numberOf(listener), null],
      ],
    );
  }
});
