// Holds the texts of the panel with the sessions of a talkgroup that are online.

export const members = {
  title: (name: string) => `Members of ${name}`,
  online: (count: number) => `Online: ${count}`,
  none: 'No session is online.',
  more: 'Show more',
  failed: 'The list could not be loaded.',
} as const;
