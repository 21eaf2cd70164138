// Keeps the last ten talks. While the user points at the list it does not change, and new ones wait.
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { RecentBurst } from '../worker/messages.js';

export const RECENT = 10;

export type Recent = {
  /** The last one first, at most RECENT. */
  readonly rows: ReadonlySignal<readonly RecentBurst[]>;
  /** Number of talks that are not in the list yet. */
  readonly waiting: ReadonlySignal<number>;
  /** The last one at the end. */
  take(bursts: readonly RecentBurst[]): void;
  /** Whether the pointer or the focus is in the list. */
  keep(isKept: boolean): void;
};

export function createRecent(): Recent {
  const rows: Signal<readonly RecentBurst[]> = signal([]);
  const waiting = signal(0);
  let newest: readonly RecentBurst[] = [];
  let isKept = false;
  return {
    rows,
    waiting,
    take(bursts) {
      if (bursts.length === 0) return;
      newest = [...bursts.toReversed(), ...newest].slice(0, RECENT);
      if (isKept) waiting.value += bursts.length;
      else rows.value = newest;
    },
    keep(now) {
      isKept = now;
      if (now || waiting.peek() === 0) return;
      batch(() => {
        rows.value = newest;
        waiting.value = 0;
      });
    },
  };
}
