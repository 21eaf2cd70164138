// Wrapped secrets: what comes back, and that nothing but the right bytes, talkgroup and key brings it back.
import { createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import { createKeyring, readKeys, type StoredSecret } from '../../src/keys/wrapping.js';

const newKey = () => createSecretKey(randomBytes(32));
const newId = () => randomUUID() as TalkgroupId;

const hexOf = (bytes: Buffer | string) => Buffer.from(bytes).toString('hex');
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(Buffer.from);
const aKey = bytes(32).map((drawn) => createSecretKey(drawn));
const anId = fc.uuid().map((id) => id as TalkgroupId);

t.test('what was wrapped comes back, whatever else is on the ring, and by its key alone', async (t) => {
  fc.assert(
    fc.property(
      bytes(32),
      anId,
      fc.uniqueArray(aKey, { minLength: 1, maxLength: 4, comparator: (a, b) => a.equals(b) }),
      (secret, id, keys) => {
        const [first] = keys as [KeyObject];
        const stored = createKeyring(keys).wrap(id, secret);
        t.equal(hexOf(createKeyring([...keys].reverse()).unwrap(id, stored)), hexOf(secret));
        t.equal(hexOf(createKeyring([first]).unwrap(id, stored)), hexOf(secret));
        t.equal(createKeyring(keys.slice(1)).unwrap(id, stored), 'unknown_key');
        t.equal(stored.bytes.length, 60);
        t.match(stored.wrappedBy, /^[0-9a-f]{16}$/);
        t.equal(stored.bytes.indexOf(secret.subarray(0, 8)), -1);
      },
    ),
    { numRuns: 25 },
  );
});

t.test('any flipped bit, any other length, another talkgroup and another key fail', async (t) => {
  fc.assert(
    fc.property(bytes(32), aKey, anId, anId, aKey, (secret, key, id, otherId, otherKey) => {
      fc.pre(id !== otherId && !key.equals(otherKey));
      const ring = createKeyring([key]);
      const stored = ring.wrap(id, secret);
      const damaged = (changed: Buffer) => ring.unwrap(id, { ...stored, bytes: changed }) === 'damaged';
      for (let bit = 0; bit < stored.bytes.length * 8; bit++) {
        const flipped = Buffer.from(stored.bytes);
        flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        if (!damaged(flipped)) t.fail(`bit ${bit}`);
      }
      for (let length = 0; length < stored.bytes.length; length++) {
        if (!damaged(stored.bytes.subarray(0, length))) t.fail(`${length} bytes`);
      }
      t.ok(damaged(Buffer.concat([stored.bytes, Buffer.of(0)])));
      t.equal(ring.unwrap(otherId, stored), 'damaged');
      const { wrapsWith } = createKeyring([otherKey]);
      t.equal(createKeyring([otherKey]).unwrap(id, stored), 'unknown_key');
      t.equal(createKeyring([otherKey]).unwrap(id, { ...stored, wrappedBy: wrapsWith }), 'damaged');
    }),
    { numRuns: 5 },
  );
});

t.test('the same secret never looks the same twice', async (t) => {
  const ring = createKeyring([newKey()]);
  const [id, secret] = [newId(), randomBytes(32)];
  const nonces = Array.from({ length: 1000 }, () => ring.wrap(id, secret).bytes.toString('hex', 0, 12));
  t.equal(new Set(nonces).size, 1000);
});

t.test('without keys a secret stays as it is, and one that is not wrapped needs none', async (t) => {
  const [id, secret] = [newId(), randomBytes(32)];
  const plain: StoredSecret = { bytes: secret, wrappedBy: null };
  t.same(createKeyring([]).wrap(id, secret), plain);
  t.equal(createKeyring([]).wrapsWith, null);
  t.equal(createKeyring([]).unwrap(id, plain), secret);
  t.equal(createKeyring([newKey()]).unwrap(id, plain), secret);
});

t.test('a key has one name, on every ring, and no two keys have the same', async (t) => {
  const keys = Array.from({ length: 100 }, newKey);
  const names = keys.map((key) => createKeyring([key]).wrapsWith);
  t.equal(new Set(names).size, keys.length);
  const ring = createKeyring(keys);
  t.equal(ring.wrapsWith, names[0], 'the first wraps');
  t.ok(names.every((name) => name !== null && ring.has(name)));
});

t.test('a key drawn at random is taken in both spellings', async (t) => {
  for (let i = 0; i < 1000; i++) {
    const drawn = randomBytes(32);
    for (const spelling of ['base64', 'hex'] as const) {
      const [key] = readKeys(drawn.toString(spelling)) ?? [];
      if (!key?.export().equals(drawn)) t.fail(drawn.toString('hex'));
    }
  }
});
