// Describes how a session hears a talkgroup.
import type { Mode } from '../../protocol/codes.js';
import type { Hold } from '../delivery/held.js';

export interface Subscription {
  /** `none`: after UNSUBSCRIBE. */
  readonly mode: Mode | 'none';
  /** Whether it gets PRESENCE. */
  readonly presence: boolean;
  /** How its audio is buffered. null: it is live. */
  readonly hold: Hold | null;
}

/** The subscription to every talkgroup at the start. */
export const DEFAULT: Subscription = { mode: 'talk', presence: false, hold: null };

/** Whether the mode includes audio. */
export const isHeard = (mode: Subscription['mode']) => mode === 'talk' || mode === 'listen';
