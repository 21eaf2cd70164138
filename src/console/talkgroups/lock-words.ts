// Says in words how speech in a talkgroup is protected.
import type { Phase } from '../keys/state.js';
import { keys } from '../keys/texts.js';
import type { TalkerView, TalkgroupView } from '../worker/messages.js';

const { lock: words } = keys;

export type LockText = {
  text: string;
  tone: 'safe' | 'alarm';
  isLocked: boolean;
  /** This browser has no key, so nothing is heard and said. */
  hasNoKey: boolean;
  mustConfirm: boolean;
  /** For the tile, which has no room for the text. null: lock and talk key say it. */
  chip: string | null;
};

type Lockable = Pick<TalkgroupView, 'encryption' | 'isLockExpected' | 'mayHaveKeys'>;

/**
 * Of a talkgroup. null: it has no lock, and its user expects none. `isEncrypting`: the user encrypts by choice. `phase`: of
 * the keys of this browser. Without keys there is no closed lock, because the user hears and says nothing.
 */
export function talkgroupLock(
  { encryption, isLockExpected, mayHaveKeys }: Lockable,
  isEncrypting: boolean,
  phase: Phase,
): LockText | null {
  const alarm = { tone: 'alarm', isLocked: false, hasNoKey: false, mustConfirm: false, chip: null } as const;
  const hasKeys = phase === 'none' || phase === 'accepted'; // none: it needs none yet
  const safe = { ...alarm, tone: 'safe', isLocked: true } as const;
  if (encryption === 'required') {
    if (!mayHaveKeys) return { ...alarm, text: words.forbidden, hasNoKey: true };
    return hasKeys
      ? { ...safe, text: words.required }
      : { ...alarm, text: words.without[phase], hasNoKey: true };
  }
  if (isLockExpected) return { ...alarm, text: words.noLonger, mustConfirm: true, chip: words.offShort };
  if (!isEncrypting) return null;
  if (encryption === 'off') return { ...alarm, text: words.chosenOff, chip: words.offShort };
  return hasKeys ? { ...safe, text: words.chosen } : { ...alarm, text: words.chosenWithout, hasNoKey: true };
}

/** In `off` only to switch it off: what the user wanted to encrypt is not sent in the clear without a word. */
export const mayChooseEncryption = (encryption: Lockable['encryption'], isEncrypting: boolean): boolean =>
  encryption === 'allowed' || (encryption === 'off' && isEncrypting);

/** Of a talker. Empty: there is nothing to say. */
export function talkerLock(
  { lock, unopened }: Pick<TalkerView, 'lock' | 'unopened'>,
  { isLockExpected }: Pick<TalkgroupView, 'isLockExpected'>,
  isEncrypting: boolean,
): { text: string; hint: string; tone: 'quiet' | 'alarm' } {
  switch (lock) {
    case 'encrypted':
      return { text: words.encrypted, hint: '', tone: 'quiet' };
    case 'cannot_open':
      return { text: words.cannotOpen, hint: words.reasons[unopened ?? 'no_key'], tone: 'alarm' };
    case 'clear':
      if (isLockExpected) return { text: words.clear, hint: words.clearHint, tone: 'alarm' };
      return { text: isEncrypting ? words.clearHint : '', hint: '', tone: 'quiet' };
    case null:
      return { text: '', hint: '', tone: 'quiet' };
  }
}
