// Shows the title, the connection in words, and what belongs to the account.
import { connectionText } from './connection.js';
import type { Desk } from './desk.js';
import { logOut } from './session.js';
import { texts } from './texts.js';
import { nowMs } from './ticking.js';

const { account: words } = texts;

export function Header({ desk }: { desk: Desk }) {
  const { username } = desk.account;
  return (
    <header class="header">
      <h1>{texts.title}</h1>
      <Connection desk={desk} />
      {/* biome-ignore lint/a11y/useSemanticElements: not a form, and a fieldset has a border and a size of its own */}
      <div class="account" role="group" aria-label={words.label}>
        <span class="visually-hidden">{words.loggedInAs}</span>
        <bdi class="name line">{username}</bdi>
        <button type="button" onClick={() => open(desk)}>
          {words.settings}
        </button>
        <button type="button" onClick={() => logOut('by_user')}>
          {words.logOut}
        </button>
      </div>
    </header>
  );
}

/** The time until the next attempt is shown second by second, and said once. */
function Connection({ desk }: { desk: Desk }) {
  const view = desk.connection.value;
  const isCounting = view.state === 'waiting';
  const shown = connectionText(view, isCounting ? nowMs.value : 0);
  const said = connectionText(view, Number.POSITIVE_INFINITY);
  return (
    <div class="connection">
      <p class={shown.isTrouble ? 'error' : 'quiet'} aria-hidden="true">
        {shown.text}
      </p>
      <p role="status" aria-label={texts.connection.label} class="visually-hidden">
        {said.text}
      </p>
      {isCounting && (
        <button type="button" onClick={() => desk.link.send({ kind: 'reconnect' })}>
          {texts.connection.reconnect}
        </button>
      )}
    </div>
  );
}

function open({ isSettingsOpen }: Desk): void {
  isSettingsOpen.value = true;
}
