// The cryptography of encrypted speech in Node, for the service and for radios that run in Node.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import type { Aead, Primitives } from './encryption.js';

const GCM = 'aes-128-gcm';
const TAG_BYTES = 16;

export const nodePrimitives: Primitives = {
  hkdf: ({ ikm, salt, info, bytes }) => new Uint8Array(hkdfSync('sha256', ikm, salt, info, bytes)),
  sha512: (data) => createHash('sha512').update(data).digest(),
  aes128Gcm,
  randomBytes,
};

function aes128Gcm(key: Uint8Array): Aead {
  return {
    seal(nonce, aad, plaintext) {
      const cipher = createCipheriv(GCM, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(aad);
      const ciphertext = cipher.update(plaintext);
      cipher.final();
      return Buffer.concat([ciphertext, cipher.getAuthTag()]);
    },
    open(nonce, aad, sealed) {
      if (sealed.byteLength < TAG_BYTES) return null;
      const decipher = createDecipheriv(GCM, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(aad);
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const plaintext = decipher.update(sealed.subarray(0, -TAG_BYTES));
      try {
        decipher.final();
      } catch {
        return null; // "Unsupported state or unable to authenticate data": the tag does not fit
      }
      return plaintext;
    },
  };
}
