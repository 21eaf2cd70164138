// Shows the page of a setup code: the user chooses a password and is logged in.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { callRest, RestError } from '../../client/rest.js';
import { SETUP_HASH } from '../../client/setup-link.js';
import { createAttempt } from '../app/attempt.js';
import { firstTexts } from '../app/first-texts.js';
import { keepToken } from '../app/session.js';
import { Icon } from '../icons/icon.js';
import { PasswordField } from '../login/password-field.js';
import { page as words } from './texts.js';

export default function Setup() {
  const attempt = useMemo(() => createAttempt(failureText), []);
  const password = useRef<HTMLInputElement>(null);
  useEffect(() => password.current?.focus(), []);
  const outcome = attempt.outcome.value;
  return (
    <main class="login setup">
      <form
        class="card"
        aria-labelledby="setup"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const body = { code: String(data.get('code')), password: String(data.get('password')) };
          void attempt.run(async () => {
            const { jwt } = await callRest<{ jwt: string }>({ method: 'POST', path: '/auth/setup', body });
            keepToken(jwt);
            leave();
            return null;
          });
        }}
      >
        <h1 id="setup">
          <span class="mark">
            <Icon name="radio-tower" />
          </span>
          {words.heading}
        </h1>
        <label class="field">
          {words.code}
          <input
            name="code"
            required
            autocomplete="off"
            autocapitalize="characters"
            spellcheck={false}
            defaultValue={codeIn(location.hash)}
          />
        </label>
        <PasswordField text={words.password} autocomplete="new-password" field={password} />
        <p class="quiet">{words.hint}</p>
        <p role="alert" class="error">
          {outcome?.text}
        </p>
        <button type="submit" class="primary" aria-disabled={attempt.isBusy.value}>
          {words.submit}
        </button>
        <button type="button" onClick={leave}>
          {words.login}
        </button>
      </form>
    </main>
  );
}

function codeIn(hash: string): string {
  try {
    return decodeURIComponent(hash.slice(SETUP_HASH.length));
  } catch {
    return ''; // URIError: a link that was cut
  }
}

/** The page loads anew without the code in its address. */
function leave(): void {
  history.replaceState(null, '', location.pathname);
  location.reload();
}

function failureText(error: unknown): string {
  if (!(error instanceof RestError)) throw error;
  if (error.code === 'setup_code_invalid') return words.invalid;
  if (error.code === 'device_inactive') return firstTexts.login.disabled;
  // A lost answer, too: the code may be used.
  if (error.status === 0 || error.code === 'outcome_unknown') return words.unknown;
  if (error.code === 'relay_unconfirmed') return words.stored;
  if (error.code === 'too_many_wrong_passwords') return words.tooMany(error.retryAfterS ?? 60);
  if (error.status === 503) return words.busy;
  return words.failed(error.message);
}
