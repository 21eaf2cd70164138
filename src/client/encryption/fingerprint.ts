// Computes the digits that people compare, from the key itself: a service that lies could send others.
import { fingerprintDigits, fingerprintInput, fromBase64url } from '../../protocol/encryption.js';

/** What is needed of Web Crypto. A page that did not come over TLS has none. */
type Digest = {
  subtle?: { digest(algorithm: 'SHA-512', data: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> };
};

/** 60 digits in groups of 5. null: the key is none, or this page has no Web Crypto. */
export async function fingerprintOf(holder: { userId: string; publicKey: string }): Promise<string | null> {
  const { subtle } = (globalThis as { crypto?: Digest }).crypto ?? {};
  const publicKey = fromBase64url(holder.publicKey);
  if (subtle === undefined || publicKey === null) return null;
  const hash = await subtle.digest('SHA-512', fingerprintInput({ userId: holder.userId, publicKey }));
  return fingerprintDigits(new Uint8Array(hash));
}

/** A key holder as the service lists it, with the digits of its key in place of those that the service says. */
export async function withOwnFingerprint<
  H extends { user_id: string; public_key: string; fingerprint: string },
>(holder: H): Promise<H> {
  const own = await fingerprintOf({ userId: holder.user_id, publicKey: holder.public_key });
  return { ...holder, fingerprint: own ?? holder.fingerprint };
}
