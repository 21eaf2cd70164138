// Holds the texts of replays.
import { isolated } from '../app/isolated.js';

export const replay = {
  last: (talkgroup: string) => `Replay last call in ${talkgroup}`,
  one: (username: string, talkgroup: string, time: string) => `Replay ${username} in ${talkgroup}, ${time}`,
  stop: 'Stop replay',
  pause: 'Pause replay',
  goOn: 'Continue replay',
  playingFrom: (username: string, talkgroup: string, time: string) =>
    `Replaying ${isolated(username)} in ${isolated(talkgroup)}, ${time}`,
  pausedAt: (username: string, talkgroup: string, time: string) =>
    `Paused: ${isolated(username)} in ${isolated(talkgroup)}, ${time}`,
  none: 'No call to replay. Calls are kept for 5 minutes.',
  noneBefore: 'No earlier call to replay.',
  forgotten: 'This call is forgotten. Calls are kept for 5 minutes.',
  playing: (username: string, ago: string) => `Replaying ${isolated(username)}, ${ago}`,
  secondsAgo: (s: number) => (s === 1 ? '1 second ago' : `${s} seconds ago`),
  minutesAgo: (min: number) => (min === 1 ? '1 minute ago' : `${min} minutes ago`),
} as const;
