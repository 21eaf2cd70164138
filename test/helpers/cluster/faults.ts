// Faults that a test plants into relays in virtual time, to show that the histories find them.

export const faults = [
  'no turn gap',
  'no mutual hearing',
  'no top',
  'a relay answers that is not the home',
  'verdicts of an old part are taken',
  'verdicts from anybody',
  'the order ignores after',
  'a foreign turn is not held',
  'a running burst is forgotten',
  'a claim is kept after retry_later',
] as const;
export type Fault = (typeof faults)[number];
