// Emergencies over relays on one bus: announced everywhere at once, and kept until they are stored or cleared.
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { noticeOf } from '../../src/db/notice.js';
import type { UserId } from '../../src/ids.js';
import { relaySubject } from '../../src/relay/nodes/bus.js';
import { kinds } from '../../src/relay/nodes/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  directory,
  type Radio,
  type RelayOn,
  reached,
  reaching,
  relayOn,
  relaysWithRadios,
  settled,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';
import { runningTime } from '../helpers/within.js';

const GROUP = talkgroupIdOf(1);

/** All users are administrators. */
async function relays(t: Test, count: number) {
  const reads = directory('open', 'admin');
  return { reads, ...(await relaysWithRadios(t, count, reads)) };
}

async function asks(radio: Radio, message: Record<string, unknown>) {
  radio.says({ talkgroup_id: GROUP, ref: 1, ...message });
  return eventually(() => {
    const [answer] = radio.heard('OK', 'ERROR', 'SYNCED');
    if (answer === undefined) throw new Error('no answer');
    return answer as Record<string, unknown>;
  });
}
const raise = async (radio: Radio) => String((await asks(radio, { type: 'EMERGENCY_RAISE' })).emergency_id);
const clear = (radio: Radio, emergency_id: string) => asks(radio, { type: 'EMERGENCY_CLEAR', emergency_id });
const acknowledge = (radio: Radio, emergency_id: string) =>
  asks(radio, { type: 'EMERGENCY_ACK', emergency_id });
/** Ids and states in a snapshot. */
async function open(radio: Radio): Promise<Record<string, string>> {
  const { emergencies } = await asks(radio, { type: 'SYNC' });
  const list = emergencies as { emergency_id: string; state: string }[];
  return Object.fromEntries(list.map(({ emergency_id, state }) => [emergency_id, state]));
}
/** Resolves when the snapshot of each shows this. */
const shows = (expected: Record<string, string>, ...radios: readonly Radio[]) =>
  eventually(async () => {
    for (const radio of radios) {
      const shown = await open(radio);
      if (JSON.stringify(shown) !== JSON.stringify(expected)) {
        await delay(550); // the rate of SYNC
        throw new Error(`${JSON.stringify(shown)}, not ${JSON.stringify(expected)}`);
      }
    }
  });
/** The relay reads the talkgroup again, as it does with a change notification of the database. */
async function read({ relay }: RelayOn): Promise<void> {
  await relay.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: GROUP }));
}
const states = (radio: Radio) => radio.heard('EMERGENCY').map((one) => ('state' in one ? one.state : ''));

t.test('a relay without its database announces an emergency on every other one, at once', async (t) => {
  const { all, radios } = await relays(t, 3);
  const [a, b] = all;
  const [ann, bob, cid] = radios;
  a.database.isAway = true;
  const ranMs = runningTime(t);
  const id = await raise(ann);
  for (const radio of [bob, cid])
    t.match(await radio.hears('EMERGENCY'), {
      emergency_id: id,
      talkgroup_id: GROUP,
      user_id: /000000001000$/,
      username: '000',
      state: 'raised',
    });
  t.ok(ranMs() < 400, 'not with the next list');

  await read(b);
  await shows({ [id]: 'raised' }, bob);
  t.match(await open(await b.radio()), { [id]: 'raised' }, 'a radio that comes later is told');
  bob.heard('EMERGENCY');
  ann.speaks('help', { start: true, end: true });
  t.match(await bob.hears('TALK_STARTED'), { emergency: true, priority: 7 });
});

/** An emergency at the first of two relays, which is not stored. The second has no member of the talkgroup. */
async function raisedAtOne(t: Test) {
  const network = createMemoryNetwork();
  const reads = directory();
  const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
  await reached(a, b);
  const ann = await a.radio();
  a.database.isAway = true;
  return { network, b, id: await raise(ann) };
}

t.test('a relay that has no member yet names it in WELCOME of the first one that comes', async (t) => {
  const { b, id } = await raisedAtOne(t);
  for (const radio of [await b.radio(), await b.radio()]) {
    const { talkgroups } = await radio.hears('WELCOME');
    t.match(talkgroups, [{ number: 1, emergencies: [{ emergency_id: id, state: 'raised' }] }, {}]);
    t.strictSame(radio.heard('EMERGENCY'), []);
  }
});

t.test('a relay that gets no answer before WELCOME tells of it as soon as it has one', async (t) => {
  const { network, b, id } = await raisedAtOne(t);
  network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.here);
  const bob = await b.radio();
  t.match((await bob.hears('WELCOME')).talkgroups, [{ number: 1, emergencies: [] }, {}]);
  network.lose(() => false);
  t.match(await bob.hears('EMERGENCY'), { emergency_id: id, state: 'raised' });
});

t.test('a burst that runs elsewhere has the priority of its emergency, until that is cleared', async (t) => {
  const { all, radios } = await relays(t, 2);
  const [ann, bob] = radios;
  /** What WELCOME says of the burst to a radio that comes now. */
  const talkers = async () => {
    const { talkgroups } = await (await all[1].radio()).hears('WELCOME');
    return (talkgroups as { talkers: object[] }[])[0]?.talkers;
  };
  const said = async (text: string) => {
    ann.speaks(text, { start: text === 'before' });
    await eventually(() => {
      if (!bob.frames().includes(text)) throw new Error(`${text} was not heard`);
    });
  };
  await said('before');
  t.match(await talkers(), [{ priority: 1, emergency: false }]);
  const id = await raise(ann);
  await said('during');
  t.match(await talkers(), [{ priority: 7, emergency: true }]);
  await clear(ann, id);
  await said('after');
  t.match(await talkers(), [{ priority: 1, emergency: false }]);
});

t.test('once it is stored the next read decides', async (t) => {
  const { all, reads, radios } = await relays(t, 2);
  const [a, b] = all;
  const [ann, bob] = radios;
  a.database.isAway = true;
  const id = await raise(ann);
  await bob.hears('EMERGENCY');
  a.database.isAway = false;
  await eventually(() => {
    if (!reads.emergencies.has(id)) throw new Error('not stored');
  });
  await delay(700); // the list without it
  await read(b);
  await shows({ [id]: 'raised' }, bob);
  const one = reads.emergencies.get(id);
  if (one !== undefined) one.state = 'cleared'; // by REST
  await read(b);
  t.match(await bob.hears('EMERGENCY'), { emergency_id: id, state: 'cleared' });
});

t.test('an emergency outlives its relay: the others store it', async (t) => {
  const { all, reads, radios } = await relays(t, 3);
  const [a] = all;
  const [ann, bob, cid] = radios;
  a.database.isAway = true;
  const id = await raise(ann);
  await bob.hears('EMERGENCY');
  await acknowledge(cid, id);
  a.bus.cut();
  await eventually(() => {
    if (reads.emergencies.get(id)?.state !== 'acknowledged') throw new Error('not stored');
  });
  await shows({ [id]: 'acknowledged' }, bob, cid);
});

t.test('acknowledged and cleared on another relay than the one that raised it', async (t) => {
  const { all, reads, radios } = await relays(t, 3);
  const [ann, bob, cid] = radios;
  for (const { database } of all) database.isAway = true;
  const id = await raise(ann);
  await bob.hears('EMERGENCY');
  await acknowledge(bob, id);
  await shows({ [id]: 'acknowledged' }, ann, cid);
  await clear(cid, id);
  await shows({}, ann, bob, cid);
  for (const one of all) {
    one.database.isAway = false;
    await read(one);
  }
  await eventually(() => {
    if (reads.emergencies.get(id)?.state !== 'cleared') throw new Error('not stored');
  });
  await delay(700);
  t.strictSame(states(ann), ['raised', 'acknowledged', 'cleared'], 'each once');
  t.strictSame(states(cid), ['raised', 'acknowledged', 'cleared']);
});

t.test('a raise that comes behind the clearing opens nothing', async (t) => {
  const { network, all, radios } = await relays(t, 3);
  const [ann, bob, cid] = radios;
  for (const { database } of all) database.isAway = true;
  network.lose((from, to) => from === 0 && to === 2);
  const id = await raise(ann);
  await bob.hears('EMERGENCY');
  await clear(bob, id);
  await settled();
  network.lose(() => false);
  await shows({}, ann, bob, cid);
  await delay(700);
  t.strictSame(states(cid), [], 'it never saw it open');
});

t.test('lost messages are made up for by the next list', async (t) => {
  const { network, all, radios } = await relays(t, 2);
  const [a, b] = all;
  const [ann, bob] = radios;
  a.database.isAway = true;
  // The lists, and the answers to questions about it.
  const isOfEmergencies: Parameters<typeof network.lose>[0] = (_from, to, subject, bytes) =>
    bytes[0] === kinds.emergencies || (to === 1 && subject === relaySubject(2));
  network.lose(isOfEmergencies);
  const id = await raise(ann);
  await settled();
  t.strictSame(await open(bob), {});
  network.lose(() => false);
  t.match(await bob.hears('EMERGENCY'), { emergency_id: id });
  network.lose(isOfEmergencies); // also the list that says that it is stored
  const askedBefore = b.figures()?.counts.asked ?? 0;
  a.database.isAway = false;
  await delay(1200);
  network.lose(() => false);
  await eventually(async () => {
    if ((b.figures()?.counts.asked ?? 0) <= askedBefore) throw new Error('not asked');
  });
  await shows({ [id]: 'raised' }, bob);
});

t.test('a user is limited by what was raised on any relay', async (t) => {
  const { all, radios } = await relays(t, 2);
  const [a, b] = all;
  const [, bob] = radios;
  const user = '00000002-0000-4000-8000-000000009999' as UserId;
  const [here, there] = [await a.radio(user), await b.radio(user)];
  for (let round = 0; round < 3; round++) {
    const id = await raise(here);
    await eventually(() => {
      if (states(bob).length === 0) throw new Error('not heard');
    });
    await clear(here, id);
    await eventually(() => {
      if (!states(bob).includes('cleared')) throw new Error('not heard');
    });
  }
  t.match(await asks(there, { type: 'EMERGENCY_RAISE' }), { type: 'ERROR', code: 'rate_limited' });
});

t.test('in a split each side announces its own, and after it both are open everywhere', async (t) => {
  const { network, all, radios } = await relays(t, 2);
  const [a, b] = all;
  const [ann, bob] = radios;
  for (const { database } of all) database.isAway = true;
  network.lose(() => true);
  await reaching(0, a, b);
  const [one, two] = [await raise(ann), await raise(bob)];
  t.strictSame(await open(ann), { [one]: 'raised' });
  t.strictSame(await open(bob), { [two]: 'raised' });
  network.lose(() => false);
  t.match(await ann.hears('EMERGENCY'), { emergency_id: one });
  t.match(await ann.hears('EMERGENCY'), { emergency_id: two });
  t.match(await bob.hears('EMERGENCY'), { emergency_id: two });
  t.match(await bob.hears('EMERGENCY'), { emergency_id: one });
});
