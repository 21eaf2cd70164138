// Makes and reads setup codes: 80 random bits that a person can read out and type.
import { createHash, randomInt } from 'node:crypto';

/** Base32 of Crockford: no letter looks like a digit, and U is left out. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CHARACTERS = 16;
const GROUP = 4;

/** How long a code is valid (hours). */
export const HOURS_MAX = 720;
export const HOURS_PRESET = 72;

export interface SetupCode {
  /** `K7QF-2M9X-R4TD-0W8E`. It is shown once and stored nowhere. */
  readonly text: string;
  readonly hash: Buffer;
}

export function newSetupCode(): SetupCode {
  const characters = Array.from({ length: CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  const groups = characters.match(new RegExp(`.{${GROUP}}`, 'g')) ?? [];
  return { text: groups.join('-'), hash: hashOf(characters) };
}

/** SHA-256 is enough for 80 random bits. null: the text cannot be a code. Case, hyphens and spaces do not matter. */
export function readSetupCode(text: string): Buffer | null {
  if (text.length > 4 * CHARACTERS) return null;
  const characters = text
    .toUpperCase()
    .replaceAll(/[-\s]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
  const isCode = characters.length === CHARACTERS && [...characters].every((one) => ALPHABET.includes(one));
  return isCode ? hashOf(characters) : null;
}

const hashOf = (characters: string) => createHash('sha256').update(characters).digest();
