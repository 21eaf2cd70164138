// States what a username is: one definition for registration, login and the command line.
import { isClear, isPrintable } from '../text.js';

/** Code points, counted in the form that is stored. */
const CHARACTERS_MAX = 64;

/** The spelling that is stored and looked up: NFC, so a name typed on any keyboard finds its account. */
export const normalizeUsername = (text: string) => text.normalize('NFC');

/** 1 to 64 characters, no control characters, well-formed. Case-sensitive. */
export function isUsername(text: string): boolean {
  const characters = [...normalizeUsername(text)].length;
  return characters >= 1 && characters <= CHARACTERS_MAX && isPrintable(text);
}

/** The same for a new account. Accounts of before may have names that look like others. */
export const isNewUsername = (text: string) => isUsername(text) && isClear(text);
