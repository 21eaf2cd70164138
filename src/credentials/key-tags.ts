// Names the keys that sign tokens without giving them away, so that nodes can tell whether they have the same.
import { createHmac } from 'node:crypto';

/** Another text gives other tags, and relays of different versions would not recognise a shared key. */
const ABOUT = 'talkgroup radio: key of tokens';

/**
 * A tag (u32) for each key whose tokens are accepted: the first 4 bytes of an HMAC-SHA-256 (RFC 2104) with it. Who reads a
 * tag can test guesses of the key, as with any token. None without JWT_SECRET: then the key is known to one node alone.
 */
export const keyTags = (keys: {
  readonly JWT_SECRET?: string;
  readonly JWT_SECRET_PREVIOUS?: string;
}): number[] =>
  [keys.JWT_SECRET, keys.JWT_SECRET_PREVIOUS].flatMap((key) =>
    key === undefined ? [] : [createHmac('sha256', key).update(ABOUT).digest().readUInt32BE(0)],
  );
