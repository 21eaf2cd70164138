// What is announced and not yet stored: when the relay ends, and when other relays tell of theirs.
import t from 'tap';
import type { EmergencyState } from '../../src/protocol/codes.js';
import { UNSAVED_MAX } from '../../src/relay/cluster/bodies.js';
import { Listed } from '../../src/relay/cluster/listed.js';
import { createEmergencies, type EmergencyWrites } from '../../src/relay/emergencies/emergencies.js';
import { CLEARED_MS } from '../../src/relay/emergencies/known.js';
import type { UnsavedEmergency } from '../../src/relay/emergencies/messages.js';
import { Membership, Talkgroup, User } from '../../src/relay/members/members.js';
import { clockAt } from '../helpers/relay/clocks.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

/** Two members of a talkgroup whose emergencies are written by `raise`. Errors logged stand in `logged`. */
function calling(raise: EmergencyWrites['raise']) {
  const logged: string[] = [];
  const talkgroup = new Talkgroup(talkgroupRow());
  const emergencies = createEmergencies({
    writes: { raise, acknowledge: async () => null, clear: async () => 'unknown' },
    talkgroups: new Map([[talkgroup.id, talkgroup]]),
    fanout: { event() {} },
    floor: { followEmergency() {} },
    noticed() {},
    tell() {},
    clock: clockAt(() => 0),
    log: { info() {}, error: (_fields, message) => logged.push(message) },
  });
  for (const username of ['ann', 'bob']) {
    emergencies.raise(new Membership(new User(accountRow(username)), talkgroup, 'depot'), {});
  }
  return { emergencies, logged };
}

t.test(
  'what the database takes in time is stored before the relay ends, and not logged as lost',
  async (t) => {
    const stored: string[] = [];
    const { emergencies, logged } = calling(async (_talkgroup, { username }) => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      stored.push(username);
      return null;
    });
    await emergencies.close();
    t.strictSame(stored, ['ann', 'bob']);
    t.strictSame(logged, []);
  },
);

t.test('each emergency that the database does not take is logged as lost', async (t) => {
  const { emergencies, logged } = calling(() => new Promise(() => {}));
  await emergencies.close();
  t.strictSame(logged, Array(2).fill('emergency lost, relay closed'));
});

/** A relay that hears of emergencies of others, with what it announces, tells, writes and reads. */
function hearing() {
  const [announced, told, written]: [string[], string[], string[]] = [[], [], []];
  const talkgroup = new Talkgroup(talkgroupRow());
  let reads = 0;
  let nowMs = 0;
  const write = (what: string) => async (_first: unknown) => {
    written.push(what);
    return null;
  };
  const emergencies = createEmergencies({
    writes: {
      raise: write('raise'),
      acknowledge: write('acknowledge'),
      clear: async (id) => (await write('clear')(id)) ?? 'unknown',
    },
    talkgroups: new Map([[talkgroup.id, talkgroup]]),
    fanout: { event: (_feed, make) => void announced.push(JSON.parse(make(1)).state) },
    floor: { followEmergency() {} },
    noticed: () => void reads++,
    tell: (_talkgroup, { state }) => void told.push(state),
    clock: clockAt(() => nowMs),
    log: { info() {}, error() {} },
  });
  const one = (state: EmergencyState, id = 'one'): UnsavedEmergency => ({
    emergency_id: id,
    talkgroup_id: talkgroup.id,
    user_id: 'ann',
    username: 'ann',
    state,
    raised_at: '2026-01-01T00:00:00.000Z',
  });
  return {
    ...{ emergencies, talkgroup, announced, told, written, one },
    hears: (state: EmergencyState, relay = 1, id = 'one') =>
      emergencies.elsewhere.heard(talkgroup, one(state, id), relay),
    reads: () => reads,
    after(ms: number): void {
      nowMs += ms;
    },
  };
}

t.test('a raise that comes minutes after the clearing opens nothing, and is answered', async (t) => {
  const { emergencies, hears, after, announced, told } = hearing();
  hears('raised', 1);
  hears('cleared', 2);
  emergencies.elsewhere.stored('one', 1);
  emergencies.elsewhere.stored('one', 2);
  after(CLEARED_MS - 1000);
  hears('raised', 3, 'another');
  hears('raised', 3);
  t.strictSame(announced, ['raised', 'cleared', 'raised']);
  t.strictSame(told, ['cleared']);
  emergencies.elsewhere.stored('one', 3);
  after(CLEARED_MS);
  hears('raised', 3, 'a third');
  hears('raised', 3);
  t.strictSame(announced.slice(3), ['raised', 'raised'], 'after ten minutes it is forgotten');
});

t.test('what a read has shown is closed by a read, although its relay still lists it', async (t) => {
  const { emergencies, talkgroup, hears, announced } = hearing();
  hears('raised');
  emergencies.follow(talkgroup, []);
  t.strictSame(announced, ['raised'], 'not stored: the read does not count');
  const [row] = talkgroup.emergencies.values();
  emergencies.follow(talkgroup, row === undefined ? [] : [row]);
  emergencies.follow(talkgroup, []);
  t.strictSame(announced, ['raised', 'cleared']);
  hears('raised');
  t.strictSame(announced, ['raised', 'cleared']);
});

t.test('a clearing that is heard is stored behind the raise that is still to be stored here', async (t) => {
  const { emergencies, hears, written } = hearing();
  hears('raised');
  emergencies.elsewhere.lost('one', 1);
  hears('cleared', 2);
  await emergencies.close();
  t.strictSame(written, ['raise', 'clear']);
});

t.test('a read that shows an older state than another relay tells is not followed', async (t) => {
  const { emergencies, talkgroup, hears, announced, reads } = hearing();
  hears('raised');
  const rows = [...talkgroup.emergencies.values()];
  hears('acknowledged', 2);
  emergencies.follow(talkgroup, rows);
  t.strictSame(announced, ['raised', 'acknowledged']);
  emergencies.elsewhere.stored('one', 1);
  emergencies.elsewhere.stored('one', 2);
  t.equal(reads(), 2, 'then the next read decides');
  emergencies.follow(talkgroup, rows);
  t.strictSame(announced, ['raised', 'acknowledged', 'raised']);
});

t.test(
  'an answer that is older than the message before it says nothing about what that one told',
  async (t) => {
    const { emergencies, talkgroup, one } = hearing();
    const ended: string[] = [];
    const stored = (id: string) => void ended.push(id);
    const listed = new Listed({ relay: 1, talkgroup, emergencies: { ...emergencies.elsewhere, stored } });
    const none = { emergencies: [], isWhole: true };
    listed.hear({ emergencies: [one('raised')], isWhole: false }, 7, 0);
    listed.hear(none, 6, 0);
    t.strictSame(ended, []);
    listed.hear({ emergencies: [one('raised', 'other')], isWhole: false }, 8, 0);
    t.strictSame(ended, [], 'one that is told at once is not the whole list');
    t.equal(listed.isOverdue(1499), false);
    t.equal(listed.isOverdue(1500), true);
    listed.hear(none, 9, 1500);
    t.strictSame(ended, ['one', 'other']);
    t.equal(listed.isOverdue(9000), false);
  },
);

t.test(
  'more emergencies than a message takes are told page by page, and none is taken for stored',
  async (t) => {
    const { emergencies, talkgroup, hears } = hearing();
    for (let number = 0; number < 450; number++) {
      hears('raised', 1, `${number}`);
      emergencies.elsewhere.lost(`${number}`, 1);
    }
    const seen = new Set<string>();
    for (let turn = 0; turn < 100; turn++) {
      const list = emergencies.elsewhere.unsaved(talkgroup, UNSAVED_MAX);
      t.equal(list.isWhole, false);
      t.ok(list.emergencies.length <= 200);
      for (const { emergency_id } of list.emergencies) seen.add(emergency_id);
    }
    t.equal(seen.size, 450);
  },
);
