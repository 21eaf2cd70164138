// One thing that an administrator does: it runs once at a time, and its outcome is kept in words.
import { type ReadonlySignal, signal } from '@preact/signals';
import { wordsOf } from './failure.js';

export interface Outcome {
  readonly isFailure: boolean;
  readonly words: string;
}

export interface Action {
  readonly isBusy: ReadonlySignal<boolean>;
  /** null: nothing to say. */
  readonly outcome: ReadonlySignal<Outcome | null>;
  /**
   * Resolves with true when the work is done. A second press while the first one runs sends nothing. The work returns
   * what to say, or null.
   */
  run(work: () => Promise<string | null>): Promise<boolean>;
  clear(): void;
}

export function createAction(): Action {
  const isBusy = signal(false);
  const outcome = signal<Outcome | null>(null);
  return {
    isBusy,
    outcome,
    async run(work) {
      if (isBusy.peek()) return false;
      isBusy.value = true;
      outcome.value = null;
      try {
        const words = await work();
        if (words !== null) outcome.value = { isFailure: false, words };
        return true;
      } catch (error) {
        outcome.value = { isFailure: true, words: wordsOf(error) };
        return false;
      } finally {
        isBusy.value = false;
      }
    },
    clear() {
      outcome.value = null;
    },
  };
}
