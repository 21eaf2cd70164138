// The lines of the log about handshakes that are closed at once.
import t from 'tap';
import { closes } from '../../src/protocol/closes.js';
import { createRejections } from '../../src/relay/hub/rejections.js';

t.test('ten lines a second are logged, and the next one says how many more there were', async (t) => {
  let nowMs = 0;
  const lines: object[] = [];
  const rejected = createRejections({
    nowMs: () => nowMs,
    log: { info: (fields, message) => void lines.push({ ...fields, message }) },
  });
  rejected({}, closes.invalid_token);
  t.strictSame(lines, [{ code: 1008, reason: 'invalid token', message: 'handshake rejected' }]);
  for (let i = 0; i < 500; i++) rejected({}, closes.overloaded);
  t.equal(lines.length, 10);
  nowMs = 999;
  rejected({}, closes.overloaded);
  t.equal(lines.length, 10);
  nowMs = 1000;
  rejected({ username: 'ann' }, closes.device_disabled);
  rejected({}, closes.restart);
  t.match(lines.slice(10), [
    { username: 'ann', reason: 'device disabled', more: 492 },
    { reason: 'restart', more: undefined },
  ]);
});
