// Keeps what the user chose for each talkgroup: selected, muted, volume, encryption.
import type { Choice, Choices } from '../talkgroups/state.js';
import { readJson, type Shelf, writeJson } from './state.js';

// The newest are kept: a browser stores 5 MB for a site, and one choice takes about 100 bytes.
const CHOICES_MAX = 1_000;

/** `userId`: users who share a browser have choices of their own. */
export function createChoices(shelf: Shelf, userId: string): Choices {
  const key = `talkgroup.choices.${userId}`;
  const stored = readJson(shelf, key);
  const choices = new Map<string, unknown>(Array.isArray(stored) ? stored.filter(isEntry) : []);
  return {
    read(id) {
      const choice = choices.get(id);
      return isChoice(choice) ? choice : null;
    },
    write(id, choice) {
      choices.delete(id);
      choices.set(id, choice);
      writeJson(shelf, key, [...choices].slice(-CHOICES_MAX));
    },
  };
}

const isEntry = (entry: unknown): entry is [string, unknown] =>
  Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string';

function isChoice(choice: unknown): choice is Choice {
  if (typeof choice !== 'object' || choice === null) return false;
  const { isSelected, isMuted, volume, isEncrypting } = choice as Partial<Choice>; // checked in the next line
  const isVolume = typeof volume === 'number' && volume >= 0 && volume <= 1;
  return [isSelected, isMuted, isEncrypting].every((is) => typeof is === 'boolean') && isVolume;
}
