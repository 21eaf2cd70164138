// Holds the texts about the devices with keys, in the dialog and the settings.
import { isolated } from '../app/isolated.js';

export const deviceTexts = {
  whyPassword:
    'Speech is encrypted in one of your talkgroups. To give keys to this browser, the service needs your password.',
  password: 'Password',
  name: 'Name of this browser, for your list of devices',
  register: 'Set up',
  notNow: 'Close to do it later. Until then you do not hear encrypted speech.',
  waiting:
    'This browser waits for its keys. Accept it in the settings of a device of yours that has keys, or ask an administrator to accept it.',
  compare: 'Read the fingerprint out. The person who accepts it must see the same digits.',
  fingerprint: 'Fingerprint of this browser',
  custodian:
    'The service holds the keys. Speech is hidden from networks and proxies, and not from the operator of the service.',
  none: 'This browser has no keys. It asks when a talkgroup needs them.',
  toSetUp: 'This browser has no keys yet. Press Set up keys at the lower end of the page.',
  has: 'This browser has keys. When one is missing in a talkgroup, an administrator can look for the reason.',
  others: 'Other devices of your account',
  noOthers: 'There is no other one.',
  state: (isAccepted: boolean) => (isAccepted ? 'accepted' : 'waits to be accepted'),
  accept: (name: string) => `Accept ${name}`,
  remove: (name: string) => `Delete ${name}`,
  reallyRemove: (name: string) => ({
    title: `Delete ${isolated(name)}?`,
    consequence:
      'It loses its keys, and talkgroups that require encryption get new ones. Accept it again to give it keys.',
    confirm: 'Delete',
  }),
  short: { accept: 'Accept', remove: 'Delete' },
  acceptHint:
    'Accept a device only when its owner reads out the same digits. If you do not know a device, delete it and tell an administrator.',
  passwordToAccept: 'Your password, to accept a device',
  acceptElsewhere: 'Only a device that has keys can accept another one.',
} as const;
