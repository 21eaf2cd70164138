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
    const rejected = createRejections({
      nowMs: () => nowMs,
      log: { info: (fields, message) => void lines.push({ ...fields, message }) },
    });
    const user = 'u1' as UserId;
    const from = { address: '192.0.2.7', client: null };
    rejected(from, closes.invalid_token);
    t.strictSame(lines, [{ ...from, code: 1008, reason: 'invalid token', message: 'handshake rejected' }]);
    for (let i = 0; i < 500; i++) rejected(from, closes.invalid_token);
    t.equal(lines.length, 1, 'strangers have a line of their own');
    for (let i = 0; i < 500; i++) rejected({ user, ...from }, closes.overloaded);
    t.equal(lines.length, 11);
    nowMs = 999;
    rejected({ user, ...from }, closes.overloaded);
    t.equal(lines.length, 11);
    nowMs = 1000;
    rejected({ user, username: 'ann', ...from }, closes.device_disabled);
    rejected({ user, ...from }, closes.restart);
    rejected(from, closes.invalid_token);
    t.match(lines.slice(11), [
      { username: 'ann', reason: 'device disabled', more: 491 },
      { reason: 'restart', more: undefined },
      { reason: 'invalid token', user: undefined, more: 500 },
    ]);
  },
);
