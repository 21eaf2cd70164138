// Holds the texts about encryption and keys in the shell and on tiles.
import type { UnopenedReason } from '../../client/radio.js';

export const keys = {
  label: 'Keys',
  browser: 'Browser',

  setUp: 'Set up keys',
  needed: (count: number) =>
    count === 1
      ? 'A talkgroup needs keys in this browser.'
      : `${count} talkgroups need keys in this browser.`,
  impossible:
    'This browser cannot keep a key, as in a private window. Use another one to hear encrypted speech.',

  waitingShort: 'This browser waits to be accepted before it gets keys.',
  show: 'Show what to do',

  othersWait: (count: number) =>
    count === 1
      ? 'A new device of your account waits to be accepted.'
      : `${count} new devices of your account wait to be accepted.`,
  look: 'Look at the devices',

  acceptedNow: 'Accepted. The device gets its keys now.',
  deleted: 'Deleted. The keys of talkgroups that require encryption change.',
  wrongPassword: 'Wrong password.',
  tooMany: (s: number | null) => `Too many attempts. Try again ${s === null ? 'later' : `in ${s} s`}.`,
  failed: (error: string) => `Not possible: ${error}.`,

  lock: {
    required: 'Always encrypted. The operator can still hear it.',
    without: {
      needed: 'This browser has no key here yet. You hear nothing. Press Set up keys.',
      waiting: 'This browser has no key here yet. You hear nothing. Press Show what to do.',
      impossible: 'This browser cannot keep a key. You hear nothing here.',
    },
    chosenWithout: 'You say nothing here until this browser has keys, or you switch off Encrypt.',
    chosen: 'You encrypt what you say. The operator can still hear it.',
    chosenOff: 'Encryption is off here. You cannot talk until you switch off Encrypt.',
    forbidden: 'You may not have keys here. Ask an administrator to allow them.',
    noLonger: 'Encryption is not required here any more. Speech may be clear.',
    confirm: (name: string) => `I know that speech in ${name} may be clear`,
    confirmShort: 'I know',
    /** In a tile, with the sentence in its menu. */
    offShort: 'Encryption off',
    encrypt: (name: string) => `Encrypt what I say in ${name}`,
    encryptShort: 'Encrypt',
    encrypted: 'encrypted',
    clear: 'CLEAR',
    clearHint: 'not encrypted',
    cannotOpen: 'not heard',
    cutOff: (text: string) => `${text}, cut off`,
    reasons: {
      no_key: 'The key has not come. See Encryption in Settings.',
      old_epoch: 'The talker uses an old key. Ask the talker to connect again.',
      keys_behind: 'The keys here are older than those you have used. Ask the operator to renew them.',
      suite: 'This console does not know the encryption. Load the page again.',
      changed: 'Speech was changed on the way. Tell the operator.',
      repeated: 'Speech from before was played again. Tell the operator.',
      clear: 'Clear speech was mixed in. Tell the operator.',
      unannounced: 'The talker did not say how the speech is encrypted.',
      codec: 'The speech is not Opus.',
    } satisfies Record<UnopenedReason | 'codec', string>,
  },
} as const;
