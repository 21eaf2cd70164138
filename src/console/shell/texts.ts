// Holds the texts of the regions around the view.
export const shell = {
  hearNothing: (clock: string) => `You have heard no talkgroup since ${clock}.`,
  neverConnected: 'You hear no talkgroup yet.',
  side: 'Alarms and last calls',
  bar: {
    none: 'No open alarms',
    alarms: (count: number) => (count === 1 ? '1 alarm' : `${count} alarms`),
    fresh: (count: number) => `${count} new`,
    show: 'Show',
    hide: 'Hide',
  },
  outputs: {
    all: 'All: both ears',
    selected: (where: string) => `Selected: ${where}`,
    others: (where: string) => `Others: ${where}`,
    left: 'left',
    right: 'right',
    byDefault: 'default output',
  },
} as const;
