// The question to all relays: how long it may take while the database is slow.
import t from 'tap';
import type { Database } from '../../src/db/client.js';
import { type Deadline, deadlineIn } from '../../src/db/deadline.js';
import { askRelays } from '../../src/db/session-reports.js';
import type { UserId } from '../../src/ids.js';

t.test('a question that the database does not answer gets no further time to delete its rows', async (t) => {
  const given: Deadline[] = [];
  const slow = {
    write(deadline: Deadline) {
      given.push(deadline);
      return Promise.reject(new Error('no answer'));
    },
  } as unknown as Database; // all that is asked of it
  const deadline = deadlineIn(2500);
  await t.rejects(
    askRelays(slow, () => deadline, { user: 'u1' as UserId, talkgroup: null }),
    /no answer/,
  );
  t.strictSame(given, [deadline, deadline]);
});
