// Chooses the microphone, and shows and plays what it hears.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { listMicrophones } from '../../client/sound/microphones.js';
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { useDevices } from '../sound/devices.js';
import { Meter } from '../sound/meter.js';
import type { MicrophoneState } from '../talk/microphone.js';
import { settings as words } from './texts.js';

const BARS = 18;

type Props = { desk: Desk };

export function MicrophoneChoice({ desk: { microphone, settings } }: Props) {
  const { microphoneId } = settings.settings.value;
  const devices = useDevices(listMicrophones, microphone.state.value === 'open');
  const isListed = microphoneId === '' || devices.value.some(({ id }) => id === microphoneId);
  return (
    <label class="field">
      {words.microphone}
      <select
        value={microphoneId}
        onChange={(event) => {
          settings.change({ microphoneId: event.currentTarget.value });
          microphone.change();
        }}
      >
        <option value="">{words.defaultMicrophone}</option>
        {!isListed && <option value={microphoneId}>{words.missing}</option>}
        {devices.value.map(({ id, label }, index) => (
          <option key={id} value={id}>
            {label === '' ? words.numbered(index + 1) : label}
          </option>
        ))}
      </select>
    </label>
  );
}

export function LevelMeter({ desk: { microphone } }: Props) {
  return (
    <div class="level" role="img" aria-label={words.level}>
      <Meter level={microphone.level} bars={BARS} hasMark />
    </div>
  );
}

/** Until it is pressed again, or its page is left. A microphone that only a press opens is open that long. */
export function HearYourself({ desk: { microphone, settings, sound } }: Props) {
  const isOn = useSignal(false);
  const isOpen = microphone.state.value === 'open';
  const { isMicrophoneOnDemand } = settings.settings.value;
  useEffect(() => {
    if (!isOn.value) return;
    if (!isOpen) return microphone.open();
    sound.hearMicrophone(true);
    return () => sound.hearMicrophone(false);
  }, [isOn.value, isOpen, sound, microphone]);
  useEffect(() => {
    if (!isOn.value || !isMicrophoneOnDemand) return;
    return () => microphone.close();
  }, [isOn.value, isMicrophoneOnDemand, microphone]);
  return (
    <button
      type="button"
      aria-pressed={isOn.value}
      onClick={() => {
        isOn.value = !isOn.value;
      }}
    >
      {words.hearYourself}
    </button>
  );
}

/** Why there is no microphone. null: it is open, or was not asked for. */
export function microphoneTrouble(state: MicrophoneState): string | null {
  if (state === 'open' || state === 'asking' || state === 'closed') return null;
  return texts.sound.microphone[state];
}
