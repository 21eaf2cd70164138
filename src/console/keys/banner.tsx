// Says that this browser needs keys, or that a device waits to be accepted.
import type { Desk } from '../app/desk.js';
import { keys as words } from './texts.js';

export function KeysBanner({ desk }: { desk: Desk }) {
  const { keys, talkgroups, isSettingsOpen } = desk;
  const areNeeded = talkgroups.tiles.value.some(
    ({ view, isEncrypting }) => view.value.encryption === 'required' || isEncrypting.value,
  );
  const settings = () => {
    isSettingsOpen.value = true;
  };
  const waiting = keys.mayAccept.value ? keys.waiting.value : 0;
  return (
    <section class="banners" aria-label={words.label}>
      {keys.phase.value === 'needed' && !keys.isAsking.value && (
        <Banner text={words.needed} button={words.setUp} onPress={keys.ask} />
      )}
      {keys.phase.value === 'impossible' && areNeeded && (
        <div class="banner">
          <p role="status">{words.impossible}</p>
        </div>
      )}
      {keys.phase.value === 'waiting' && (
        <Banner text={words.waitingShort} button={words.show} onPress={keys.ask} />
      )}
      {waiting > 0 && <Banner text={words.othersWait(waiting)} button={words.look} onPress={settings} />}
    </section>
  );
}

function Banner({ text, button, onPress }: { text: string; button: string; onPress(): void }) {
  return (
    <div class="banner">
      <p role="status">{text}</p>
      <button type="button" class="primary" onClick={onPress}>
        {button}
      </button>
    </div>
  );
}
