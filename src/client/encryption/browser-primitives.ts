// The cryptography of encrypted speech in browsers. WebCrypto is asynchronous, so it cannot seal a frame as it is sent.
import { gcm } from '@noble/ciphers/aes.js';
import { hkdf } from '@noble/hashes/hkdf.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import type { Aead, Primitives } from '../../protocol/encryption.js';

const TAG_BYTES = 16;

export const browserPrimitives: Primitives = {
  hkdf: ({ ikm, salt, info, bytes }) => hkdf(sha256, ikm, salt, info, bytes),
  sha512: (data) => sha512(data),
  aes128Gcm,
  randomBytes: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
};

// LIMIT: AES in JavaScript reads tables. Another process on the same core could measure the caches. WebCrypto would not
// let it, and cannot be synchronous.
function aes128Gcm(key: Uint8Array): Aead {
  return {
    seal: (nonce, aad, plaintext) => gcm(key, nonce, aad).encrypt(plaintext),
    open(nonce, aad, sealed) {
      if (sealed.byteLength < TAG_BYTES) return null;
      try {
        return gcm(key, nonce, aad).decrypt(sealed);
      } catch {
        return null; // "aes/gcm: invalid ghash tag"
      }
    },
  };
}
