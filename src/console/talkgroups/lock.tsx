// Shows how speech in a talkgroup is protected: the lock of the talkgroup, and that of a talker.
import { icons } from '../icons/icons.js';
import type { TalkerView } from '../worker/messages.js';
import { type LockText, talkerLock } from './lock-words.js';
import type { Tile } from './state.js';

/** Crossed: nothing is protected, or this browser has no key. The words are those of the tooltip and of the menu. */
export function Lock({ lock: { text, isLocked } }: { lock: Pick<LockText, 'text' | 'isLocked'> }) {
  return (
    <span class={isLocked ? 'lock' : 'lock crossed'}>
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
        <path d={isLocked ? icons.lock : `${icons.lock}M2 2l20 20`} />
      </svg>
      <span class="visually-hidden">{text}</span>
    </span>
  );
}

/** Said by screen readers when it is unexpected, because a user may then have to stop. */
export function TalkerLock({ talker, tile }: { talker: TalkerView; tile: Tile }) {
  const { text, hint, tone } = talkerLock(talker, tile.view.value, tile.isEncrypting.value);
  if (text === '') return null;
  if (tone !== 'alarm') return <Lock lock={{ text, isLocked: talker.lock === 'encrypted' }} />;
  return (
    <span role="alert" class="flag">
      <strong>{text}</strong>
      <span class="visually-hidden"> {hint}</span>
    </span>
  );
}
