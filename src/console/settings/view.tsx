// Shows the settings of this browser in a dialog.
import { type Signal, signal } from '@preact/signals';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { logOutEverywhere } from '../app/session.js';
import { texts } from '../app/texts.js';
import { Dialog } from '../dialogs/dialog.js';
import { KeysSettings } from '../keys/settings.js';
import { keyName, mayTalk } from '../talk/keys.js';
import { Listening } from './listening.js';
import { JITTER_MS } from './state.js';
import { settings as words } from './texts.js';

const { account } = texts;
const failure: Signal<string | null> = signal(null);
/** `waiting`: the next key becomes the talk key. */
const asking: Signal<'no' | 'waiting' | 'unusable'> = signal('no');

export default function SettingsDialog() {
  const desk = currentDesk.value;
  if (desk === null || !desk.isSettingsOpen.value) return null;
  return (
    <Dialog
      name={words.title}
      onClose={() => {
        asking.value = 'no';
        desk.isSettingsOpen.value = false;
      }}
    >
      <TalkKey desk={desk} />
      <Listening desk={desk} />
      <Jitter desk={desk} />
      <OnDemand desk={desk} />
      <KeysSettings desk={desk} />
      <Account />
    </Dialog>
  );
}

function TalkKey({ desk: { settings } }: { desk: Desk }) {
  const { talkKey } = settings.settings.value;
  const take = (event: KeyboardEvent) => {
    if (asking.value === 'no' || event.code === 'Tab') return;
    event.preventDefault();
    // The talk key must not talk while it is chosen.
    event.stopPropagation();
    if (event.code === 'Escape') asking.value = 'no';
    else if (!mayTalk(event.code)) asking.value = 'unusable';
    else {
      settings.change({ talkKey: event.code });
      asking.value = 'no';
    }
  };
  return (
    <section class="field">
      <h3>
        {words.talkKey}: {keyName(talkKey)}
      </h3>
      <button
        type="button"
        onClick={(event) => {
          event.currentTarget.focus(); // Safari does not
          asking.value = 'waiting';
        }}
        onKeyDown={take}
        onBlur={() => {
          asking.value = 'no';
        }}
      >
        {words.change}
      </button>
      <p role="status">{{ no: '', waiting: words.press, unusable: words.unusable }[asking.value]}</p>
      <p class="quiet">{words.hint}</p>
    </section>
  );
}

function Jitter({ desk: { settings } }: { desk: Desk }) {
  const { jitterMs } = settings.settings.value;
  return (
    <section class="field">
      <label class="field">
        <span>
          {words.jitter}: {words.ms(jitterMs)}
        </span>
        <input
          type="range"
          {...JITTER_MS}
          value={jitterMs}
          aria-valuetext={words.ms(jitterMs)}
          onInput={(event) => settings.change({ jitterMs: event.currentTarget.valueAsNumber })}
        />
      </label>
      <p class="quiet">{words.jitterHint}</p>
    </section>
  );
}

function OnDemand({ desk: { settings, microphone } }: { desk: Desk }) {
  const { isMicrophoneOnDemand } = settings.settings.value;
  const toggle = () => {
    settings.change({ isMicrophoneOnDemand: !isMicrophoneOnDemand });
    if (isMicrophoneOnDemand) microphone.open();
    else microphone.close();
  };
  return (
    <section class="field">
      <button type="button" aria-pressed={isMicrophoneOnDemand} onClick={toggle}>
        {words.onDemand}
      </button>
      <p class="quiet">{words.onDemandHint}</p>
    </section>
  );
}

function Account() {
  const leave = () => {
    failure.value = null;
    logOutEverywhere().catch((error: Error) => {
      failure.value = account.everywhereFailed(error.message);
    });
  };
  return (
    <section class="field">
      <button type="button" class="danger" onClick={leave}>
        {account.logOutEverywhere}
      </button>
      <p class="quiet">{words.everywhereHint}</p>
      <p role="alert" class="error">
        {failure.value}
      </p>
    </section>
  );
}
