// Requests a new snapshot of a talkgroup after missed events, with a random delay and a minimum interval.
import type { Clock } from '../clock.js';
import { isPassing, type RadioError, type Requests } from '../connection/requests.js';

export type Syncing = {
  /** Number of times that events were missing. */
  readonly gaps: number;
  /** An event of the talkgroup arrived that was not the next one. */
  gap(talkgroupId: string): void;
  /** A snapshot arrived, or the radio is not subscribed any more. No event is missing. */
  settled(talkgroupId: string): void;
  /** Cancels all requests. The next connection begins with snapshots. */
  disconnected(): void;
};

// Many radios may have missed the same event. They must not all send their request at the same time.
const WAIT_MS_MAX = 2_000;
const APART_MS_MIN = 1_000;

/** Creates the state of a radio that has missed no event. `random`: in [0, 1). */
export function createSyncing(requests: Requests, clock: Clock, random: () => number): Syncing {
  let gaps = 0;
  const askedAtMs = new Map<string, number>();
  /** By talkgroup: cancels the request that is due. Does nothing when the request was sent. */
  const pending = new Map<string, () => void>();

  return {
    get gaps() {
      return gaps;
    },
    gap(talkgroupId) {
      gaps += 1;
      if (!pending.has(talkgroupId)) askLater(talkgroupId);
    },
    settled(talkgroupId) {
      pending.get(talkgroupId)?.();
      pending.delete(talkgroupId);
    },
    disconnected() {
      for (const cancel of pending.values()) cancel();
      pending.clear();
      askedAtMs.clear();
    },
  };

  function askLater(talkgroupId: string): void {
    const sinceMs = clock.nowMs() - (askedAtMs.get(talkgroupId) ?? Number.NEGATIVE_INFINITY);
    const delayMs = Math.max(random() * WAIT_MS_MAX, APART_MS_MIN - sinceMs);
    pending.set(
      talkgroupId,
      clock.after(delayMs, () => ask(talkgroupId)),
    );
  }

  function ask(talkgroupId: string): void {
    const asked = () => {};
    pending.set(talkgroupId, asked);
    askedAtMs.set(talkgroupId, clock.nowMs());
    requests.askFor('SYNCED', { type: 'SYNC', talkgroup_id: talkgroupId }).catch((error: RadioError) => {
      // A snapshot may have arrived in the meantime. A final rejection means that the user left the talkgroup.
      if (pending.get(talkgroupId) !== asked) return;
      if (isPassing(error)) askLater(talkgroupId);
      else pending.delete(talkgroupId);
    });
  }
}
