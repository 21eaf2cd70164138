// Keeps what the user chose for this phone.
import { type ReadonlySignal, signal } from '@preact/signals';
import { readJson, type Shelf, writeJson } from '../settings/state.js';

export type PhoneChoices = {
  readonly keepsScreenOn: ReadonlySignal<boolean>;
  /** The key of a headset talks. */
  readonly isHeadsetOn: ReadonlySignal<boolean>;
  change(changes: { keepsScreenOn?: boolean; isHeadsetOn?: boolean }): void;
};

const KEY = 'talkgroup.phone';

/** Both are off until the user switches them on. */
export function createPhoneChoices(shelf: Shelf): PhoneChoices {
  const stored = (readJson(shelf, KEY) ?? {}) as Partial<Record<string, unknown>>; // checked in the next lines
  const keepsScreenOn = signal(stored.keepsScreenOn === true);
  const isHeadsetOn = signal(stored.isHeadsetOn === true);
  return {
    keepsScreenOn,
    isHeadsetOn,
    change(changes) {
      keepsScreenOn.value = changes.keepsScreenOn ?? keepsScreenOn.peek();
      isHeadsetOn.value = changes.isHeadsetOn ?? isHeadsetOn.peek();
      writeJson(shelf, KEY, { keepsScreenOn: keepsScreenOn.peek(), isHeadsetOn: isHeadsetOn.peek() });
    },
  };
}
