// Holds the order of the tiles while the user points at them, so that no press hits another tile than the one that was meant.
import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';

/** The order stays for this time after the user has left the grid, and after each change of it. */
export const RESTS_MS = 5_000;
/** Talkgroups come in several messages after the login. For this time a new one takes its own place, not the last one. */
export const LOADS_MS = 2_000;

/** What holds the order: the pointer over the grid, the focus in it, a held talk. */
export type Holder = 'pointer' | 'focus' | 'key';

export type Order = {
  /** Ids of talkgroups as they are shown. */
  readonly shown: ReadonlySignal<readonly string[]>;
  /** The user holds the order, or has done so in the last 5 s. */
  readonly isHeld: ReadonlySignal<boolean>;
  /** The wanted order is another one than the one on show. */
  readonly isWaiting: ReadonlySignal<boolean>;
  hold(by: Holder, isHeld: boolean): void;
  /** The user asked for it, so nothing is held. */
  sortNow(): void;
};

/** While the order is held, a talkgroup goes when it does not exist any more, and a new one is last. */
function nextOrder({
  shown,
  wanted,
  existing,
  isHeld,
}: {
  shown: readonly string[];
  wanted: readonly string[];
  existing: ReadonlySet<string>;
  isHeld: boolean;
}): readonly string[] {
  if (!isHeld) return wanted;
  const kept = new Set(shown.filter((id) => existing.has(id)));
  for (const id of wanted) kept.add(id);
  return [...kept];
}

/** Follows `wanted` while nothing holds the order. `existing`: all talkgroups of the user. */
export function createOrder(
  wanted: ReadonlySignal<readonly string[]>,
  existing: ReadonlySignal<ReadonlySet<string>>,
  clock: Clock,
): Order {
  const shown: Signal<readonly string[]> = signal([]);
  const isHeld = signal(false);
  const isWaiting = signal(false);
  const holders = new Set<Holder>();
  let loadedAtMs = Number.POSITIVE_INFINITY;
  let freeAtMs = Number.NEGATIVE_INFINITY;
  let cancel = () => {};

  effect(() => {
    wanted.value;
    existing.value;
    update();
  });
  return {
    ...{ shown, isHeld, isWaiting },
    hold(by, isOn) {
      if (isOn) {
        holders.add(by);
        isHeld.value = true;
      } else if (holders.delete(by) && holders.size === 0) rest();
    },
    sortNow() {
      show(wanted.peek());
      rest();
    },
  };

  function update(): void {
    const before = shown.peek();
    const now = clock.nowMs();
    if (before.length === 0 && wanted.peek().length > 0) loadedAtMs = Math.min(loadedAtMs, now + LOADS_MS);
    const isFree = holders.size === 0 && now >= freeAtMs;
    const isLoading = now < loadedAtMs && !moves(before, wanted.peek());
    const next = nextOrder({
      ...{ shown: before, wanted: wanted.peek(), existing: existing.peek() },
      isHeld: !isFree && !isLoading,
    });
    if (isFree && moves(before, next)) rest();
    show(next);
  }

  function show(next: readonly string[]): void {
    if (!isSame(next, shown.peek())) shown.value = next;
    isWaiting.value = !isSame(next, wanted.peek());
  }

  function rest(): void {
    freeAtMs = clock.nowMs() + RESTS_MS;
    cancel();
    cancel = clock.after(RESTS_MS, () => {
      isHeld.value = holders.size > 0;
      update();
    });
  }
}

const isSame = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((id, at) => id === other[at]);

/** Whether a talkgroup changes its place among the others. One that comes or goes does not. */
function moves(before: readonly string[], after: readonly string[]): boolean {
  const [was, is] = [new Set(before), new Set(after)];
  return !isSame(
    before.filter((id) => is.has(id)),
    after.filter((id) => was.has(id)),
  );
}
