// The section of the settings about the account: its password, and the end of all its logins.
import { type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { logOutEverywhere } from '../app/session.js';
import { texts } from '../app/texts.js';
import { ask } from '../dialogs/state.js';
import { createPasswordChange } from './password.js';
import { settings as words } from './texts.js';

const { account: names } = texts;
const failure: Signal<string | null> = signal(null);

export function AccountSettings({ desk: { account } }: { desk: Desk }) {
  return (
    <>
      <PasswordForm account={account} />
      <Everywhere />
    </>
  );
}

function PasswordForm({ account }: { account: Desk['account'] }) {
  const change = useMemo(() => createPasswordChange(account.rest), [account]);
  const outcome = change.outcome.value;
  return (
    <form
      class="field"
      onSubmit={async (event) => {
        event.preventDefault();
        const form = event.currentTarget;
        const data = new FormData(form);
        const passwords = { oldPassword: String(data.get('old')), newPassword: String(data.get('new')) };
        if (await change.submit(passwords)) form.reset();
      }}
    >
      <input type="hidden" name="username" autocomplete="username" value={account.username} />
      <label class="field">
        {words.oldPassword}
        <input name="old" type="password" required autocomplete="current-password" />
      </label>
      <label class="field">
        {words.newPassword}
        <input name="new" type="password" required autocomplete="new-password" />
      </label>
      <p role="status" class={outcome?.isError ? 'error' : 'quiet said'}>
        {outcome?.text}
      </p>
      <button type="submit" class="primary" aria-disabled={change.isBusy.value}>
        {words.changePassword}
      </button>
      <p class="quiet">{words.passwordHint}</p>
    </form>
  );
}

function Everywhere() {
  const leave = async () => {
    failure.value = null;
    if (!(await ask(words.reallyEverywhere))) return;
    logOutEverywhere().catch((error: Error) => {
      failure.value = names.everywhereFailed(error.message);
    });
  };
  return (
    <div class="field">
      <button type="button" onClick={leave}>
        {names.logOutEverywhere}
      </button>
      <p class="quiet">{words.everywhereHint}</p>
      <p role="alert" class="error">
        {failure.value}
      </p>
    </div>
  );
}
