// Holds the texts about encryption and keys in the shell, the settings and on tiles.
import type { UnopenedReason } from '../../client/radio.js';

export const keys = {
  label: 'Keys',
  browser: 'Browser',

  setUp: 'Set up keys',
  needed: 'Speech is encrypted in one of your talkgroups. This browser has no keys for it yet.',
  whyPassword:
    'Speech is encrypted in one of your talkgroups. To give keys to this browser, the service needs your password.',
  password: 'Password',
  name: 'Name of this browser, for your list of devices',
  register: 'Set up',
  notNow: 'Close to do it later. Until then you do not hear encrypted speech.',
  impossible:
    'This browser cannot keep a key, for example in a private window. Use another window to hear encrypted speech.',

  waiting:
    'This browser waits for its keys. Accept it in the settings of a device of yours that has keys, or ask an administrator to accept it.',
  waitingShort: 'This browser waits to be accepted before it gets keys.',
  show: 'Show what to do',
  compare: 'Read the fingerprint out. The person who accepts it must see the same digits.',
  fingerprint: 'Fingerprint of this browser',
  custodian:
    'The service holds the keys. Speech is hidden from networks and proxies, and not from the operator of the service.',

  othersWait: (count: number) =>
    count === 1
      ? 'A new device of your account waits to be accepted. It gets no keys until then.'
      : `${count} new devices of your account wait to be accepted. They get no keys until then.`,
  look: 'Look at the devices',

  none: 'This browser has no keys. It asks when a talkgroup needs them.',
  toSetUp: 'This browser has no keys yet. Close the settings and press Set up keys.',
  has: 'This browser has keys. When one is missing in a talkgroup, an administrator can look for the reason.',
  others: 'Other devices of your account',
  noOthers: 'There is no other one.',
  state: (isAccepted: boolean) => (isAccepted ? 'accepted' : 'waits to be accepted'),
  accept: (name: string) => `Accept ${name}`,
  remove: (name: string) => `Delete ${name}`,
  short: { accept: 'Accept', remove: 'Delete' },
  acceptHint:
    'Accept a device only when its owner reads out the same digits. If you do not know a device, delete it and tell an administrator.',
  passwordToAccept: 'Your password, to accept a device',
  acceptElsewhere: 'Only a device that has keys can accept another one.',
  acceptedNow: 'Accepted. The device gets its keys now.',
  deleted: 'Deleted. The keys of talkgroups that require encryption change.',
  wrongPassword: 'Wrong password.',
  tooMany: (s: number | null) => `Too many attempts. Try again ${s === null ? 'later' : `in ${s} s`}.`,
  failed: (error: string) => `Not possible: ${error}.`,

  lock: {
    required: 'Encryption required, keys held by the service',
    without: {
      needed: 'You hear and say nothing here until this browser has keys. Press Set up keys.',
      waiting: 'You hear and say nothing here until this browser is accepted. Press Show what to do.',
      impossible:
        'You hear and say nothing here, because this browser cannot keep a key. Use another window.',
    },
    chosenWithout:
      'You say nothing here until this browser has keys and is accepted, or until you switch off Encrypt.',
    chosen: 'You encrypt what you say, keys held by the service',
    chosenOff: 'Encryption is off here. You cannot talk until you switch off Encrypt.',
    forbidden: 'You may not have keys here, so you hear and say nothing. Ask an administrator to allow them.',
    noLonger: 'Encryption is not required here any more. Speech may be clear.',
    confirm: (name: string) => `I know that speech in ${name} may be clear`,
    confirmShort: 'I know',
    encrypt: (name: string) => `Encrypt what I say in ${name}`,
    encryptShort: 'Encrypt',
    encrypted: 'encrypted',
    clear: 'CLEAR',
    clearHint: 'not encrypted',
    cannotOpen: 'cannot open',
    cutOff: (text: string) => `${text}, cut off`,
    reasons: {
      no_key: 'The key has not come. See Keys in Settings.',
      old_epoch: 'The talker uses an old key. Ask the talker to connect again.',
      keys_behind: 'The keys here are older than those you have used. Ask the operator to renew them.',
      suite: 'This console does not know the encryption. Load the page again.',
      changed: 'Speech was changed on the way. Tell the operator.',
      repeated: 'Speech from before was played again. Tell the operator.',
      clear: 'Clear speech was mixed in. Tell the operator.',
      unannounced: 'The talker did not say how the speech is encrypted.',
      codec: 'The speech is not Opus, and this console plays nothing else.',
    } satisfies Record<UnopenedReason | 'codec', string>,
  },
} as const;
