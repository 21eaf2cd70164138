// Holds the texts of the dialog with the members of a talkgroup.
export const members = {
  title: (name: string) => `Members of ${name}`,
  online: (count: number) => `Online: ${count}`,
  none: 'No session is online.',
  more: 'Show more',
  failed: 'The list could not be loaded.',
  all: 'All members',
  add: 'Add a member',
  search: 'Username begins with',
  addOne: (username: string) => `Add ${username}`,
  takeOut: (username: string) => `Take out ${username}`,
  revoke: (username: string) => `Revoke tokens of ${username}`,
  short: { add: 'Add', takeOut: 'Take out', revoke: 'Revoke tokens' },
  noMatch: 'No user has such a name.',
  done: 'Done.',
  notDone: (error: string) => `Not possible: ${error}.`,
  site: (site: string) => `Site ${site}`,
} as const;
