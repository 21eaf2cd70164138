// Asks for the password when this browser needs keys, and shows its fingerprint while it waits to be accepted.
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { Dialog } from '../dialogs/dialog.js';
import { deviceTexts as texts } from './device-texts.js';
import { browserName } from './state.js';
import { keys as words } from './texts.js';

export default function KeysDialog() {
  const desk = currentDesk.value;
  if (desk === null) return null;
  const { keys } = desk;
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
      <p>{texts.whyPassword}</p>
      <input type="hidden" name="username" autocomplete="username" value={account.username} />
      <label class="field">
        {texts.password}
        <input name="password" type="password" required autocomplete="current-password" />
      </label>
      <label class="field">
        {texts.name}
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
          {texts.register}
        </button>
      </div>
      <p role="status" class="error">
        {outcome?.text}
      </p>
      <p class="quiet">{texts.custodian}</p>
      <p class="quiet">{texts.notNow}</p>
    </form>
  );
}

function Waiting({ desk: { keys } }: { desk: Desk }) {
  return (
    <div class="dialog">
      <p role="status">{texts.waiting}</p>
      <Fingerprint text={keys.fingerprint.value} label={texts.fingerprint} />
      <p class="quiet">{texts.compare}</p>
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
