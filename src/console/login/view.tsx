// Shows the login form.
import type { TargetedSubmitEvent } from 'preact';
import { loggedOut, logIn } from '../app/session.js';
import { texts } from '../app/texts.js';
import { createLogin } from './state.js';

const { login: words } = texts;
const login = createLogin(logIn);

export function Login() {
  const out = loggedOut.value;
  return (
    <main class="login card">
      <h1>{texts.title}</h1>
      {!isSecureContext && <p class="banner">{words.insecure}</p>}
      {out !== null && <p class="quiet">{words.out[out]}</p>}
      <form onSubmit={submit} class="dialog" aria-labelledby="login">
        <h2 id="login">{words.heading}</h2>
        <label class="field">
          {words.username}
          <input name="username" autocomplete="username" autocapitalize="none" spellcheck={false} required />
        </label>
        <label class="field">
          {words.password}
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <p role="alert" class="error">
          {login.failure.value}
        </p>
        <button type="submit" class="primary" disabled={login.isUnderWay.value}>
          {words.submit}
        </button>
      </form>
    </main>
  );
}

function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
  event.preventDefault();
  const form = new FormData(event.currentTarget);
  void login.submit(String(form.get('username')), String(form.get('password')));
}
