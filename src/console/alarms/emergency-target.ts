// Keeps in which talkgroup the emergency button raises. It does not change under a pointer or the focus.
import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';

export type EmergencyTarget = {
  /** null: the user must choose a talkgroup. */
  readonly id: ReadonlySignal<string | null>;
  hold(by: 'pointer' | 'focus', isHeld: boolean): void;
};

/**
 * Follows `wanted` while nothing holds it. A button without a target, or with one that the user has left, gets another also
 * while it is held. `ids`: of the talkgroups of the user.
 */
export function createEmergencyTarget(
  wanted: ReadonlySignal<string | null>,
  ids: ReadonlySignal<ReadonlySet<string>>,
): EmergencyTarget {
  const id: Signal<string | null> = signal(wanted.peek());
  const holders = new Set<string>();
  effect(() => {
    const now = wanted.value;
    const current = id.peek();
    if (holders.size === 0 || current === null || !ids.value.has(current)) id.value = now;
  });
  return {
    id,
    hold(by, isHeld) {
      if (isHeld) holders.add(by);
      else holders.delete(by);
      if (holders.size === 0) id.value = wanted.peek();
    },
  };
}
