// Shows the question that is asked. Enter does not confirm it.
import { texts } from '../app/texts.js';
import { Dialog } from './dialog.js';
import { asked } from './state.js';

/** The first button closes it, and has the focus. */
export default function QuestionDialog() {
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
