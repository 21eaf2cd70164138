// Shows how speech in a talkgroup is protected: the lock of the talkgroup, that of a talker, and the switch of the user.
import type { Desk } from '../app/desk.js';
import { keys } from '../keys/texts.js';
import type { TalkerView } from '../worker/messages.js';
import { type LockText, talkerLock, talkgroupLock } from './lock-words.js';
import type { Tile } from './state.js';

const { lock: words } = keys;

export function TalkgroupLock({ tile, desk }: { tile: Tile; desk: Desk }) {
  const text = talkgroupLock(tile.view.value, tile.isEncrypting.value, desk.keys.phase.value);
  if (text === null) return null;
  const { name } = tile.view.value;
  return (
    <p class={looks[text.tone]}>
      {text.isLocked && <Padlock />}
      {text.text}
      {text.mustConfirm && (
        <button
          type="button"
          aria-label={words.confirm(name)}
          onClick={() => desk.link.send({ kind: 'confirm_clear', talkgroupId: tile.id })}
        >
          {words.confirmShort}
        </button>
      )}
    </p>
  );
}

const looks: Readonly<Record<LockText['tone'], string>> = {
  safe: 'lock safe',
  alarm: 'lock error',
};

/** Said by screen readers when it is unexpected, because a user may then have to stop. */
export function TalkerLock({ talker, tile }: { talker: TalkerView; tile: Tile }) {
  const { text, hint, tone } = talkerLock(talker, tile.view.value, tile.isEncrypting.value);
  if (text === '') return null;
  if (tone !== 'alarm') return <span class="quiet">{text}</span>;
  return (
    <span role="alert" class="clear-speech">
      <strong>{text}</strong> {hint}
    </span>
  );
}

export function EncryptButton({ tile, desk }: { tile: Tile; desk: Desk }) {
  const { encryption, name } = tile.view.value;
  const isOn = tile.isEncrypting.value;
  // In `off` only to switch it off: what the user wanted to encrypt is not sent in the clear without a word.
  if (encryption !== 'allowed' && !(encryption === 'off' && isOn)) return null;
  return (
    <button
      type="button"
      aria-label={words.encrypt(name)}
      aria-pressed={isOn}
      onClick={() => desk.talkgroups.encrypt(tile, !isOn)}
    >
      {words.encryptShort}
    </button>
  );
}

function Padlock() {
  return (
    <svg class="padlock" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M4 7V5a4 4 0 0 1 8 0v2h1v8H3V7zm2 0h4V5a2 2 0 0 0-4 0z" />
    </svg>
  );
}
