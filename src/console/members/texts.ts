// Holds the texts of the dialog with the members of a talkgroup.
import { isolated } from '../app/isolated.js';

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
  reallyTakeOut: (username: string, talkgroup: string) => ({
    title: `Take ${isolated(username)} out of ${isolated(talkgroup)}?`,
    consequence: 'The user hears nothing more of the talkgroup, and talks there no more.',
    confirm: 'Take out',
  }),
  reallyRevoke: (username: string) => ({
    title: `Revoke the tokens of ${isolated(username)}?`,
    consequence: 'The user is logged out on every device at once, and must log in again.',
    confirm: 'Revoke tokens',
  }),
  short: { add: 'Add', takeOut: 'Take out', revoke: 'Revoke tokens' },
  noMatch: 'No user has such a name.',
  done: 'Done.',
  notDone: (error: string) => `Not possible: ${error}.`,
  site: (site: string) => `Site ${site}`,
} as const;
