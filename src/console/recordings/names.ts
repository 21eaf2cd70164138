// Names recordings for readers, by the talker and the local time.
import type { Recording } from '../../client/recordings/types.js';
import { timeText } from '../app/time-of-day.js';
import { recordings as words } from './texts.js';

/** As `14:03:22`, and on another day as today `24 Nov, 14:03:22`. */
export function timeOfCall({ started_at }: Pick<Recording, 'started_at'>): string {
  const at = new Date(started_at);
  const time = timeText(at);
  const now = new Date();
  if (at.toDateString() === now.toDateString()) return time;
  const year = at.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const);
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...year })}, ${time}`;
}

/** With the zone, and as UTC. */
export function exactTime({ started_at }: Pick<Recording, 'started_at'>): string {
  const at = new Date(started_at);
  const local = at.toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'long' });
  return `${local} (${at.toISOString().replace(/\.\d+/, '')})`;
}

/** As `ann 14:03:22`. */
export const callName = (recording: Pick<Recording, 'started_at' | 'username'>): string =>
  `${recording.username ?? words.erased} ${timeOfCall(recording)}`;
