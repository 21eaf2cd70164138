// Shows the settings of this browser and of the account as a page. Each change applies at once.
import { useSignal } from '@preact/signals';
import type { ComponentChildren, TargetedEvent } from 'preact';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { KeysSettings } from '../keys/settings.js';
import { PhoneSettings } from '../phone/settings.js';
import { DEFAULT_KEY } from '../replay/choice.js';
import { mayReplay } from '../replay/keys.js';
import { ownChoice } from '../replay/own-choice.js';
import { mayTalk } from '../talk/keys.js';
import { AccountSettings } from './account-view.js';
import { KeyChoice } from './key-choice.js';
import { SoundSettings } from './sound-view.js';
import type { Theme } from './state.js';
import { settings as words } from './texts.js';

type Props = { desk: Desk };

const themes = ['system', 'light', 'dark'] as const;

export default function SettingsPage() {
  const desk = currentDesk.value;
  if (desk === null) return null;
  return (
    <div class="settings">
      <h2>{words.title}</h2>
      <p class="quiet said">{words.hint}</p>
      <Section name="sound">
        <SoundSettings desk={desk} />
      </Section>
      <Section name="keys">
        <TalkKey desk={desk} />
        <ReplayKey />
        <Confirming desk={desk} />
        <Check desk={desk} choice="areLettersOn" text={words.letters} hint={words.lettersHint} />
      </Section>
      <Section name="look">
        <LookSettings desk={desk} />
      </Section>
      <Section name="notices">
        <Check desk={desk} choice="areTalkersSaid" text={words.sayTalkers} hint={words.sayTalkersHint} />
        <Notifying desk={desk} />
      </Section>
      <Section name="encryption">
        <KeysSettings desk={desk} />
      </Section>
      <PhoneSettings />
      <Section name="account">
        <AccountSettings desk={desk} />
      </Section>
      <p class="quiet">
        <a href="licenses.txt" target="_blank" rel="noreferrer">
          {words.licenses}
        </a>
      </p>
    </div>
  );
}

function Section({ name, children }: { name: keyof typeof words.sections; children: ComponentChildren }) {
  const id = `settings-${name}`;
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{words.sections[name]}</h3>
      <div>{children}</div>
    </section>
  );
}

function TalkKey({ desk: { settings } }: Props) {
  return (
    <KeyChoice
      name={words.talkKey}
      code={settings.settings.value.talkKey}
      change={words.change}
      press={words.press}
      hint={words.talkKeyHint}
      mayBe={mayTalk}
      choose={(talkKey) => settings.change({ talkKey })}
    />
  );
}

function ReplayKey() {
  const code = ownChoice.key.value;
  return (
    <KeyChoice
      name={words.replayKey}
      code={code}
      change={words.changeReplay}
      press={words.pressReplay}
      hint={words.replayKeyHint}
      mayBe={mayReplay}
      choose={ownChoice.choose}
    >
      <button
        type="button"
        aria-pressed={code === ''}
        onClick={() => ownChoice.choose(code === '' ? DEFAULT_KEY : '')}
      >
        {words.noReplayKey}
      </button>
    </KeyChoice>
  );
}

function Confirming({ desk: { settings } }: Props) {
  const { isConfirming } = settings.settings.value;
  return (
    <div class="field">
      <button
        type="button"
        aria-pressed={isConfirming}
        onClick={() => settings.change({ isConfirming: !isConfirming })}
      >
        {words.confirming}
      </button>
      <p class="quiet">{words.confirmingHint}</p>
    </div>
  );
}

type CheckBoxProps = {
  text: string;
  isChecked: boolean;
  onChange(event: TargetedEvent<HTMLInputElement>): void;
};

function CheckBox({ text, isChecked, onChange }: CheckBoxProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={isChecked} onChange={onChange} />
      {text}
    </label>
  );
}

type CheckProps = Props & { choice: 'areLettersOn' | 'areTalkersSaid'; text: string; hint: string };

function Check({ desk: { settings }, choice, text, hint }: CheckProps) {
  return (
    <div class="field">
      <CheckBox
        text={text}
        isChecked={settings.settings.value[choice]}
        onChange={({ currentTarget }) => settings.change({ [choice]: currentTarget.checked })}
      />
      <p class="quiet">{hint}</p>
    </div>
  );
}

/** The browser asks the user at the first time. */
function Notifying({ desk: { settings } }: Props) {
  const isRefused = useSignal(false);
  if (!('Notification' in globalThis)) return null;
  const choose = async (isWanted: boolean) => {
    const answer = isWanted ? await Notification.requestPermission() : 'default';
    isRefused.value = answer === 'denied';
    settings.change({ areAlarmsNotified: answer === 'granted' });
  };
  return (
    <div class="field">
      <CheckBox
        text={words.notify}
        isChecked={settings.settings.value.areAlarmsNotified}
        onChange={({ currentTarget }) => {
          void choose(currentTarget.checked);
          // Until the user has answered.
          currentTarget.checked = settings.settings.peek().areAlarmsNotified;
        }}
      />
      <p role="status" class="quiet said">
        {isRefused.value ? words.notifyRefused : words.notifyHint}
      </p>
    </div>
  );
}

function LookSettings({ desk: { settings } }: Props) {
  const { theme, is24Hour } = settings.settings.value;
  return (
    <>
      <label class="field">
        {words.theme}
        <select
          value={theme}
          onChange={(event) => settings.change({ theme: event.currentTarget.value as Theme })}
        >
          {themes.map((one) => (
            <option key={one} value={one}>
              {words.themes[one]}
            </option>
          ))}
        </select>
      </label>
      <button type="button" aria-pressed={is24Hour} onClick={() => settings.change({ is24Hour: !is24Hour })}>
        {words.clock}
      </button>
    </>
  );
}
