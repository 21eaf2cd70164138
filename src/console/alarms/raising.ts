// Follows an emergency button from the press to the announced emergency. It must be held, so that no slip raises one.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';

export const HOLD_MS = 1_500;

/** `failed`: `text` says why. It stays until the next press. */
export type RaisingState = { phase: 'holding' } | { phase: 'raising' } | { phase: 'failed'; text: string };

export type Raising = {
  /** By talkgroup. */
  readonly states: ReadonlySignal<ReadonlyMap<string, RaisingState>>;
  press(talkgroupId: string): void;
  /** Before HOLD_MS are over it cancels. */
  release(talkgroupId: string): void;
};

/** `raise` resolves when the emergency is announced. */
export function createRaising(raise: (talkgroupId: string) => Promise<void>, clock: Clock): Raising {
  const states: Signal<ReadonlyMap<string, RaisingState>> = signal(new Map());
  const cancels = new Map<string, () => void>();
  return {
    states,
    press(talkgroupId) {
      const phase = states.peek().get(talkgroupId)?.phase;
      if (phase === 'holding' || phase === 'raising') return;
      enter(talkgroupId, { phase: 'holding' });
      cancels.set(
        talkgroupId,
        clock.after(HOLD_MS, () => begin(talkgroupId)),
      );
    },
    release(talkgroupId) {
      if (states.peek().get(talkgroupId)?.phase !== 'holding') return;
      cancels.get(talkgroupId)?.();
      enter(talkgroupId, null);
    },
  };

  function begin(talkgroupId: string): void {
    enter(talkgroupId, { phase: 'raising' });
    raise(talkgroupId).then(
      () => enter(talkgroupId, null),
      (error: Error) => enter(talkgroupId, { phase: 'failed', text: error.message }),
    );
  }

  function enter(talkgroupId: string, state: RaisingState | null): void {
    const next = new Map(states.peek());
    if (state === null) next.delete(talkgroupId);
    else next.set(talkgroupId, state);
    states.value = next;
  }
}
