// Declares the causes for which a radio may hear nothing, and how one is said.

/** The causes, in the order in which they are told. `findingsOf` has the exceptions. */
export const findingCodes = [
  'device_disabled',
  'rejected',
  'relay_silent',
  'no_session',
  'detached',
  'no_talkgroup',
  'not_member',
  'no_permission',
  'no_holder',
  'unsubscribed',
  'events_only',
  'lagging',
  'reach',
  'quiet',
  'in_order',
  'no_device',
] as const;

export interface Finding {
  readonly code: (typeof findingCodes)[number];
  /** One or two sentences. */
  readonly text: string;
  /** What helps. */
  readonly action: string;
}
