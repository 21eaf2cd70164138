// What is announced and not yet stored when the relay ends.
import t from 'tap';
import type { TalkgroupId, UserId } from '../../src/ids.js';
import { createEmergencies, type EmergencyWrites } from '../../src/relay/emergencies/emergencies.js';
import { Membership, Talkgroup, User } from '../../src/relay/members/members.js';

/** Two members of a talkgroup whose emergencies are written by `raise`; errors logged stand in `logged`. */
function calling(raise: EmergencyWrites['raise']) {
  const logged: string[] = [];
  const talkgroup = new Talkgroup({
    id: 'fire' as TalkgroupId,
    number: 1,
    name: 'fire',
    rotation_counter: 0,
    floor_mode: 'open',
    max_talk_ms: 0,
    emergencies: [],
  });
  const emergencies = createEmergencies({
    writes: { raise, acknowledge: async () => null, clear: async () => 'unknown' },
    talkgroups: new Map([[talkgroup.id, talkgroup]]),
    fanout: { event() {} },
    floor: { followEmergency() {} },
    noticed() {},
    nowMs: () => 0,
    log: { info() {}, error: (_fields, message) => logged.push(message) },
  });
  for (const username of ['ann', 'bob']) {
    const account = {
      id: username as UserId,
      username,
      role: 'user' as const,
      valid_from: 0,
      device_id: null,
      device_active: true,
      memberships: [],
    };
    emergencies.raise(new Membership(new User(account), talkgroup, 'depot'), {});
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
