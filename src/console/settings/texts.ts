// Holds the texts of the dialog with the settings.
export const settings = {
  title: 'Settings',
  talkKey: 'Talk key',
  change: 'Change the talk key',
  press: 'Press the new talk key. Escape keeps the present one.',
  unusable: 'This key operates the page. Choose another one.',
  hint: 'With the space bar as talk key, press buttons with Enter. A foot pedal is a keyboard with one key.',
  jitter: 'Buffer before speech is played',
  ms: (ms: number) => `${ms} ms`,
  jitterHint:
    'More for a poor network. It grows by itself when speech breaks up. A new value counts from the next load of the page.',
  listening: 'Where talkgroups are heard',
  both: 'All on both ears',
  sides: 'Selected left, others right',
  outputs: 'Selected and others on two devices',
  selectedOutput: 'Output of selected talkgroups',
  unselectedOutput: 'Output of other talkgroups',
  defaultOutput: 'Default output',
  onDemand: 'Open the microphone only while a talk button is held',
  onDemandHint: 'Opening it takes some tenths of a second, which cost the first syllable.',
  everywhereHint:
    'Revokes all tokens of your account, also those of your phones. It takes their keys, and an administrator must accept the next one.',
} as const;
