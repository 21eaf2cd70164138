// Follows what a button does after it was held for a time: raise an emergency, clear an alarm. A slip does nothing.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';

/** How long a button is held to raise an emergency. */
export const RAISE_HOLD_MS = 1_500;
/** How long a button is held to clear an alarm. */
export const CLEAR_HOLD_MS = 1_000;

/** After a press that was too short, the button says for this time how long it must be held. */
export const SHORT_MS = 3_000;

/** `short`: the last press was too short. `failed`: `text` says why. It stays until the next press. */
export type HeldState = { phase: 'holding' | 'short' | 'sent' } | { phase: 'failed'; text: string };

export type Held = {
  /** By talkgroup or emergency. */
  readonly states: ReadonlySignal<ReadonlyMap<string, HeldState>>;
  /** `act` runs when the hold was long enough. What it rejects with is kept as `failed`. */
  press(id: string, act: () => Promise<unknown>): void;
  /** Before the time is over it cancels. */
  release(id: string): void;
  /** Acts without a hold. */
  act(id: string, act: () => Promise<unknown>): void;
};

export function createHeld(holdMs: number, clock: Clock): Held {
  const states: Signal<ReadonlyMap<string, HeldState>> = signal(new Map());
  const cancels = new Map<string, () => void>();
  return {
    states,
    press(id, act) {
      if (isBusy(id)) return;
      enter(id, { phase: 'holding' });
      later(id, holdMs, () => begin(id, act));
    },
    release(id) {
      if (states.peek().get(id)?.phase !== 'holding') return;
      enter(id, { phase: 'short' });
      later(id, SHORT_MS, () => enter(id, null));
    },
    act(id, act) {
      if (!isBusy(id)) begin(id, act);
    },
  };

  function isBusy(id: string): boolean {
    const phase = states.peek().get(id)?.phase;
    return phase === 'holding' || phase === 'sent';
  }

  function begin(id: string, act: () => Promise<unknown>): void {
    enter(id, { phase: 'sent' });
    act().then(
      () => enter(id, null),
      (error: Error) => enter(id, { phase: 'failed', text: error.message }),
    );
  }

  /** One timer for each id: a new phase has none, or its own. */
  function later(id: string, ms: number, run: () => void): void {
    cancels.set(id, clock.after(ms, run));
  }

  function enter(id: string, state: HeldState | null): void {
    cancels.get(id)?.();
    cancels.delete(id);
    const next = new Map(states.peek());
    if (state === null) next.delete(id);
    else next.set(id, state);
    states.value = next;
  }
}
