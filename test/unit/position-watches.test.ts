// Many sessions that watch at once: each has its turn, and speech does not wait for all of them.
import t from 'tap';
import type { DeviceId, UserId } from '../../src/ids.js';
import { Raisers } from '../../src/relay/members/raisers.js';
import { createPositions, type Positions } from '../../src/relay/positions/positions.js';
import type { WatchingSession } from '../../src/relay/positions/watch.js';
import { eventually } from '../helpers/eventually.js';

const SESSIONS = 12;
/** Time (ms) that a message takes, of the 1 ms that a tick has. */
const SEND_MS = 0.6;

const STANDING = { lat: 1, lng: 1, alt: 0, speed: 0, course: null, accuracy: null, battery: null };
const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` as DeviceId;

t.test('when messages to sessions take longer than a tick has, each session has its turn', async (t) => {
  let nowMs = 0;
  const positions: Positions = createPositions({
    reads: {
      ofTalkgroup: async () => ({ devices: [], total: 0 }),
      ofDevices: async (ids) => ({
        devices: ids.map((id) => ({ id, name: 'device', user: null, fix: null })),
        total: ids.length,
      }),
    },
    publisher: { publish: () => true, numSubscribers: () => 0 },
    fanout: { tell() {} },
    raisers: new Raisers(),
    counts: { published: 0, sent: 0, emergencies: 0, dropped: 0 },
    ...{ wants() {}, nowMs: () => nowMs, log: { error: (_fields, message) => t.fail(message) } },
  });
  t.teardown(() => positions.close());
  const told = Array.from({ length: SESSIONS }, () => ({ lists: 0, positions: 0 }));
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
      reception: { behind: null },
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
  const sessions = Array.from({ length: SESSIONS }, (_, index) => sessionOf(index));
  const outcomes = await Promise.all(
    sessions.map((session, index) =>
      positions.watch(session, { kind: 'devices', ids: [idOf(index)], intervalMs: 1000, ref: index }),
    ),
  );
  t.strictSame(
    outcomes,
    outcomes.map(() => 'watching'),
  );
  t.ok(begun.length >= SESSIONS / 4, `begun in ${begun.length} ticks: ${begun}`);
  let at = 0;
  await eventually(async () => {
    // All are due again, and the first ones could take every tick.
    nowMs += 1000;
    at++;
    positions.located(sessions.map((_, index) => ({ ...STANDING, deviceId: idOf(index), atMs: at })));
    const counts = told.map((one) => one.positions);
    if (!counts.every((count) => count >= 3)) throw new Error(`${counts}`);
  });
});
