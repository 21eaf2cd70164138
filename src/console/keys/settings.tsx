// Shows the fingerprint of this browser in the settings, and the other devices of the account that have keys.
import { useEffect } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { texts as common } from '../app/texts.js';
import { ask } from '../dialogs/state.js';
import { deviceTexts as texts } from './device-texts.js';
import type { Keys, ListedHolder, Phase } from './state.js';
import { keys as words } from './texts.js';
import { Fingerprint } from './view.js';

const PASSWORD = 'accept-password';

export function KeysSettings({ desk: { keys, account } }: { desk: Desk }) {
  const others = keys.others.value;
  useEffect(() => {
    if (keys.others.peek() === null) void keys.reload();
  }, [keys]);
  const outcome = keys.outcome.value;
  const isWaiting = keys.waiting.value > 0;
  return (
    <div class="field">
      <p>{ownText(keys.phase.value)}</p>
      {keys.fingerprint.value !== null && (
        <Fingerprint text={keys.fingerprint.value} label={texts.fingerprint} />
      )}
      <h4>{texts.others}</h4>
      <p role="status" class={outcome?.isError ? 'error' : 'quiet'}>
        {outcome?.text}
      </p>
      {others === null && outcome?.isError && (
        <button type="button" onClick={() => void keys.reload()}>
          {common.tryAgain}
        </button>
      )}
      {others?.length === 0 && <p class="quiet">{texts.noOthers}</p>}
      {isWaiting && <p class="quiet">{texts.acceptHint}</p>}
      {isWaiting && !keys.mayAccept.value && <p class="quiet">{texts.acceptElsewhere}</p>}
      {isWaiting && keys.mayAccept.value && account.role !== 'admin' && (
        <label class="field">
          {texts.passwordToAccept}
          <input id={PASSWORD} type="password" autocomplete="current-password" />
        </label>
      )}
      <ul class="list">
        {others?.map((holder) => (
          <Other key={holder.holder_id} holder={holder} keys={keys} />
        ))}
      </ul>
      <p class="quiet">{texts.custodian}</p>
    </div>
  );
}

function Other({ holder, keys }: { holder: ListedHolder; keys: Keys }) {
  const { holder_id: id, name, fingerprint, accepted } = holder;
  const remove = async () => {
    if (await ask(texts.reallyRemove(name))) await keys.remove(id);
  };
  return (
    <li>
      <div>
        <bdi class="name">{name}</bdi>, <span class="quiet">{texts.state(accepted)}</span>
        <code class="fingerprint">{fingerprint}</code>
      </div>
      <span class="row">
        {!accepted && keys.mayAccept.value && (
          <button
            type="button"
            aria-label={texts.accept(name)}
            onClick={() => void keys.accept(id, passwordNow())}
          >
            {texts.short.accept}
          </button>
        )}
        <button type="button" aria-label={texts.remove(name)} onClick={remove}>
          {texts.short.remove}
        </button>
      </span>
    </li>
  );
}

/** Read when it is used, so that the page keeps it no longer than its field does. */
function passwordNow(): string {
  const field = document.getElementById(PASSWORD);
  return field instanceof HTMLInputElement ? field.value : '';
}

function ownText(phase: Phase): string {
  switch (phase) {
    case 'accepted':
      return texts.has;
    case 'waiting':
      return texts.waiting;
    case 'needed':
      return texts.toSetUp;
    case 'impossible':
      return words.impossible;
    default:
      return texts.none;
  }
}
