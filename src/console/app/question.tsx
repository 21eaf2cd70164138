// Asks before something that cannot be undone. The question names the object and the consequence, and Enter does not confirm.
import { type Signal, signal } from '@preact/signals';
import { Dialog } from './dialog.js';
import { texts } from './texts.js';

export type Question = {
  /** Names the object. */
  title: string;
  consequence: string;
  /** The confirming button. */
  confirm: string;
};

const asked: Signal<(Question & { answer(isConfirmed: boolean): void }) | null> = signal(null);

/** Resolves with false when the user closes the question, also by Escape. */
export function ask(question: Question): Promise<boolean> {
  asked.peek()?.answer(false);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(isConfirmed) {
        asked.value = null;
        resolve(isConfirmed);
      },
    };
  });
}

/** The first button closes it, and has the focus. */
export function QuestionDialog() {
  const now = asked.value;
  if (now === null) return null;
  let isConfirmed = false;
  return (
    <Dialog key={now.title} name={now.title} onClose={() => now.answer(isConfirmed)}>
      <p>{now.consequence}</p>
      <div class="row">
        <button type="button" onClick={closeAround}>
          {texts.cancel}
        </button>
        <button
          type="button"
          class="danger"
          onClick={(event) => {
            isConfirmed = true;
            closeAround(event);
          }}
        >
          {now.confirm}
        </button>
      </div>
    </Dialog>
  );
}

const closeAround = (event: { currentTarget: HTMLElement }) => event.currentTarget.closest('dialog')?.close();
