// Holds the texts of the layout for phones.
export const phone = {
  views: { talk: 'Talk', groups: 'Groups', map: 'Map', alarms: 'Alarms' },
  talkgroup: 'Talkgroup',
  /** Name of the menu. It has the account, too. */
  more: (talkgroup: string, username: string) => `More for ${talkgroup}. ${username}, Account`,
  encrypt: 'Encrypt',
  doNotEncrypt: (name: string) => `Do not encrypt what I say in ${name}`,
  doNotEncryptShort: 'Do not encrypt',
  talksFor: (clock: string) => `talks for ${clock}`,
  talksIn: (name: string, clock: string) => `talks in ${name} for ${clock}`,
  talkIn: (username: string, name: string, clock: string) => `${username} in ${name} ${clock}`,
  you: 'You',
  youTalk: 'You are talking',
  talking: (username: string) => `${username} is talking`,
  last: (username: string, age: string) => `${username} talked ${age} ago`,
  nothing: 'No talker',
  none: 'No talkgroup',
  key: {
    in: (name: string) => `in ${name}`,
    inMore: (name: string, more: number) => `in ${name} and ${more} more`,
    wait: 'Wait',
    queued: (place: string) => `${place}. Keep holding. The others do not hear you yet.`,
    onAir: 'ON AIR',
    heard: 'The others hear you',
  },
  next: (name: string) => `Next: ${name}`,
  place: (position: number, count: number) => `${position} of ${count}`,
  alarm: (username: string, talkgroup: string) => `${username} in ${talkgroup}`,
  emergency: {
    holding: (name: string) => `Keep holding: emergency in ${name}`,
    undo: 'Undo',
    undoName: (name: string) => `Undo the emergency in ${name}`,
    raised: (name: string) => `Emergency raised in ${name}`,
  },
  away: (from: string, until: string) =>
    `Screen locked: you hear nothing. You were away from ${from} to ${until}.`,
  settings: {
    title: 'This phone',
    keepsScreenOn: 'Keep the screen on',
    keepsScreenOnHint: 'The screen also stays on while you talk and while you hold the emergency button.',
    isHeadsetOn: 'Talk with the key of a headset',
    isHeadsetOnHint:
      'Press the key once to talk, and again to stop. A tone says when you talk and when you have stopped. A talk ends after 30 s. A browser does not know how long the key is held.',
    cannot: 'Limits of a browser on a phone',
    limits: [
      'With a locked screen, or with another app in front, you hear nothing and cannot talk.',
      'An iPhone stops the sound at once. An Android phone stops it after some seconds.',
      'A call cannot wake the phone. After your return, the page says how long you were away.',
      'In an installed page, some versions of iOS switch the screen off all the same.',
      'Use an app for a phone in a pocket.',
    ],
  },
} as const;
