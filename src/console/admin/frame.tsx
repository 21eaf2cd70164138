// The panel beside a table: 348 px wide, with a title and a button that closes it. Escape closes it as well.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Attempt } from '../app/attempt.js';
import { Icon } from '../icons/icon.js';
import { Said } from './parts.js';
import { texts } from './texts.js';

export function Frame({
  title,
  label = title,
  onClose,
  children,
}: {
  title: string;
  /** Accessible name. */
  label?: string;
  onClose(): void;
  children: ComponentChildren;
}) {
  const close = useRef<HTMLButtonElement>(null);
  const around = useRef<HTMLElement>(null);
  useEffect(() => {
    // A field of the panel may have taken the focus already.
    if (!around.current?.contains(document.activeElement)) close.current?.focus();
  }, []);
  return (
    <aside
      class="admin-side"
      aria-label={label}
      ref={around}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) onClose();
      }}
    >
      <header>
        <h2 class="name">{title}</h2>
        <button type="button" class="admin-icon" ref={close} aria-label={texts.close} onClick={onClose}>
          <Icon name="x" />
        </button>
      </header>
      {children}
    </aside>
  );
}

/** The panel with the form of a new item. The form is emptied when `create` resolves with true. */
export function CreationFrame({
  title,
  submit,
  action,
  create,
  onClose,
  children,
}: {
  title: string;
  /** The text of the button. */
  submit: string;
  action: Attempt;
  create(data: FormData): Promise<boolean>;
  onClose(): void;
  children: ComponentChildren;
}) {
  return (
    <Frame title={title} onClose={onClose}>
      <form
        class="admin-form"
        onSubmit={async (event) => {
          event.preventDefault();
          const form = event.currentTarget;
          if (await create(new FormData(form))) form.reset();
        }}
      >
        {children}
        <button type="submit" class="primary" aria-disabled={action.isBusy.value}>
          {submit}
        </button>
        <Said action={action} />
      </form>
    </Frame>
  );
}
