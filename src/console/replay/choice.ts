// Keeps the replay key of this browser. Beside the settings, because it is needed with the first call and not with a login.
import { type ReadonlySignal, signal } from '@preact/signals';
import { readJson, type Shelf, writeJson } from '../settings/state.js';

export type ReplayChoice = {
  /** KeyboardEvent.code. Empty: no key replays. */
  readonly key: ReadonlySignal<string>;
  choose(code: string): void;
};

export const DEFAULT_KEY = 'KeyR';
const KEY = 'talkgroup.replay-key';

export function createReplayChoice(shelf: Shelf): ReplayChoice {
  const stored = readJson(shelf, KEY);
  const key = signal(typeof stored === 'string' ? stored : DEFAULT_KEY);
  return {
    key,
    choose(code) {
      key.value = code;
      writeJson(shelf, KEY, code);
    },
  };
}
