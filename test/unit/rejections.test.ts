// The lines of the log about handshakes that are closed at once.
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { closes } from '../../src/protocol/closes.js';
import { createRejections } from '../../src/relay/hub/rejections.js';

t.test(
  'ten lines a second are logged, one without a user, and the next one says how many more there were',
  async (t) => {
    let nowMs = 0;
    const lines: object[] = [];
    const { add: rejected } = createRejections({
      nowMs: () => nowMs,
      log: { info: (fields, message) => void lines.push({ ...fields, message }) },
    });
    const user = 'u1' as UserId;
    const from = { address: '192.0.2.7', client: null };
    rejected(from, closes.invalid_token);
    t.strictSame(lines, [{ ...from, code: 1008, reason: 'invalid token', message: 'handshake rejected' }]);
    for (let i = 0; i < 500; i++) rejected(from, closes.invalid_token);
    t.equal(lines.length, 1, 'strangers have a line of their own');
    for (let i = 0; i < 500; i++) rejected({ user, issuedAt: 1, ...from }, closes.overloaded);
    t.equal(lines.length, 11);
    nowMs = 999;
    rejected({ user, issuedAt: 1, ...from }, closes.overloaded);
    t.equal(lines.length, 11);
    nowMs = 1000;
    rejected({ user, issuedAt: 1, username: 'ann', ...from }, closes.device_disabled);
    rejected({ user, issuedAt: 1, ...from }, closes.restart);
    rejected(from, closes.invalid_token);
    t.match(lines.slice(11), [
      { username: 'ann', reason: 'device disabled', more: 491 },
      { reason: 'restart', more: undefined },
      { reason: 'invalid token', user: undefined, more: 500 },
    ]);
  },
);

t.test('of a user the last ten are kept, the newest first, and of all users a thousand', async (t) => {
  let nowMs = 0;
  const { add, of } = createRejections({ nowMs: () => nowMs, log: { info() {} } });
  const from = { address: '192.0.2.7', client: 'acme/1' };
  const idOf = (n: number) => `u${n}` as UserId;
  for (; nowMs < 12; nowMs++) add({ user: idOf(1), issuedAt: nowMs, ...from }, closes.invalid_token);
  for (let n = 0; n < 2000; n++) add(from, closes.invalid_token);
  const all = of(idOf(1));
  t.strictSame(
    all.map(({ issuedAt }) => issuedAt),
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2],
    'strangers push none out',
  );
  t.match(all[0], { ...from, close: closes.invalid_token, atMs: 11 });
  for (let n = 0; n < 999; n++) add({ user: idOf(2), issuedAt: n, ...from }, closes.overloaded);
  t.strictSame(
    of(idOf(1)).map(({ issuedAt }) => issuedAt),
    [11],
  );
});
