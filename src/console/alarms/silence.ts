// Sounds alarms: each new one, and again until it is acknowledged. The user can silence them for a time.
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Sound } from '../../client/sound/sound-types.js';

export type AlarmSound = {
  readonly isSilent: ReadonlySignal<boolean>;
  /** One sound, however many alarms are new. It ends a silence. */
  raised(): void;
  /** No alarm sounds again for SILENCE_MS. It acknowledges nothing. */
  silence(): void;
};

/** Until it is acknowledged, an alarm sounds again after this time. */
export const REPEAT_MS = 5_000;
export const SILENCE_MS = 60_000;

/**
 * `isRepeated`: whether the tone comes again, for users who can acknowledge. `isDue`: whether an alarm is not
 * acknowledged.
 */
export function createAlarmSound({
  tone,
  clock,
  isRepeated,
  isDue,
}: {
  tone: Sound['tone'];
  clock: Clock;
  isRepeated(): boolean;
  isDue(): boolean;
}): AlarmSound {
  const isSilent = signal(false);
  let cancel = () => {};
  return {
    isSilent,
    raised: sound,
    silence() {
      isSilent.value = true;
      again(SILENCE_MS);
    },
  };

  function sound(): void {
    isSilent.value = false;
    tone('alarm');
    if (isRepeated()) again(REPEAT_MS);
  }

  function again(ms: number): void {
    cancel();
    cancel = clock.after(ms, () => {
      isSilent.value = false;
      if (isDue()) sound();
    });
  }
}
