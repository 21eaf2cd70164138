// Requests a new snapshot of a talkgroup after missed events, with a random delay and a minimum interval.
import type { Clock } from '../clock.js';
import { isPassing, type RadioError, type Requests } from '../connection/requests.js';

export type Syncing = {
  /** How often events were found missing. */
  readonly gaps: number;
  /** An event of the talkgroup came that was not the next one. */
  gap(talkgroupId: string): void;
  /** A snapshot came, or the talkgroup is none of ours any more: nothing of it is missing. */
  settled(talkgroupId: string): void;
  /** The next connection begins with snapshots. */
  disconnected(): void;
};

// What one radio missed, many may have missed: they must not all ask at once.
const WAIT_MS_MAX = 2_000;
const APART_MS_MIN = 1_000;

/** Creates the state of a radio that has missed no event. `random`: in [0, 1). */
export function createSyncing(requests: Requests, clock: Clock, random: () => number): Syncing {
  let gaps = 0;
  const askedAtMs = new Map<string, number>();
  /** What takes back the question that is due, or nothing once it is asked, by talkgroup. */
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
      // Unless a snapshot came by itself; a refusal for good means that the talkgroup is none of ours any more.
      if (pending.get(talkgroupId) !== asked) return;
      if (isPassing(error)) askLater(talkgroupId);
      else pending.delete(talkgroupId);
    });
  }
}
