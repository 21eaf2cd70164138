// A dialog over the page. Escape and its button close it, and the focus goes back to where it was.
import type { ComponentChildren } from 'preact';
import { texts } from '../app/texts.js';

type DialogProps = { name: string; onClose(): void; children: ComponentChildren };

export function Dialog({ name, onClose, children }: DialogProps) {
  return (
    <dialog
      aria-label={name}
      onClose={onClose}
      ref={(dialog) => {
        if (dialog !== null && !dialog.open) dialog.showModal();
      }}
    >
      <div class="dialog">
        <header>
          <h2 class="name">{name}</h2>
          <button type="button" onClick={(event) => event.currentTarget.closest('dialog')?.close()}>
            {texts.close}
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
