// The step in which the user hears and sees that the microphone works.
import { useSignal, useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { dbfsOf, SILENT_DBFS } from '../../client/sound/level.js';
import type { Desk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import { HearYourself, LevelMeter, MicrophoneChoice, microphoneTrouble } from '../settings/microphone.js';
import { firstRun } from './texts.js';

const { microphone: words } = firstRun;

export function MicrophoneStep({ desk }: { desk: Desk }) {
  const { microphone, settings, firstRun: steps } = desk;
  const isHeard = useSignal(false);
  useSignalEffect(() => {
    if (dbfsOf(microphone.level.value) >= SILENT_DBFS) isHeard.value = true;
  });
  const isDone = settings.settings.value.isSetUp || steps.wasAllowed.value === true;
  const state = microphone.state.value;
  const next = useRef<HTMLButtonElement>(null);
  // The button that opened it is removed.
  useLayoutEffect(() => {
    if (state === 'open' && document.activeElement === document.body) next.current?.focus();
  }, [state]);
  if (isDone) return <p class="quiet">{words.is}</p>;
  const trouble = microphoneTrouble(state);
  return (
    <>
      <p class="quiet">{words.hint}</p>
      <div class="first-run-fields">
        <MicrophoneChoice desk={desk} />
        <LevelMeter desk={desk} />
      </div>
      <div class="first-run-fields">
        {state === 'open' ? (
          <HearYourself desk={desk} />
        ) : (
          <button
            type="button"
            class="primary"
            onClick={() => {
              steps.begin();
              microphone.open();
            }}
          >
            {words.open}
          </button>
        )}
        <p role="status" class={trouble === null ? 'heard' : 'error'}>
          {trouble}
          {isHeard.value && state === 'open' && (
            <>
              <Icon name="check" /> {words.heard}
            </>
          )}
        </p>
        <button
          ref={next}
          type="button"
          class={state === 'open' ? 'primary next' : 'next'}
          disabled={state !== 'open'}
          onClick={() => {
            steps.begin();
            settings.change({ isSetUp: true });
          }}
        >
          {words.next}
        </button>
      </div>
    </>
  );
}
