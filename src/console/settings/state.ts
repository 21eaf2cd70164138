// Keeps the settings of this browser. They hold no secret, so they stay in localStorage.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';

export type Settings = {
  /** KeyboardEvent.code of the talk key. */
  talkKey: string;
  /** Time that speech is buffered before it is played (ms). The buffer grows by itself on a poor network. */
  jitterMs: number;
  /** `both`: everything on both ears. `sides`: selected talkgroups left, others right. `outputs`: on two devices. */
  listening: 'both' | 'sides' | 'outputs';
  /** Ids of audio outputs. Empty: the default one. */
  selectedOutput: string;
  unselectedOutput: string;
  /** The microphone is opened by a press and closed after it. */
  isMicrophoneOnDemand: boolean;
  /** Id of an audio input. Empty: the default one. */
  microphoneId: string;
  /** A question is answered in place of a button that is held, for an emergency and its end. */
  isConfirming: boolean;
  theme: Theme;
  /** The time of day is `14:05:32`, else `2:05:32 PM`. */
  is24Hour: boolean;
  /** The user has finished or left the first steps. */
  isSetUp: boolean;
  /** Letters, digits and signs are shortcuts outside of text fields. */
  areLettersOn: boolean;
  /** Screen readers say who talks. */
  areTalkersSaid: boolean;
  /** The system shows new alarms while the page is hidden. */
  areAlarmsNotified: boolean;
};

/** Of the colours. `system`: what the browser says. */
export type Theme = 'system' | 'light' | 'dark';

export const JITTER_MS = { min: 60, max: 300, step: 20 } as const;

export const defaults: Settings = {
  talkKey: 'Space',
  jitterMs: JITTER_MS.min,
  listening: 'both',
  selectedOutput: '',
  unselectedOutput: '',
  isMicrophoneOnDemand: false,
  ...{ microphoneId: '', isConfirming: false, theme: 'system', is24Hour: true, isSetUp: false },
  ...{ areLettersOn: true, areTalkersSaid: false, areAlarmsNotified: false },
};

/** localStorage, or what a test has in its place. */
export type Shelf = { getItem(key: string): string | null; setItem(key: string, text: string): void };

export type SettingsState = {
  readonly settings: ReadonlySignal<Settings>;
  change(changes: Partial<Settings>): void;
};

const KEY = 'talkgroup.settings';

/** Reads what an earlier visit stored. A value that this version does not know is replaced by its default. */
export function createSettings(shelf: Shelf): SettingsState {
  const settings: Signal<Settings> = signal(readSettings(readJson(shelf, KEY)));
  return {
    settings,
    change(changes) {
      settings.value = readSettings({ ...settings.peek(), ...changes });
      writeJson(shelf, KEY, settings.peek());
    },
  };
}

function readSettings(stored: unknown): Settings {
  const given = typeof stored === 'object' && stored !== null ? (stored as Partial<Settings>) : {};
  const { talkKey, jitterMs, listening, theme, isMicrophoneOnDemand } = given;
  const isJitter = typeof jitterMs === 'number' && jitterMs >= JITTER_MS.min && jitterMs <= JITTER_MS.max;
  return {
    talkKey: textIn(talkKey, defaults.talkKey),
    jitterMs: isJitter ? jitterMs : defaults.jitterMs,
    listening: listening === 'sides' || listening === 'outputs' ? listening : defaults.listening,
    selectedOutput: textIn(given.selectedOutput, ''),
    unselectedOutput: textIn(given.unselectedOutput, ''),
    isMicrophoneOnDemand: isMicrophoneOnDemand === true,
    microphoneId: textIn(given.microphoneId, ''),
    isConfirming: given.isConfirming === true,
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    is24Hour: given.is24Hour !== false,
    isSetUp: given.isSetUp === true,
    areLettersOn: given.areLettersOn !== false,
    areTalkersSaid: given.areTalkersSaid === true,
    areAlarmsNotified: given.areAlarmsNotified === true,
  };
}

const textIn = (value: unknown, otherwise: string) => (typeof value === 'string' ? value : otherwise);

/** null: nothing is stored, or storage is switched off. */
export function readJson(shelf: Shelf, key: string): unknown {
  try {
    return JSON.parse(shelf.getItem(key) ?? 'null');
  } catch {
    return null; // SyntaxError: not ours. SecurityError: the browser blocks storage
  }
}

/** The value is then lost with the page when the storage is full or switched off. */
export function writeJson(shelf: Shelf, key: string, value: unknown): void {
  try {
    shelf.setItem(key, JSON.stringify(value));
  } catch {
    // QuotaExceededError or SecurityError
  }
}
