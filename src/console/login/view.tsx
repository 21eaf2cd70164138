// Shows the login form in a card of fixed size.
import { signal } from '@preact/signals';
import type { TargetedSubmitEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { systemClock } from '../../client/clock.js';
import { loadConfig } from '../app/config.js';
import { firstTexts as texts } from '../app/first-texts.js';
import { loggedOut, logIn } from '../app/session.js';
import { Icon } from '../icons/icon.js';
import { PasswordField } from './password-field.js';
import { createLogin } from './state.js';

const { login: words } = texts;
const login = createLogin(logIn, systemClock);
/** Of the service. Empty until it is known. */
const version = signal('');

export function Login() {
  const out = loggedOut.value;
  const username = useRef<HTMLInputElement>(null);
  useEffect(() => {
    username.current?.focus();
    loadConfig().then(
      (config) => {
        version.value = config.version;
      },
      () => {}, // RestError: the login says that there is no network
    );
  }, []);
  return (
    <main class="login">
      <form onSubmit={submit} onInput={login.cancel} class="card" aria-labelledby="login">
        <h1>
          <span class="mark">
            <Icon name="radio-tower" />
          </span>
          {texts.title}
          <span class="quiet">{version.value}</span>
        </h1>
        <h2 id="login">{words.heading}</h2>
        <label class="field">
          {words.username}
          <input
            ref={username}
            name="username"
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            required
          />
        </label>
        <PasswordField text={words.password} autocomplete="current-password" />
        <p role="alert" class="error">
          {login.failure.value}
        </p>
        <button type="submit" class="primary" disabled={login.isUnderWay.value}>
          {words.submit}
        </button>
      </form>
      {!isSecureContext && <p>{words.insecure}</p>}
      {out !== null && <p role="status">{words.out[out]}</p>}
    </main>
  );
}

function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
  event.preventDefault();
  const form = new FormData(event.currentTarget);
  void login.submit(String(form.get('username')), String(form.get('password')));
}
