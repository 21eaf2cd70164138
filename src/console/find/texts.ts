// Holds the texts of the field that finds talkgroups and users.
export const find = {
  name: 'Find a talkgroup or user',
  results: 'Found',
  talkgroup: 'Talkgroup',
  user: 'User',
  found: (count: number) => (count === 1 ? '1 found' : `${count} found`),
  none: 'Nothing found',
} as const;
