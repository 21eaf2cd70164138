// Holds the texts of *On air now* and *Last ten*.
export const onAir = {
  label: 'On air now',
  talkers: (count: number) => (count === 1 ? '1 talker' : `${count} talkers`),
  more: (count: number) => `+${count} more`,
  you: 'You',
  /** Behind the name of the talkgroup. */
  time: (text: string) => `\u00a0· ${text}`,
  ended: (age: string) => `ended ${age} ago`,
  emergency: 'emergency',
  notHeard: 'not heard',
  said: (username: string, talkgroup: string) => `${username} talks in ${talkgroup}`,
  answer: 'Answer',
  answerIn: (username: string, talkgroup: string) => `Answer ${username} in ${talkgroup}`,
  lastTen: 'Last ten',
  newestFirst: 'newest first',
  fresh: (count: number) => `${count} new`,
  none: 'No talks yet',
} as const;
