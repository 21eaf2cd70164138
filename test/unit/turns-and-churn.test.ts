// Sockets that come and go by the hundred, with a clock and an engine of the test's own.
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import { encodeFrame, START } from '../../src/protocol/frame.js';
import { createChurn } from '../../src/relay/delivery/churn.js';
import { byTurns } from '../../src/relay/websocket/by-turns.js';
import { claimsOf, quietPeer, relayAlone, seated } from '../helpers/relay/relay-alone.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

t.test('with a hundred within 50 ms churn is high, and for a second more', async (t) => {
  let nowMs = 0;
  const churn = createChurn(() => nowMs);
  const pass = (sockets: number) => {
    for (let socket = 0; socket < sockets; socket++) churn.passes();
  };
  t.notOk(churn.isHigh(0));
  for (nowMs = 0; nowMs < 10_000; nowMs += 51) pass(99);
  t.notOk(churn.isHigh(nowMs), '99 in 51 ms for ten seconds are none');
  pass(99);
  nowMs += 50;
  pass(1);
  t.ok(churn.isHigh(nowMs));
  t.ok(churn.isHigh(nowMs + 999));
  t.notOk(churn.isHigh(nowMs + 1000));
  nowMs += 500;
  pass(100);
  t.ok(churn.isHigh(nowMs + 999), 'the next hundred make it last');
});

t.test('what is due for many is done in the order they came, a hundred in a turn', async (t) => {
  const done: number[] = [];
  const take = byTurns<{ number: number }>(({ number }) => done.push(number));
  for (let number = 0; number < 250; number++) take({ number });
  t.equal(done.length, 0, 'nothing in the turn in which they come');
  await nextTurn();
  t.equal(done.length, 100);
  take({ number: 250 });
  await nextTurn();
  t.equal(done.length, 200);
  await nextTurn();
  t.strictSame(
    done,
    Array.from({ length: 251 }, (_, number) => number),
  );
  take({ number: 251 });
  await nextTurn();
  t.equal(done.length, 252, 'and who comes later');

  done.length = 0;
  for (let number = 0; number < 10_000; number++) take({ number });
  await nextTurn();
  t.equal(done.length, 2500, 'a quarter of those who wait when that is more');
  let turns = 1;
  for (; done.length < 10_000; turns++) await nextTurn();
  t.ok(turns < 20, `${turns} turns for all`);
});

const talkgroup = talkgroupRow({ id: '00000000-0000-4000-8000-000000000001' as TalkgroupId });
const account = accountRow('ann', { memberships: [talkgroup] });

/** A relay without an engine, and radios in its one talkgroup, as many as are asked for. */
function relayOf(t: Test, options: Partial<Parameters<typeof relayAlone>[1]> = {}) {
  let number = 0;
  const relay = relayAlone(t, {
    reads: { accountsOf: async () => [account], talkgroupsOf: async () => [] },
    takeNumber: () => ++number,
    publisher: { publish: () => true, numSubscribers: () => 1 },
    ...options,
  });
  t.teardown(() => relay.close());

  /** `heard`: frames sent to it alone. `published`: its own to the topic. `pinged` is told of each ping. */
  async function radio(pinged: () => void = () => {}) {
    const counted = { heard: 0, published: 0 };
    const peer = quietPeer({
      send(message, isBinary) {
        if (isBinary && message instanceof ArrayBuffer) counted.heard++;
        return 1;
      },
      publish: () => ++counted.published > 0,
      ping() {
        pinged();
        return 1;
      },
    });
    const session = await seated(relay, claimsOf('ann'), peer);
    const speak = (flags = START) => {
      const frame = encodeFrame({ sequence: 0, talkgroup: 1, payload: new Uint8Array(1), flags });
      return session.receiveAudio(new Uint8Array(frame).buffer);
    };
    return Object.assign(counted, { session, speak });
  }

  return { relay, radio };
}

t.test('while churn is high audio goes to each receiver as it comes, else by the engine', async (t) => {
  let nowMs = 100_000;
  const { relay, radio } = relayOf(t, { clock: { nowMs: () => nowMs } });
  const [talker, listener, events] = [await radio(), await radio(), await radio()];
  const subscribe = { type: 'SUBSCRIBE', talkgroup_ids: [talkgroup.id], mode: 'events' };
  events.session.receiveText(new Uint8Array(Buffer.from(JSON.stringify(subscribe))).buffer);
  const counts = () => [talker.published, talker.heard, listener.heard, events.heard];

  t.ok(talker.speak());
  t.strictSame(counts(), [1, 0, 0, 0]);
  for (let socket = 0; socket < 100; socket++) relay.churn.passes();
  t.ok(talker.speak());
  t.strictSame(counts(), [1, 0, 1, 0], 'to the listener, not to who talks, not to who wants no audio');
  nowMs += 1000;
  t.ok(talker.speak());
  t.strictSame(counts(), [2, 0, 1, 0]);
});

t.test('of pings that are due at once a hundred go in a turn, and all in the end', async (t) => {
  let nowMs = 100_000;
  const { radio } = relayOf(t, {
    clock: { nowMs: () => nowMs },
    limits: { lagPingMs: 50, socketsPerUser: 500 },
  });
  const listeners = 350;
  let turn = 0;
  const pings = new Map<number, number>();
  const all = new Set<number>();
  const talker = await radio();
  for (let each = 0; each < listeners; each++) {
    await radio(() => {
      pings.set(turn, (pings.get(turn) ?? 0) + 1);
      all.add(each);
    });
  }
  pings.clear(); // those behind each WELCOME
  all.clear();
  nowMs += 50; // and no more: all are due once
  t.ok(talker.speak());
  for (; all.size < listeners; turn++) await nextTurn();
  // Of these no more can be said: on a machine that stands still meanwhile the next pulse sends the rest.
  const [first = 0] = pings.values();
  t.ok(first >= 99 && first <= 100, `${[...pings.values()]}`); // the talker, who hears no one, may be one of them
  t.equal(
    [...pings.values()].reduce((sum, one) => sum + one),
    listeners,
  );
});

t.test('pings keep their rate where turns are long, and none are made good later', async (t) => {
  const { radio } = relayOf(t, { limits: { lagPingMs: 500, socketsPerUser: 2000, upgradesWaiting: 2000 } });
  const listeners = 1500;
  let pings = 0;
  const talker = await radio();
  await Promise.all(Array.from({ length: listeners }, () => radio(() => pings++)));
  const turns = async (count: number, ms: number) => {
    for (let turn = 0; turn < count; turn++) {
      const untilMs = performance.now() + ms;
      while (performance.now() < untilMs); // a long turn
      t.ok(talker.speak(0), 'in one burst all along');
      await nextTurn();
    }
  };
  await turns(2, 100);
  pings = 0;
  await turns(20, 100); // 100 ms of pings, a fifth of all, are due in each
  t.ok(pings > 0.6 * 20 * 0.2 * listeners, `${pings} pings`);
  pings = 0;
  const fromMs = performance.now();
  await turns(3, 0);
  // On a machine that stands still meanwhile more are due.
  const dueMax = (0.4 + (performance.now() - fromMs) / 500) * listeners;
  t.ok(pings <= dueMax, `${pings} pings, of ${Math.round(dueMax)} that may be due`);
});
