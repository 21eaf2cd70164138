// Offers for a moment to take an emergency back that was raised by mistake.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';

export type Undo = {
  /** The talkgroup of the emergency that can be taken back. null: there is none. */
  readonly offered: ReadonlySignal<string | null>;
  offer(talkgroupId: string): void;
  /** The user took it back, or it is not needed any more. */
  end(): void;
};

/** How long it is offered. Later the alarm is cleared in the list of alarms. */
export const UNDO_MS = 5_000;

export function createUndo(clock: Clock): Undo {
  const offered: Signal<string | null> = signal(null);
  let cancel = () => {};
  const end = () => {
    cancel();
    offered.value = null;
  };
  return {
    offered,
    offer(talkgroupId) {
      cancel();
      offered.value = talkgroupId;
      cancel = clock.after(UNDO_MS, end);
    },
    end,
  };
}
