// Many sessions that watch at once: each has its turn, and speech does not wait for all of them.
import t, { type Test } from 'tap';
import type { DeviceId, UserId } from '../../src/ids.js';
import type { WatchInterval } from '../../src/protocol/codes.js';
import { Raisers } from '../../src/relay/members/raisers.js';
import { createPositions, type Positions } from '../../src/relay/positions/positions.js';
import type { WatchingSession } from '../../src/relay/positions/watch.js';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { clockAt } from '../helpers/relay/clocks.js';

const SESSIONS = 12;
/** Time (ms) that a message takes, of the 1 ms that a tick has. */
const SEND_MS = 0.6;

const STANDING = { lat: 1, lng: 1, alt: 0, speed: 0, course: null, accuracy: null, battery: null };
const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` as DeviceId;

const rowsOf = (ids: readonly DeviceId[]) => ({
  devices: ids.map((id) => ({ id, name: 'device', user: null, fix: null })),
  total: ids.length,
});

/** Sessions that watch one device each, with time that stands still but for messages, and `lookMs` for each look at one. */
async function watching(t: Test, { lookMs, intervals }: { lookMs: number; intervals: WatchInterval[] }) {
  let nowMs = 0;
  const positions: Positions = createPositions({
    reads: {
      ofTalkgroup: async () => ({ devices: [], total: 0 }),
      ofDevices: async (ids) => rowsOf(ids),
    },
    publisher: { publish: () => true, numSubscribers: () => 0 },
    fanout: { tell() {} },
    raisers: new Raisers(),
    counts: { published: 0, sent: 0, emergencies: 0, dropped: 0 },
    ...{ wants() {}, clock: clockAt(() => nowMs), log: { error: (_fields, message) => t.fail(message) } },
  });
  t.teardown(() => positions.close());
  const told = intervals.map(() => ({ lists: 0, positions: 0 }));
  /** Of each tick. */
  const begun: number[] = [];
  let lastMs = -1;
  const sessionOf = (index: number): WatchingSession => {
    const heard = told[index];
    if (heard === undefined) throw new RangeError(`${index}`);
    return {
      user: {
        id: `${index}` as UserId,
        memberships: new Map(),
        sessions: new Set(),
        withdrawn: false,
      } as never, // what a watch uses of it
      socket: {
        send() {
          nowMs += SEND_MS;
          heard.positions++;
          return 1;
        },
      } as never, // what a watch of devices uses of it
      reception: {
        get behind() {
          nowMs += lookMs;
          return null;
        },
      },
      telling: { whenRead: (act) => void setImmediate(act) },
      send() {
        const tick = Math.floor(performance.now() / 50);
        begun.push(tick === lastMs ? (begun.pop() ?? 0) + 1 : 1);
        lastMs = tick;
        nowMs += SEND_MS;
        heard.lists++;
      },
    };
  };
  const sessions = intervals.map((_, index) => sessionOf(index));
  const outcomes = await Promise.all(
    sessions.map((session, index) =>
      positions.watch(session, {
        ...{ kind: 'devices', ids: [idOf(index)], ref: index },
        intervalMs: intervals[index] ?? 1000,
      }),
    ),
  );
  t.strictSame(
    outcomes,
    outcomes.map(() => 'watching'),
  );
  let at = 0;
  return {
    begun,
    told,
    /** After a second of the relay's time each device has moved. */
    move(): void {
      nowMs += 1000;
      at++;
      positions.located(sessions.map((_, index) => ({ ...STANDING, deviceId: idOf(index), atMs: at })));
    },
  };
}

t.test('when messages to sessions take longer than a tick has, each session has its turn', async (t) => {
  const { begun, told, move } = await watching(t, { lookMs: 0, intervals: Array(SESSIONS).fill(1000) });
  t.ok(begun.length >= SESSIONS / 4, `begun in ${begun.length} ticks: ${begun}`);
  await eventually(async () => {
    move(); // all are due again, and the first ones could take every tick
    const counts = told.map((one) => one.positions);
    if (!counts.every((count) => count >= 3)) throw new Error(`${counts}`);
  });
});

t.test('sessions for which nothing is due do not use up the ticks of the one behind them', async (t) => {
  // A tick has time to look at four, and those with 10 s have nothing to send meanwhile.
  const intervals = [...Array(SESSIONS - 1).fill(10_000), 1000];
  const { told, move } = await watching(t, { lookMs: 0.3, intervals });
  for (let second = 1; second <= 5; second++) {
    move();
    await comesTrue('the last one is told', () => (told.at(-1)?.positions ?? 0) >= second);
  }
});

t.test('a user who leaves a talkgroup while its list changes is told of every device', async (t) => {
  for (const isLive of [false, true]) {
    let nowMs = 0;
    /** Of the first read, and of those when the own device has left. */
    const shown = [[idOf(0), idOf(1), idOf(2)]];
    const subscribed = new Set<string>();
    /** As a client keeps them. */
    const known = new Set<number>();
    const tell = (text: string) => {
      const { devices, gone = [] } = JSON.parse(text) as { devices?: { n: number }[]; gone?: number[] };
      if (devices !== undefined) known.clear(); // a whole list: no device comes later
      for (const { n } of devices ?? []) known.add(n);
      for (const n of gone) known.delete(n);
    };
    const talkgroup = { id: idOf(9), number: 9, withdrawn: false };
    const user = { id: 'ann', memberships: new Map(), sessions: new Set(), withdrawn: false };
    const membership = { user, talkgroup, granted: true } as never; // what a watch uses of it
    user.memberships.set(talkgroup.number, membership);
    let isGone = () => {};
    const gone = new Promise<void>((resolve) => {
      isGone = resolve;
    });
    const positions = createPositions({
      reads: {
        async ofTalkgroup() {
          const devices = shown.shift();
          if (devices === undefined) {
            // The list has changed then, and the next tick did not publish it yet.
            setImmediate(() => {
              positions.left(membership);
              isGone();
            });
            return rowsOf([idOf(1), idOf(2)]);
          }
          return rowsOf(devices);
        },
        ofDevices: async () => rowsOf([]),
      },
      publisher: {
        publish(topic, text) {
          if (subscribed.has(topic)) tell(String(text));
          return true;
        },
        numSubscribers: (topic) => Number(subscribed.has(topic)),
      },
      fanout: { tell() {} },
      raisers: new Raisers(),
      counts: { published: 0, sent: 0, emergencies: 0, dropped: 0 },
      ...{ wants() {}, clock: clockAt(() => nowMs), log: { error: (_fields, message) => t.fail(message) } },
    });
    t.teardown(() => positions.close());
    const session: WatchingSession = {
      user: user as never,
      socket: {
        subscribe: (topic: string) => subscribed.add(topic),
        unsubscribe: (topic: string) => subscribed.delete(topic),
      } as never,
      reception: { behind: null },
      telling: { whenRead: (act) => void setImmediate(act) },
      send: tell,
    };
    user.sessions.add(session);
    const asked = { kind: 'talkgroups', memberships: [membership], ref: 1, intervalMs: 1000 } as const;
    t.equal(await positions.watch(session, asked), 'watching');
    t.equal(known.size, 3);
    if (isLive) await comesTrue('it gets what is published', () => subscribed.size === 1);
    nowMs += 1000; // the list is read again
    await gone;
    t.strictSame([...known], []);
    t.equal(positions.watchers(), 0);
  }
});
