// What is announced and not yet stored when the relay ends.
import t from 'tap';
import { createEmergencies, type EmergencyWrites } from '../../src/relay/emergencies/emergencies.js';
import { Membership, Talkgroup, User } from '../../src/relay/members/members.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

/** Two members of a talkgroup whose emergencies are written by `raise`; errors logged stand in `logged`. */
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
    nowMs: () => 0,
    log: { info() {}, error: (_fields, message) => logged.push(message) },
  });
  for (const username of ['ann', 'bob']) {
    emergencies.raise(new Membership(new User(accountRow(username)), talkgroup, 'depot'), {});
  }
  return { emergencies, logged };
}

t.test(
  'what the database takes in time is stored before the relay ends, and nobody says otherwise',
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
