// Encrypts stored master secrets: AES-256-GCM with the operator's keys, bound to the talkgroup of each secret.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import type { TalkgroupId } from '../ids.js';

/** A master secret as it lies in the database: wrapped by the key of that id, or, with null, as it is. */
export interface StoredSecret {
  readonly bytes: Buffer;
  /** 16 hexadecimal digits. */
  readonly wrappedBy: string | null;
}

export interface Keyring {
  /** Id of the key that wraps. null without keys. */
  readonly wrapsWith: string | null;
  has(keyId: string): boolean;
  /** A secret ready to be stored. Without keys it stays as it is. */
  wrap(talkgroup: TalkgroupId, secret: Buffer): StoredSecret;
  /** The secret. `damaged`: changed since it was wrapped, or that of another talkgroup. */
  unwrap(talkgroup: TalkgroupId, stored: StoredSecret): Buffer | 'unknown_key' | 'damaged';
}

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** NIST SP 800-38D, 8.2 and 8.3: drawn at random, 96 bits are good for 2^32 secrets under one key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 8;

/** The first key wraps, all of them unwrap. */
export function createKeyring(keys: readonly KeyObject[]): Keyring {
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const [first = null] = byId;

  return {
    wrapsWith: first === null ? null : first[0],
    has: (keyId) => byId.has(keyId),
    wrap(talkgroup, secret) {
      if (first === null) return { bytes: secret, wrappedBy: null };
      const [keyId, key] = first;
      return { bytes: seal({ key, talkgroup, secret }), wrappedBy: keyId };
    },
    unwrap(talkgroup, { bytes, wrappedBy }) {
      if (wrappedBy === null) return bytes;
      const key = byId.get(wrappedBy);
      if (key === undefined) return 'unknown_key';
      return open({ key, talkgroup, bytes }) ?? 'damaged';
    },
  };
}

/** Names a key without telling anything of it. */
function keyIdOf(key: KeyObject): string {
  return createHmac('sha256', key).update('id of a key').digest().subarray(0, KEY_ID_BYTES).toString('hex');
}

/** Nonce, ciphertext, tag. */
function seal({ key, talkgroup, secret }: { key: KeyObject; talkgroup: TalkgroupId; secret: Buffer }) {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(talkgroup),
  );
  return Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
}

/** null: not sealed by this key for this talkgroup, or changed since. */
function open({ key, talkgroup, bytes }: { key: KeyObject; talkgroup: TalkgroupId; bytes: Buffer }) {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const sealed = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(talkgroup))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed), decipher.final()]);
  } catch {
    // Expected: the tag does not fit.
    return null;
  }
}

/**
 * Keys from a comma-separated text. null when one is not 32 bytes in base64 or hexadecimal, does not look drawn at
 * random, or stands there twice. As key objects they show their bytes to no log and no JSON.
 */
export function readKeys(text: string): readonly KeyObject[] | null {
  const keys: KeyObject[] = [];
  for (const part of text.split(',')) {
    const bytes = readKey(part.trim());
    if (bytes === null || !looksDrawn(bytes)) return null;
    const key = createSecretKey(bytes);
    if (keys.some((other) => other.equals(key))) return null;
    keys.push(key);
  }
  return keys;
}

function readKey(text: string): Buffer | null {
  const encoding = /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64';
  const bytes = Buffer.from(text, encoding);
  const isWhole = encoding === 'hex' || bytes.toString('base64') === text; // Node skips what is no base64
  return isWhole && bytes.length === KEY_BYTES ? bytes : null;
}

/** Of 32 random bytes 30 differ. The chance that one of these rules turns a drawn key away is below 10^-13. */
function looksDrawn(bytes: Buffer): boolean {
  const isTyped = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
  const steps = new Set(bytes.map((byte, at) => byte - (bytes[at - 1] ?? 0)).subarray(1));
  const isCounted = steps.size === 1; // 00 01 02 ..., the key of many documents, and all zeros
  return !isTyped && !isCounted && new Set(bytes).size >= KEY_BYTES / 2;
}
