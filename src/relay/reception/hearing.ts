// Says whether a receiver of audio hears others now.
import type { Talkgroup } from '../members/members.js';
import type { Receiver } from './receiver.js';
import { isHeard, type Subscription } from './subscription.js';

/** Audio within this time (ms): the receiver is pinged. */
export const HEARD_MS = 1000;

export interface Listening {
  readonly receiver: Receiver;
  subscriptionTo(talkgroup: Talkgroup): Subscription;
}

export function hearsAudio(listening: Listening, nowMs: number): boolean {
  const { receiver } = listening;
  for (const { talkgroup, granted, mayHear } of receiver.user.memberships.values()) {
    const isQuiet = nowMs - talkgroup.feed.heardAtMs > HEARD_MS;
    if (!granted || !mayHear || isQuiet || receiver.talksAlone(talkgroup.number)) continue;
    if (isHeard(listening.subscriptionTo(talkgroup).mode)) return true;
  }
  return false;
}
