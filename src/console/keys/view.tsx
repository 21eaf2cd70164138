// Asks for the password when this browser needs keys, and says that a device waits to be accepted.
import type { Desk } from '../app/desk.js';
import { Dialog } from '../app/dialog.js';
import { browserName } from './state.js';
import { keys as words } from './texts.js';

/** It does not open over another dialog, and not while a talk button is held. */
export function KeysDialog({ desk }: { desk: Desk }) {
  const { keys, talking, isSettingsOpen, membersOf } = desk;
  const isBlocked = talking.isHeld.value || isSettingsOpen.value || membersOf.value !== null;
  if (!keys.isAsking.value || isBlocked) return null;
  return (
    <Dialog name={words.setUp} onClose={keys.dismiss}>
      {keys.phase.value === 'waiting' ? <Waiting desk={desk} /> : <Registration desk={desk} />}
    </Dialog>
  );
}

function Registration({ desk: { keys, account } }: { desk: Desk }) {
  const outcome = keys.outcome.value;
  return (
    <form
      class="dialog"
      onSubmit={(event) => {
        event.preventDefault();
        const data = new FormData(event.currentTarget);
        const [password, name] = [String(data.get('password')), String(data.get('name'))];
        void keys.register({ password, name });
      }}
    >
      <p>{words.whyPassword}</p>
      <input type="hidden" name="username" autocomplete="username" value={account.username} />
      <label class="field">
        {words.password}
        <input name="password" type="password" required autocomplete="current-password" />
      </label>
      <label class="field">
        {words.name}
        <input
          name="name"
          required
          maxLength={128}
          autocomplete="off"
          defaultValue={browserName(navigator.userAgent)}
        />
      </label>
      <div class="row">
        <button type="submit" class="primary" aria-disabled={keys.isBusy.value}>
          {words.register}
        </button>
      </div>
      <p role="status" class="error">
        {outcome?.text}
      </p>
      <p class="quiet">{words.custodian}</p>
      <p class="quiet">{words.notNow}</p>
    </form>
  );
}

function Waiting({ desk: { keys } }: { desk: Desk }) {
  return (
    <div class="dialog">
      <p role="status">{words.waiting}</p>
      <Fingerprint text={keys.fingerprint.value} label={words.fingerprint} />
      <p class="quiet">{words.compare}</p>
    </div>
  );
}

/** In groups of 5 digits, which stay whole. */
export function Fingerprint({ text, label }: { text: string | null; label: string }) {
  return (
    <figure class="fingerprint">
      <figcaption class="quiet">{label}</figcaption>
      <code>{text}</code>
    </figure>
  );
}

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
