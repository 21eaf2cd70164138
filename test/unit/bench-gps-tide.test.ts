// When gps-tide says that the database holds the wrong fix of a device.
import t from 'tap';
import { isRight } from '../../bench/scenarios/gps-tide.js';

/** From each fix's times: sent, and acknowledged or never. */
const account = (...fixes: readonly (readonly [sentMs: number, storedMs: number | null])[]) => ({
  deviceId: 'd',
  fixes: fixes.map(([sentMs, storedMs]) => ({ sentMs, storedMs })),
});

t.test('the newest acknowledged fix must be held, or one that may have come after it', async (t) => {
  const oneByOne = account([0, 10], [20, 30], [40, 50]);
  t.ok(isRight(oneByOne, 3));
  t.notOk(isRight(oneByOne, 2), 'an acknowledged fix is gone');
  t.notOk(isRight(oneByOne, 0), 'all are gone');
  t.notOk(isRight(oneByOne), 'there is no fix at all');
  t.notOk(isRight(oneByOne, 4), 'nobody sent this one');
});

t.test('of fixes under way together either may be the last', async (t) => {
  const together = account([0, 10], [20, 45], [40, 50]);
  t.ok(isRight(together, 2));
  t.ok(isRight(together, 3));
  t.notOk(isRight(together, 1));
});

t.test('a fix that was never acknowledged may be held or not', async (t) => {
  const unanswered = account([0, 10], [20, null]);
  t.ok(isRight(unanswered, 1));
  t.ok(isRight(unanswered, 2));
  t.ok(isRight(account([0, null]), 0));
});
