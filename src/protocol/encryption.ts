// Builds the bytes of encrypted speech: keys of epochs and bursts, envelopes, fingerprints of key holders, salts. Server
// and client share it. The cryptography is passed in, so the file runs in a browser as it does in Node.

/** AES-128-GCM under one key, with nonces of 12 bytes. The tag (16 bytes) stands behind the ciphertext. */
export type Aead = {
  seal(nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array): Uint8Array;
  /** null: nonce, `aad`, ciphertext or tag are not those of the seal. Never throws. */
  open(nonce: Uint8Array, aad: Uint8Array, sealed: Uint8Array): Uint8Array | null;
};

/** The cryptography below the formats, synchronous. node-primitives.ts has that of Node, client/encryption that of browsers. */
export type Primitives = {
  /** HKDF-SHA256, extract and expand (RFC 5869). `bytes`: length of the result. */
  hkdf(inputs: { ikm: Uint8Array; salt: Uint8Array; info: Uint8Array; bytes: number }): Uint8Array;
  sha512(data: Uint8Array): Uint8Array;
  /** `key`: 16 bytes. */
  aes128Gcm(key: Uint8Array): Aead;
  /** Bytes that cannot be predicted. */
  randomBytes(bytes: number): Uint8Array;
};

/** SFrame with AES_128_GCM_SHA256_128 (RFC 9605, section 8.1): the only suite that the client uses. */
export const SUITE = 4;
/** Bytes of a master secret, of an epoch's secret and of a burst's key. */
export const SECRET_BYTES = 32;
export const SALT_BYTES = 16;
/** A point of P-256, uncompressed: 0x04, x, y. */
export const PUBLIC_KEY_BYTES = 65;
/** A rotation counter is a u32 in every input. */
export const COUNTER_MAX = 0xffff_ffff;

const ascii = (text: string) => new TextEncoder().encode(text);
const EPOCH = ascii('talkgroup-radio 1 epoch');
const BURST = ascii('talkgroup-radio 1 burst');
const HOLDER = ascii('talkgroup-radio 1 holder');

/** The HPKE `info` of an envelope with the secret of an epoch. */
export const ENVELOPE_INFO: Uint8Array<ArrayBuffer> = ascii('talkgroup-radio 1 epoch key');

/** The HPKE `aad` of an envelope (36 bytes): the secret of this talkgroup and epoch, for this key holder. */
export function envelopeAad(envelope: {
  talkgroupId: string;
  counter: number;
  holderId: string;
}): Uint8Array<ArrayBuffer> {
  const { talkgroupId, counter, holderId } = envelope;
  return joined(uuidBytes(talkgroupId), counterBytes(counter), uuidBytes(holderId));
}

/** The HPKE `info` of a challenge: what an accepted key holder opens to accept another one. */
export const ACCEPTANCE_INFO: Uint8Array<ArrayBuffer> = ascii('talkgroup-radio 1 acceptance');

/** The HPKE `aad` of a challenge (32 bytes): `by` accepts `holder`. */
export function acceptanceAad(pair: { by: string; holder: string }): Uint8Array<ArrayBuffer> {
  return joined(uuidBytes(pair.by), uuidBytes(pair.holder));
}

/** The HPKE `info` of an envelope with the key of one recorded burst. */
export const RECORDING_INFO: Uint8Array<ArrayBuffer> = ascii('talkgroup-radio 1 recording key');

/** The HPKE `aad` of such an envelope (32 bytes): the key of this recording, for this key holder. */
export function recordingAad(envelope: { recordingId: string; holderId: string }): Uint8Array<ArrayBuffer> {
  return joined(uuidBytes(envelope.recordingId), uuidBytes(envelope.holderId));
}

/** The HKDF inputs of an epoch's secret, without the master secret. */
export function epochInputs(epoch: { talkgroupId: string; counter: number }) {
  return {
    salt: uuidBytes(epoch.talkgroupId),
    info: joined(EPOCH, counterBytes(epoch.counter)),
    bytes: SECRET_BYTES,
  };
}

/** The secret of an epoch (32 bytes) from the talkgroup's master secret (32 bytes). */
export function epochSecret(
  { hkdf }: Pick<Primitives, 'hkdf'>,
  { master, ...epoch }: { master: Uint8Array; talkgroupId: string; counter: number },
): Uint8Array {
  return hkdf({ ikm: master, ...epochInputs(epoch) });
}

/** What one run of a talker is encrypted for. `userId`: the talker. `salt`: of the run. */
export type BurstKeyInputs = {
  secret: Uint8Array;
  salt: Uint8Array;
  talkgroupId: string;
  userId: string;
  counter: number;
};

/** The SFrame base key of a run (32 bytes) from the secret of its epoch. Another talker or epoch gives another key. */
export function burstKey({ hkdf }: Pick<Primitives, 'hkdf'>, inputs: BurstKeyInputs): Uint8Array {
  const { secret, salt, talkgroupId, userId, counter } = inputs;
  const info = joined(BURST, uuidBytes(talkgroupId), uuidBytes(userId), counterBytes(counter));
  return hkdf({ ikm: secret, salt, info, bytes: SECRET_BYTES });
}

const DIGIT_GROUPS = 12;
const GROUP_BYTES = 5;

/** What a fingerprint is the SHA-512 of. */
export function fingerprintInput(holder: { userId: string; publicKey: Uint8Array }): Uint8Array<ArrayBuffer> {
  return joined(HOLDER, uuidBytes(holder.userId), holder.publicKey);
}

/** The fingerprint of a key holder to read out: 60 digits in 12 groups of 5, separated by spaces. */
export function fingerprint(
  { sha512 }: Pick<Primitives, 'sha512'>,
  holder: { userId: string; publicKey: Uint8Array },
): string {
  return fingerprintDigits(sha512(fingerprintInput(holder)));
}

/** The digits of a SHA-512 hash: of each 5 of its first 60 bytes, as one number, the last 5 decimal digits. */
export function fingerprintDigits(hash: Uint8Array): string {
  const groups = Array.from({ length: DIGIT_GROUPS }, (_, group) => {
    const bytes = hash.subarray(group * GROUP_BYTES, (group + 1) * GROUP_BYTES);
    const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
    return String(number % 100_000).padStart(5, '0');
  });
  return groups.join(' ');
}

/** 16 bytes in base64url are 22 characters. The last one has 4 bits to spare, which must be 0. */
export const SALT_PATTERN = '^[A-Za-z0-9_-]{21}[AQgw]$';
const SALT = new RegExp(SALT_PATTERN);

/** Whether the text is the one way to write 16 bytes in base64url. */
export const isSalt = (text: string): boolean => SALT.test(text);

/** Without padding. */
export function toBase64url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** null: the text is not base64url without padding. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The 16 bytes of a UUID. Throws on any other text: a key for no user must not come to be. */
export function uuidBytes(uuid: string): Uint8Array<ArrayBuffer> {
  if (!UUID.test(uuid)) throw new TypeError(`not a UUID: ${uuid}`);
  const digits = uuid.replaceAll('-', '');
  return Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

/** A rotation counter as 4 bytes, high byte first. Throws on what is no u32. */
export function counterBytes(counter: number): Uint8Array<ArrayBuffer> {
  if (!Number.isInteger(counter) || counter < 0 || counter > COUNTER_MAX) {
    throw new RangeError(`not a rotation counter: ${counter}`);
  }
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, counter);
  return bytes;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}
