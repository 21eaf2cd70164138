// Names recordings for readers, by the talker and the local time.
import type { Recording } from '../../client/recordings/types.js';
import { recordings as words } from './texts.js';

type Begun = Pick<Recording, 'started_at'>;

export type Names = {
  /** As `14:03:22`, and on another day as today `24 Nov, 14:03:22`. */
  time(recording: Begun): string;
  /** As `ann 14:03:22`. */
  call(recording: Begun & Pick<Recording, 'username'>): string;
};

/** `is24Hour`: see the settings. */
export function createNames(is24Hour: () => boolean): Names {
  return {
    time,
    call: (recording) => `${recording.username ?? words.erased} ${time(recording)}`,
  };

  function time({ started_at }: Begun): string {
    const at = new Date(started_at);
    const clock = at.toLocaleTimeString(is24Hour() ? 'en-GB' : 'en-US');
    const now = new Date();
    if (at.toDateString() === now.toDateString()) return clock;
    const year = at.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const);
    return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...year })}, ${clock}`;
  }
}

/** With the zone, and as UTC. */
export function exactTime({ started_at }: Begun): string {
  const at = new Date(started_at);
  const local = at.toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'long' });
  return `${local} (${at.toISOString().replace(/\.\d+/, '')})`;
}
