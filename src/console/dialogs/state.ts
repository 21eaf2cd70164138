// Asks before something that cannot be undone. The question names the object and the consequence.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';

export type Question = {
  /** Names the object. */
  title: string;
  consequence: string;
  /** The confirming button. */
  confirm: string;
};

type Asked = Question & { answer(isConfirmed: boolean): void };

const open: Signal<Asked | null> = signal(null);
/** The question on show. */
export const asked: ReadonlySignal<Asked | null> = open;

/** Resolves with false when the user closes the question, also by Escape. */
export function ask(question: Question): Promise<boolean> {
  open.peek()?.answer(false);
  return new Promise((resolve) => {
    open.value = {
      ...question,
      answer(isConfirmed) {
        open.value = null;
        resolve(isConfirmed);
      },
    };
  });
}
