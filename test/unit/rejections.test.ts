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

t.test('of a user the last ten are kept, the newest first, and of a thousand users', async (t) => {
  let nowMs = 0;
  const { add, admitted, of } = createRejections({ nowMs: () => nowMs, log: { info() {} } });
  const from = { address: '192.0.2.7', client: 'acme/1' };
  const idOf = (n: number) => `u${n}` as UserId;
  const issuedOf = (n: number) => of(idOf(n)).rejected.map(({ issuedAt }) => issuedAt);
  for (; nowMs < 12; nowMs++) add({ user: idOf(1), issuedAt: nowMs, ...from }, closes.invalid_token);
  for (let n = 0; n < 2000; n++) {
    add(from, closes.invalid_token);
    add({ user: idOf(2), issuedAt: n, ...from }, closes.overloaded);
  }
  add({ user: idOf(1), issuedAt: 99, ...from }, closes.rate_limited);
  t.strictSame(issuedOf(1), [11, 10, 9, 8, 7, 6, 5, 4, 3, 2], 'others push none out, and the cause stays');
  t.match(of(idOf(1)).rejected[0], { ...from, close: closes.invalid_token, atMs: 11 });
  for (let n = 3; n < 1001; n++) add({ user: idOf(n), issuedAt: n, ...from }, closes.overloaded);
  t.equal(issuedOf(1).length, 10);
  add({ user: idOf(1001), issuedAt: 1, ...from }, closes.overloaded);
  t.strictSame(issuedOf(1), [], 'of one more user the oldest one goes');
  t.equal(of(idOf(1)).admittedAtMs, null);
  admitted(idOf(1));
  t.equal(of(idOf(1)).admittedAtMs, nowMs);
  for (let n = 0; n < 10_000; n++) admitted(idOf(n + 2));
  t.equal(of(idOf(1)).admittedAtMs, null, 'so many came since');
});

t.test('the close of a session is kept without a line, and counts with the others', async (t) => {
  const lines: string[] = [];
  const { add, keep, of } = createRejections({
    nowMs: () => 7,
    log: { info: (_fields, message) => void lines.push(message) },
  });
  const user = 'u1' as UserId;
  const from = { address: '192.0.2.7', client: 'acme/1' };
  keep({ user, issuedAt: 1, ...from }, closes.invalid_token);
  t.strictSame(lines, []);
  t.strictSame(of(user).rejected, [{ issuedAt: 1, ...from, close: closes.invalid_token, atMs: 7 }]);
  for (let n = 2; n < 12; n++) add({ user, issuedAt: n, ...from }, closes.unknown_user);
  t.equal(of(user).rejected.length, 10);
  t.equal(of(user).rejected.at(-1)?.issuedAt, 2);
});
