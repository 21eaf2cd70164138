// The bytes of encrypted speech, held by the vectors of RFC 5869, 9180 and 9605 and by our own, through both halves.
import { createECDH } from 'node:crypto';
import fc from 'fast-check';
import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_P256_HKDF_SHA256 } from 'hpke';
import t from 'tap';
import { envelopeSuite, openEnvelope } from '../../src/client/encryption/holder.js';
import { AES_128_GCM, sealLetter } from '../../src/keys/envelope.js';
import {
  burstKey,
  envelopeAad,
  epochSecret,
  fingerprint,
  fromBase64url,
  isSalt,
  type Primitives,
  toBase64url,
} from '../../src/protocol/encryption.js';
import { ENCRYPTED, END, encodeFrame, START } from '../../src/protocol/frame.js';
import {
  decodeSframeHeader,
  deriveSframeKey,
  encodeSframeHeader,
  KEY_IDS,
  metadataFrom,
  metadataOf,
  SEAL_BYTES_MAX,
  sframeSecrets,
} from '../../src/protocol/sframe.js';
import { halves, MASTER } from '../helpers/client/encryption.js';
import { sframeHeaders } from '../helpers/client/sframe-headers.js';

/** `make prove` opens 10^6. */
const PAYLOADS = Number(process.env.SFRAME_PAYLOADS ?? 20_000);

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hexOf = (bytes: Uint8Array | null) => (bytes ? Buffer.from(bytes).toString('hex') : null);
const both = Object.entries(halves);

t.test('HKDF gives the results of RFC 5869, A.1 to A.3', async (t) => {
  const count = (from: number, to: number) => Uint8Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const cases = [
    {
      ...{ ikm: new Uint8Array(22).fill(0x0b), salt: count(0, 0x0c), info: count(0xf0, 0xf9), bytes: 42 },
      okm: '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
    },
    {
      ...{ ikm: count(0, 0x4f), salt: count(0x60, 0xaf), info: count(0xb0, 0xff), bytes: 82 },
      okm: 'b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87',
    },
    {
      ...{ ikm: new Uint8Array(22).fill(0x0b), salt: new Uint8Array(), info: new Uint8Array(), bytes: 42 },
      okm: '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8',
    },
  ];
  for (const [half, { hkdf }] of both)
    for (const { okm, ...inputs } of cases) t.equal(hexOf(hkdf(inputs)), okm, half);
});

t.test('a header of SFrame is that of RFC 9605, C.1, and a longer one than 4 bytes is none', async (t) => {
  for (const [keyId, counter, encoded] of sframeHeaders) {
    if (Math.max(keyId, counter) <= 0xffff_ffff) {
      t.equal(hexOf(encodeSframeHeader(keyId, counter)), encoded);
      t.same(decodeSframeHeader(bytesOf(encoded)), { keyId, counter, bytes: encoded.length / 2 });
    } else {
      t.throws(() => encodeSframeHeader(keyId, counter), RangeError);
      t.equal(decodeSframeHeader(bytesOf(encoded)), null);
    }
  }
});

t.test('a header that is not in its shortest form is none', async (t) => {
  for (const encoded of ['', '0807', '090007', '0a000100', '8007', '800700', '0b00ffffff', '08', '0901']) {
    t.equal(decodeSframeHeader(bytesOf(encoded)), null, encoded);
  }
});

/** RFC 9605, C.3, AES_128_GCM_SHA256_128, from test-vectors.json of the working group. */
const rfc9605 = {
  ...{ keyId: 0x123, counter: 0x4567, baseKey: '000102030405060708090a0b0c0d0e0f' },
  ...{ key: 'd34f547f4ca4f9a7447006fe7fcbf768', salt: '75234edefe07819026751816' },
  metadata: '4945544620534672616d65205747',
  plaintext: '64726166742d696574662d736672616d652d656e63',
  sealed: '9901234567b7412c2513a1b66dbb48841bbaf17f598751176ad847681a69c6d0b091c07018ce4adb34eb',
};

t.test('a frame is sealed and opened as in RFC 9605, C.3, by both halves', async (t) => {
  for (const [half, primitives] of both) {
    const inputs = { baseKey: bytesOf(rfc9605.baseKey), keyId: rfc9605.keyId };
    const { key, salt } = sframeSecrets(primitives, inputs);
    t.same([hexOf(key), hexOf(salt)], [rfc9605.key, rfc9605.salt], half);
    const sframe = deriveSframeKey(primitives, inputs);
    const [metadata, plaintext] = [bytesOf(rfc9605.metadata), bytesOf(rfc9605.plaintext)];
    t.equal(hexOf(sframe.seal(rfc9605.counter, metadata, plaintext)), rfc9605.sealed, half);
    t.equal(hexOf(sframe.open(metadata, bytesOf(rfc9605.sealed))), rfc9605.plaintext, half);
  }
});

t.test('an envelope is HPKE of RFC 9180: A.3.1, and the vector of our suite', async (t) => {
  // The library of radios draws the ephemeral key itself, so it opens the vectors, and the service seals the first one.
  const cases = [
    {
      suite: new CipherSuite(KEM_DHKEM_P256_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM),
      enc: '04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac98536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4',
      publicKey:
        '04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a826a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d128aafd68a2ce72ea0',
      privateKey: 'f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2',
      sealed: '5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f9076ac232e3ab2523f39513434',
    },
    {
      suite: envelopeSuite,
      enc: '04c06b4f6bebc7bb495cb797ab753f911aff80aefb86fd8b6fcc35525f3ab5f03e0b21bd31a86c6048af3cb2d98e0d3bf01da5cc4c39ff5370d331a4f1f7d5a4e0',
      publicKey:
        '04abc7e49a4c6b3566d77d0304addc6ed0e98512ffccf505e6a8e3eb25c685136f853148544876de76c0f2ef99cdc3a05ccf5ded7860c7c021238f9e2073d2356c',
      privateKey: '317f915db7bc629c48fe765587897e01e282d3e8445f79f27f65d031a88082b2',
      sealed: '58c61a45059d0c5704560e9d88b564a8b63f1364b8d1fcb3c4c6ddc1d291742465e902cd216f8908da49f8f96f',
    },
  ] as const;
  for (const { suite, enc, publicKey, privateKey, sealed } of cases) {
    const pair = {
      publicKey: await suite.DeserializePublicKey(bytesOf(publicKey)),
      privateKey: await suite.DeserializePrivateKey(bytesOf(privateKey), true),
    };
    const plaintext = await suite.Open(pair, bytesOf(enc), bytesOf(sealed), {
      info: Buffer.from('Ode on a Grecian Urn'),
      aad: Buffer.from('Count-0'),
    });
    t.equal(Buffer.from(plaintext).toString(), 'Beauty is truth, truth beauty');
  }
  const [{ enc, publicKey, sealed }] = cases;
  const ephemeral = createECDH('prime256v1');
  ephemeral.setPrivateKey('4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb', 'hex');
  const letter = { publicKey: bytesOf(publicKey), plaintext: Buffer.from('Beauty is truth, truth beauty') };
  const inputs = { aead: AES_128_GCM, info: Buffer.from('Ode on a Grecian Urn'), ephemeral };
  const byService = sealLetter({ ...letter, aad: Buffer.from('Count-0') }, inputs);
  t.same([hexOf(byService.enc), hexOf(byService.sealed)], [enc, sealed]);
});

const talkgroupId = '11111111-1111-4111-8111-111111111111';
const userId = '22222222-2222-4222-8222-222222222222';
const salt = Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i);

/** Computed by hand with HMAC and AES-GCM of node:crypto alone. Payload f8fffe, talkgroup number 9. */
const ours = [
  {
    counter: 9,
    secret: 'f57a52b4758d95a33ebc7dbd282bdf43288e1f2b2be64df1d4d78841295c5921',
    baseKey: 'd0f7fcf164340c26d94be3e85b810f5791c5929bde9a9bf2704ffcaf5407ecc9',
    key: '1b106e43e65b4f98c38fd0f684a34a73',
    salt: '9e397a3bea8e6c0bd6bdd8bb',
    frames: [
      [START, 0, '0109000000000009', '101feba6873fd1ca05bec02937a2c8494e5c7fa7'],
      [0, 256, '0109010000000009', '190100e6fdff9f526ff22a326c7b13e5825d3a6da0e6'],
      [END, 257, '0509010100000009', '190101987687e4295e12f53c6fa6635b29a86d15dd80'],
      [0, 70_000, '0109117000000009', '1a011170ff8818526cfc6b2b51ba153bcc5c577ba096c5'],
    ],
  },
  {
    counter: 265,
    secret: 'd95b710077f130bb2e3efb856a49be9c15d36223a80a754cb3a3966e190c0196',
    baseKey: '3e75c00a9632829ab7fc8d7d787abf1800645f5977d1d6b675a07b224e1bef27',
    key: 'd2c5db1a711d91255337c993bd5b2d00',
    salt: '548e80d1b6593de5dd420d38',
    frames: [
      [START, 0, '0109000000000009', '1047f5371ecd615cb77750592d4ebddf3d3b7c73'],
      [0, 256, '0109010000000009', '1901001b33f2704723dd6aaccf18c894c20715e4dc26'],
      [END, 257, '0509010100000009', '1901017dc40971166f511e2f34599b7eaa62f6446a91'],
      [0, 70_000, '0109117000000009', '1a0111708de73bc41afc164bad0a3583ab1f37d0e867a4'],
    ],
  },
] as const;

/** Private keys 11..11 (ephemeral) and 22..22 (receiver), the secret of epoch 9, and `userId` as the holder. */
const ourEnvelope = {
  enc: '040217e617f0b6443928278f96999e69a23a4f2c152bdf6d6cdf66e5b80282d4ed194a7debcb97712d2dda3ca85aa8765a56f45fc758599652f2897c65306e5794',
  sealed: '00e9cb950207fd461bb1113cfae1b8e09634adc36c8f7cc6683c19cc97c4474c1dce6e49f18a7f46166e05b8ffc32b0e',
};

t.test(
  'our envelope with a fixed ephemeral key is that of the vector, and opens in the library',
  async (t) => {
    const ephemeral = createECDH('prime256v1');
    ephemeral.setPrivateKey('11'.repeat(32), 'hex');
    const receiver = createECDH('prime256v1');
    receiver.setPrivateKey('22'.repeat(32), 'hex');
    const [vector] = ours;
    const aad = envelopeAad({ talkgroupId, counter: vector.counter, holderId: userId });
    const plaintext = bytesOf(vector.secret);
    const { enc, sealed } = sealLetter({ publicKey: receiver.getPublicKey(), plaintext, aad }, { ephemeral });
    t.same([hexOf(enc), hexOf(sealed)], [ourEnvelope.enc, ourEnvelope.sealed]);
    const pair = {
      publicKey: await envelopeSuite.DeserializePublicKey(receiver.getPublicKey()),
      privateKey: await envelopeSuite.DeserializePrivateKey(receiver.getPrivateKey(), true),
    };
    const holder = { holderId: userId, publicKey: receiver.getPublicKey(), pair };
    const opened = await openEnvelope(holder, { enc, sealed, talkgroupId, counter: vector.counter });
    t.equal(hexOf(opened), vector.secret);
  },
);

t.test('what is no point of the curve seals nothing', async (t) => {
  for (const publicKey of [
    Buffer.alloc(65),
    Buffer.alloc(65, 4),
    Buffer.alloc(0),
    createECDH('prime256v1').generateKeys().subarray(1),
  ])
    t.throws(() => sealLetter({ publicKey, plaintext: Buffer.alloc(32), aad: Buffer.alloc(36) }));
});

t.test(
  'our keys and frames are those of the vectors, sealed by one half and opened by the other',
  async (t) => {
    for (const [sealing, sealer] of both) {
      for (const [opening, opener] of both) {
        for (const vector of ours) {
          const { counter } = vector;
          const keyFor = (primitives: Primitives) => {
            const secret = epochSecret(primitives, { master: MASTER, talkgroupId, counter });
            t.equal(hexOf(secret), vector.secret);
            const baseKey = burstKey(primitives, { secret, salt, talkgroupId, userId, counter });
            t.equal(hexOf(baseKey), vector.baseKey);
            const inputs = { baseKey, keyId: counter % KEY_IDS };
            const secrets = sframeSecrets(primitives, inputs);
            t.same([hexOf(secrets.key), hexOf(secrets.salt)], [vector.key, vector.salt]);
            return deriveSframeKey(primitives, inputs);
          };
          const [sealKey, openKey] = [keyFor(sealer), keyFor(opener)];
          for (const [flags, sequence, metadata, sealed] of vector.frames) {
            const header = { flags: flags | ENCRYPTED, epoch: counter & 0xff, sequence, talkgroup: 9 };
            const frame = encodeFrame({ ...header, sender: 3, burst: 4, payload: bytesOf(sealed) });
            t.equal(hexOf(metadataOf(frame)), metadata);
            t.equal(hexOf(metadataFrom({ ...header, sequence: sequence & 0xffff })), metadata);
            t.equal(hexOf(sealKey.seal(sequence, bytesOf(metadata), bytesOf('f8fffe'))), sealed, sealing);
            t.equal(hexOf(openKey.open(bytesOf(metadata), bytesOf(sealed))), 'f8fffe', opening);
          }
        }
      }
    }
  },
);

t.test('a fingerprint is 60 digits, the same from both halves', async (t) => {
  const publicKey = Uint8Array.of(4, ...Array.from({ length: 64 }, (_, i) => i));
  const digits = '83546 68883 96413 28844 99594 48482 64412 27381 89409 59839 82856 26095';
  for (const [half, primitives] of both)
    t.equal(fingerprint(primitives, { userId, publicKey }), digits, half);
});

t.test('the aad of an envelope names talkgroup, counter and holder, and takes no other text', async (t) => {
  const holderId = '33333333-3333-4333-8333-333333333333';
  const aad = hexOf(envelopeAad({ talkgroupId, counter: 265, holderId }));
  t.equal(aad, '111111111111411181111111111111110000010933333333333343338333333333333333');
  t.throws(() => envelopeAad({ talkgroupId: 'alpha', counter: 1, holderId }), TypeError);
  for (const counter of [-1, 1.5, 2 ** 32]) {
    t.throws(() => envelopeAad({ talkgroupId, counter, holderId }), RangeError);
  }
});

t.test('a salt has one text, which is 16 bytes in base64url', async (t) => {
  t.ok(isSalt('oKGio6SlpqeoqaqrrK2urw'));
  for (const text of [
    'oKGio6SlpqeoqaqrrK2urx',
    'oKGio6SlpqeoqaqrrK2ur',
    'oKGio6SlpqeoqaqrrK2urw=',
    '+KGio6SlpqeoqaqrrK2urw',
    '',
  ])
    t.notOk(isSalt(text), text);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const text = toBase64url(bytes);
      return isSalt(text) && hexOf(fromBase64url(text)) === hexOf(bytes);
    }),
  );
});

t.test('a change of one bit of the frame that is sealed keeps it closed, for both halves', async (t) => {
  const [, sequence, metadata, sealed] = ours[0].frames[1];
  t.equal(sequence, 256);
  for (const [half, primitives] of both) {
    const key = deriveSframeKey(primitives, { baseKey: bytesOf(ours[0].baseKey), keyId: 1 });
    for (const [what, bytes] of [
      ['metadata', bytesOf(metadata)] as const,
      ['payload', bytesOf(sealed)] as const,
    ]) {
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const changed = Uint8Array.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const opened =
          what === 'metadata' ? key.open(changed, bytesOf(sealed)) : key.open(bytesOf(metadata), changed);
        if (opened) t.fail(`${half}: bit ${bit} of ${what}`);
      }
    }
  }
});

t.test(`${PAYLOADS} random payloads never throw, and none of them opens`, async (t) => {
  for (const [half, primitives] of both) {
    const key = deriveSframeKey(primitives, { baseKey: bytesOf(ours[0].baseKey), keyId: 1 });
    const metadata = bytesOf('0109000000000009');
    let opened = 0;
    const random = primitives.randomBytes(4096);
    for (let n = 0; n < PAYLOADS / 2; n += 1) {
      // Half of them with a header of this key, which gets them as far as the tag.
      const at = (n * 31) % 4000;
      const payload = Uint8Array.from(random.subarray(at, at + (n % 80)));
      if (payload.length > 0 && n % 2 === 0) payload[0] = 0x10 | (n & 7);
      if (payload.length > 0) payload[payload.length - 1] = n;
      if (key.open(metadata, payload)) opened += 1;
    }
    t.equal(opened, 0, half);
  }
});

t.test('a seal adds at most 21 bytes', async (t) => {
  const key = deriveSframeKey(halves.node as Primitives, { baseKey: bytesOf(ours[0].baseKey), keyId: 7 });
  const added = [0, 7, 8, 255, 256, 0xffff, 0x1_0000, 0xff_ffff, 0xffff_ffff].map(
    (counter) => key.seal(counter, new Uint8Array(8), new Uint8Array(60)).length - 60,
  );
  t.same(added, [17, 17, 18, 18, 19, 19, 20, 20, SEAL_BYTES_MAX]);
});

// Goal: at most 50 µs in the browser's half. Printed only, because other work on the machine would fail it.
t.test('sealing and opening a frame of 80 bytes is measured', async (t) => {
  for (const [half, primitives] of both) {
    const key = deriveSframeKey(primitives, { baseKey: bytesOf(ours[0].baseKey), keyId: 1 });
    const [metadata, payload] = [bytesOf('0109000000000009'), primitives.randomBytes(80)];
    const counters = Array.from({ length: 2_000 }, (_, counter) => counter);
    for (const counter of counters) key.open(metadata, key.seal(counter, metadata, payload));
    const startMs = performance.now();
    const sealed = counters.map((counter) => key.seal(counter, metadata, payload));
    const sealedMs = performance.now();
    const opened = sealed.filter((bytes) => key.open(metadata, bytes));
    const openedMs = performance.now();
    t.equal(opened.length, sealed.length);
    const costUs = (ms: number) => ((ms / counters.length) * 1_000).toFixed(1);
    t.comment(`${half}: seal ${costUs(sealedMs - startMs)} µs, open ${costUs(openedMs - sealedMs)} µs`);
  }
});
