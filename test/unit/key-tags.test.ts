// The tags with which nodes tell whether they accept the same tokens.
import { createHmac } from 'node:crypto';
import t from 'tap';
import { keyTags } from '../../src/credentials/key-tags.js';

const OLD = 'the-old-key-of-at-least-32-bytes-0';
const NEW = 'the-new-key-of-at-least-32-bytes-1';

t.test('a key has the same tag on every node, first or second', async (t) => {
  const [old] = keyTags({ JWT_SECRET: OLD });
  const expected = createHmac('sha256', OLD)
    .update('talkgroup radio: key of tokens')
    .digest('hex')
    .slice(0, 8);
  t.equal(old?.toString(16).padStart(8, '0'), expected);
  t.strictSame(keyTags({ JWT_SECRET: NEW, JWT_SECRET_PREVIOUS: OLD })[1], old);
  t.not(keyTags({ JWT_SECRET: NEW })[0], old);
});

t.test('a generated key has no tag, because it belongs to one node', async (t) => {
  t.strictSame(keyTags({}), []);
});
