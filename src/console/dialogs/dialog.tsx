// A dialog over the page. Escape and its button close it, and the focus goes back to where it was.
import type { ComponentChildren } from 'preact';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';

type DialogProps = {
  name: string;
  /** A panel at the side of the view. Alarms, talk keys and the emergency button stay in use beside it. */
  isPanel?: boolean;
  onClose(): void;
  children: ComponentChildren;
};

export function Dialog({ name, isPanel = false, onClose, children }: DialogProps) {
  return (
    <dialog
      class={isPanel ? 'side-panel' : ''}
      aria-label={name}
      onClose={onClose}
      // The browser does it for a dialog over everything.
      onKeyDown={({ key, currentTarget }) => {
        if (isPanel && key === 'Escape') currentTarget.close();
      }}
      ref={(dialog) => {
        if (dialog === null || dialog.open) return;
        if (isPanel) dialog.show();
        else dialog.showModal();
      }}
    >
      <div class="dialog">
        <div class="dialog-head">
          <h2 class="name">{name}</h2>
          <button
            type="button"
            aria-label={texts.close}
            onClick={(event) => event.currentTarget.closest('dialog')?.close()}
          >
            {isPanel ? <Icon name="x" /> : texts.close}
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
