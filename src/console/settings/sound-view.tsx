// The section of the settings about microphone, outputs and buffer.
import type { Desk } from '../app/desk.js';
import { Listening } from './listening.js';
import { HearYourself, LevelMeter, MicrophoneChoice, microphoneTrouble } from './microphone.js';
import { JITTER_MS } from './state.js';
import { settings as words } from './texts.js';

type Props = { desk: Desk };

export function SoundSettings({ desk }: Props) {
  return (
    <>
      <div class="field">
        <MicrophoneChoice desk={desk} />
        <LevelMeter desk={desk} />
        <p role="status" class="quiet said">
          {levelText(desk)}
        </p>
        <div class="row">
          <HearYourself desk={desk} />
          <span class="quiet">{words.hearHint}</span>
        </div>
      </div>
      <OnDemand desk={desk} />
      <Listening desk={desk} />
      <Jitter desk={desk} />
    </>
  );
}

function levelText({ microphone }: Desk): string {
  const state = microphone.state.value;
  if (state === 'open') return microphone.isReplaced.value ? words.replaced : words.levelHint;
  return microphoneTrouble(state) ?? words.closed;
}

function Jitter({ desk: { settings } }: Props) {
  const { jitterMs } = settings.settings.value;
  return (
    <div class="field">
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
    </div>
  );
}

function OnDemand({ desk: { settings, microphone } }: Props) {
  const { isMicrophoneOnDemand } = settings.settings.value;
  const toggle = () => {
    settings.change({ isMicrophoneOnDemand: !isMicrophoneOnDemand });
    if (isMicrophoneOnDemand) microphone.open();
    else microphone.close();
  };
  return (
    <div class="field">
      <button type="button" aria-pressed={isMicrophoneOnDemand} onClick={toggle}>
        {words.onDemand}
      </button>
      <p class="quiet">{words.onDemandHint}</p>
    </div>
  );
}
