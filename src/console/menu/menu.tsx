// A button that opens a menu. Arrow keys move in it, a letter finds an item, Escape and every press elsewhere close it.
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from '../icons/icon.js';

export type MenuItem = {
  text: string;
  /** Accessible name, when the text is not enough. */
  name?: string;
  onPress(): void;
};

type MenuProps = {
  /** Accessible name of the button, which begins with what it shows. */
  name: string;
  items: readonly MenuItem[];
  class?: string;
  /** What the button shows. Without it an icon. */
  children?: ComponentChildren;
};

export function Menu({ name, items, class: looks = '', children }: MenuProps) {
  const isOpen = useSignal(false);
  const around = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    isOpen.value = false;
    opener.current?.focus();
  };
  // At once: a key that follows would else go to an item that loses the focus.
  useLayoutEffect(() => {
    if (!isOpen.value) return;
    itemsIn(around.current)[0]?.focus();
    const closeOutside = ({ target }: PointerEvent) => {
      if (!(target instanceof Node && around.current?.contains(target))) isOpen.value = false;
    };
    addEventListener('pointerdown', closeOutside, true);
    return () => removeEventListener('pointerdown', closeOutside, true);
  }, [isOpen.value]);
  return (
    <div
      class="menu"
      ref={around}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) isOpen.value = false;
      }}
    >
      <button
        ref={opener}
        type="button"
        class={looks}
        aria-label={name}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {children ?? <Icon name="ellipsis-vertical" />}
      </button>
      {isOpen.value && (
        <div
          role="menu"
          tabIndex={-1}
          class="menu-items"
          aria-label={name}
          onKeyDown={(event) => move(event, close)}
        >
          {items.map(({ text, name: itemName, onPress }) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              tabIndex={-1}
              aria-label={itemName}
              onClick={() => {
                close();
                onPress();
              }}
            >
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function itemsIn(menu: HTMLElement | null): HTMLElement[] {
  return [...(menu?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
}

function move(event: KeyboardEvent, close: () => void): void {
  const items = itemsIn(event.currentTarget as HTMLElement); // the menu, whose listener this is
  const at = items.findIndex((item) => item.matches(':focus'));
  const next = {
    ArrowDown: (at + 1) % items.length,
    ArrowUp: (at - 1 + items.length) % items.length,
    Home: 0,
    End: items.length - 1,
  }[event.key];
  if (next !== undefined) {
    event.preventDefault();
    items[next]?.focus();
  } else if (event.key === 'Escape') {
    event.stopPropagation();
    close();
  } else if (event.key.length === 1 && event.key !== ' ') {
    const letter = event.key.toLowerCase();
    const behind = [...items.slice(at + 1), ...items.slice(0, at + 1)];
    behind.find((item) => item.textContent?.toLowerCase().startsWith(letter))?.focus();
  }
}
