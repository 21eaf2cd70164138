// Runs what a form or a button asks for, once at a time, and keeps in words what became of it.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';

export type Outcome = { text: string; isError: boolean };

export type Attempt = {
  readonly isBusy: ReadonlySignal<boolean>;
  /** null: nothing to say. */
  readonly outcome: Signal<Outcome | null>;
  /**
   * Resolves with true when the work is done. A second press while the first one runs sends nothing. The work returns what to
   * say, or null. `failed` puts its rejection into words.
   */
  run(work: () => Promise<string | null>, failed?: (error: unknown) => string): Promise<boolean>;
};

/** `inWords`: of a rejection, where `run` says nothing else. */
export function createAttempt(inWords = (error: unknown): string => (error as Error).message): Attempt {
  const isBusy = signal(false);
  const outcome: Signal<Outcome | null> = signal(null);
  return {
    isBusy,
    outcome,
    async run(work, failed = inWords) {
      if (isBusy.peek()) return false;
      isBusy.value = true;
      outcome.value = null;
      try {
        const text = await work();
        if (text !== null) outcome.value = { text, isError: false };
        return true;
      } catch (error) {
        outcome.value = { text: failed(error), isError: true };
        return false;
      } finally {
        isBusy.value = false;
      }
    },
  };
}
