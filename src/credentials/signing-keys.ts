// States what may sign tokens: one definition for the settings and for the key that the service generates.
import { isSampleKey } from './samples.js';

/** RFC 7518, section 3.2: a key for HS256 has at least the length of its hash, 32 bytes. */
export const JWT_SECRET_BYTES_MIN = 32;

/** True for a key of at least 32 bytes. */
export const isLongEnough = (key: string) => Buffer.byteLength(key) >= JWT_SECRET_BYTES_MIN;

/** True for a key of at least 32 bytes that is no well-known or repeated text. */
export const isSigningKey = (key: string) => isLongEnough(key) && !isSampleKey(key);
