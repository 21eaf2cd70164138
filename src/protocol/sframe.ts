// Seals and opens the payload of a frame with SFrame (RFC 9605), suite 0x0004: AES_128_GCM_SHA256_128.
import { type Primitives, SUITE } from './encryption.js';
import { ENCRYPTED, END, EPOCH_AT, FLAGS_AT, HEADER_BYTES } from './frame.js';

/** A counter has at most 4 bytes: 994 days of frames of 20 ms. */
const COUNTER_MAX = 0xffff_ffff;
const TAG_BYTES = 16;
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
/** Set in a half of the config byte when the number stands behind it. The other 3 bits are then its length less 1. */
const EXTENDED = 8;
/** Number of key ids that have room in the config byte. The counter of an epoch modulo 8 is the key id of its frames. */
export const KEY_IDS = 8;
/** Bytes that sealing adds at most: config byte, counter, tag. */
export const SEAL_BYTES_MAX = 1 + 4 + TAG_BYTES;
/** Bytes of a frame's header that the seal protects. */
export const METADATA_BYTES = 8;

export type SframeHeader = { keyId: number; counter: number; bytes: number };

/** The header in its shortest form (RFC 9605, section 4.3): config byte, key id above 7, counter above 7. */
export function encodeSframeHeader(keyId: number, counter: number): Uint8Array<ArrayBuffer> {
  const keyIdBytes = lengthOf(keyId);
  const counterBytes = lengthOf(counter);
  const bytes = new Uint8Array(1 + keyIdBytes + counterBytes);
  bytes[0] = (codeOf(keyId, keyIdBytes) << 4) | codeOf(counter, counterBytes);
  writeNumber(bytes.subarray(1, 1 + keyIdBytes), keyId);
  writeNumber(bytes.subarray(1 + keyIdBytes), counter);
  return bytes;
}

/** The header at the start of `bytes`. null: none, or not in its shortest form, or a number of more than 4 bytes. */
export function decodeSframeHeader(bytes: Uint8Array): SframeHeader | null {
  const config = bytes[0];
  if (config === undefined) return null;
  const keyIdBytes = bytesAfter(config >> 4);
  const counterBytes = bytesAfter(config & 0x0f);
  const length = 1 + keyIdBytes + counterBytes;
  if (keyIdBytes > 4 || counterBytes > 4 || bytes.byteLength < length) return null;
  const keyId = keyIdBytes === 0 ? (config >> 4) & 7 : readNumber(bytes.subarray(1, 1 + keyIdBytes));
  const counter = counterBytes === 0 ? config & 7 : readNumber(bytes.subarray(1 + keyIdBytes, length));
  const isShortest = lengthOf(keyId) === keyIdBytes && lengthOf(counter) === counterBytes;
  return isShortest ? { keyId, counter, bytes: length } : null;
}

/** What a key has of its frames, sealed: the same bytes for every receiver, from the header as it was sent. */
export type SframeKey = {
  /** LIMIT: a counter used twice breaks AES-GCM, and nothing here prevents it. The client seals with createSealer alone. */
  seal(counter: number, metadata: Uint8Array, plaintext: Uint8Array): Uint8Array<ArrayBuffer>;
  /** null: not sealed with this key, counter and metadata. Never throws, whatever the bytes are. */
  open(metadata: Uint8Array, sealed: Uint8Array): Uint8Array | null;
};

/** Derives the key of a base key and key id (RFC 9605, section 4.4.2). Costs two HKDF. */
export function deriveSframeKey(
  { hkdf, aes128Gcm }: Pick<Primitives, 'hkdf' | 'aes128Gcm'>,
  { baseKey, keyId }: { baseKey: Uint8Array; keyId: number },
): SframeKey {
  const { key, salt } = sframeSecrets({ hkdf }, { baseKey, keyId });
  const aead = aes128Gcm(key);
  return {
    seal(counter, metadata, plaintext) {
      const header = encodeSframeHeader(keyId, counter);
      const sealed = aead.seal(nonceOf(salt, counter), joinedPair(header, metadata), plaintext);
      return joinedPair(header, sealed);
    },
    open(metadata, sealed) {
      const header = decodeSframeHeader(sealed);
      if (header === null || header.keyId !== keyId) return null;
      if (sealed.byteLength < header.bytes + TAG_BYTES) return null;
      const aad = joinedPair(sealed.subarray(0, header.bytes), metadata);
      return aead.open(nonceOf(salt, header.counter), aad, sealed.subarray(header.bytes));
    },
  };
}

/** sframe_key (16 bytes) and sframe_salt (12 bytes) of a base key. */
export function sframeSecrets(
  { hkdf }: Pick<Primitives, 'hkdf'>,
  { baseKey, keyId }: { baseKey: Uint8Array; keyId: number },
): { key: Uint8Array; salt: Uint8Array } {
  const secret = (name: 'key' | 'salt', bytes: number) =>
    hkdf({ ikm: baseKey, salt: new Uint8Array(), info: labelOf(name, keyId), bytes });
  return { key: secret('key', KEY_BYTES), salt: secret('salt', NONCE_BYTES) };
}

/**
 * The bytes of a frame's header that the talker's seal protects: END and ENCRYPTED, epoch, sequence and talkgroup. The
 * relay writes START, EMERGENCY, sender and burst, so they are not among them.
 */
export function metadataOf(frame: Uint8Array): Uint8Array<ArrayBuffer> {
  if (frame.byteLength < HEADER_BYTES) throw new RangeError('a frame has a header of 16 bytes');
  const metadata = frame.slice(0, METADATA_BYTES) as Uint8Array<ArrayBuffer>; // slice copies into a new ArrayBuffer
  metadata[FLAGS_AT] = (metadata[FLAGS_AT] ?? 0) & (END | ENCRYPTED);
  return metadata;
}

/** The same of a frame that was taken apart. */
export function metadataFrom(frame: {
  flags: number;
  epoch: number;
  sequence: number;
  talkgroup: number;
}): Uint8Array<ArrayBuffer> {
  const metadata = new Uint8Array(METADATA_BYTES);
  const view = new DataView(metadata.buffer);
  view.setUint8(FLAGS_AT, frame.flags & (END | ENCRYPTED));
  view.setUint8(EPOCH_AT, frame.epoch);
  view.setUint16(2, frame.sequence);
  view.setUint32(4, frame.talkgroup);
  return metadata;
}

function nonceOf(salt: Uint8Array, counter: number): Uint8Array<ArrayBuffer> {
  const nonce = Uint8Array.from(salt);
  const view = new DataView(nonce.buffer);
  const at = NONCE_BYTES - 4;
  view.setUint32(at, (view.getUint32(at) ^ counter) >>> 0);
  return nonce;
}

function labelOf(name: 'key' | 'salt', keyId: number): Uint8Array {
  const text = new TextEncoder().encode(`SFrame 1.0 Secret ${name} `);
  const label = new Uint8Array(text.byteLength + 10);
  label.set(text);
  const view = new DataView(label.buffer, text.byteLength);
  // The key id has 8 bytes in the label. Ours are below 2^32.
  view.setUint32(4, keyId);
  view.setUint16(8, SUITE);
  return label;
}

/** Bytes that the number takes behind the config byte. 0: it is in the config byte. */
function lengthOf(number: number): number {
  if (!Number.isInteger(number) || number < 0 || number > COUNTER_MAX) {
    throw new RangeError(`not a key id or counter of SFrame: ${number}`);
  }
  if (number < 8) return 0;
  return number < 0x100 ? 1 : number < 0x1_0000 ? 2 : number < 0x100_0000 ? 3 : 4;
}

const codeOf = (number: number, bytes: number) => (bytes === 0 ? number : EXTENDED | (bytes - 1));
const bytesAfter = (code: number) => ((code & EXTENDED) === 0 ? 0 : (code & 7) + 1);
const readNumber = (bytes: Uint8Array) => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

function writeNumber(into: Uint8Array, number: number): void {
  for (let at = into.byteLength - 1, rest = number; at >= 0; at -= 1) {
    into[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
}

function joinedPair(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.byteLength + second.byteLength);
  bytes.set(first);
  bytes.set(second, first.byteLength);
  return bytes;
}
