// Says whether a receiver of audio hears others now.
import type { Membership, Talkgroup } from '../members/members.js';
import type { Receiver } from './receiver.js';
import { isHeard, type Subscription } from './subscription.js';

/** Audio within this time (ms): the receiver is pinged. */
export const HEARD_MS = 1000;

export interface Listening {
  readonly receiver: Receiver;
  subscriptionTo(talkgroup: Talkgroup): Subscription;
}

/** Whether the talkgroup's audio is meant for it, be it paused or not. */
export const isMeantToHear = (
  listening: Pick<Listening, 'subscriptionTo'>,
  { talkgroup, granted, mayHear }: Membership,
) => granted && mayHear && isHeard(listening.subscriptionTo(talkgroup).mode);

export function hearsAudio(listening: Listening, nowMs: number): boolean {
  const { receiver } = listening;
  for (const membership of receiver.user.memberships.values()) {
    const { feed, number } = membership.talkgroup;
    if (nowMs - feed.heardAtMs > HEARD_MS || receiver.talksAlone(number)) continue;
    if (isMeantToHear(listening, membership)) return true;
  }
  return false;
}
