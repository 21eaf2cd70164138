// The button that raises an emergency: it is held, or it asks first where the settings say so.
import type { ComponentChildren } from 'preact';
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { HoldButton } from '../talk/hold-button.js';

/** The ids of what says beside it how it is pressed. The menu of a tile has one of its own. */
export const HINT = 'emergency-hint';
export const MENU_HINT = 'menu-emergency-hint';

export function RaiseButton({
  desk: { raising, settings },
  id,
  name,
  class: look,
  hint = HINT,
  raise,
  onAsk,
  children,
}: {
  desk: Desk;
  /** Of the talkgroup. */
  id: string;
  name: string;
  class: string;
  hint?: string;
  raise(): Promise<unknown>;
  /** Shows the question. */
  onAsk(): void;
  children: ComponentChildren;
}) {
  const label = texts.talkgroups.emergency(name);
  if (settings.settings.value.isConfirming) {
    return (
      <button type="button" class={look} aria-label={label} aria-describedby={hint} onClick={onAsk}>
        {children}
      </button>
    );
  }
  return (
    <HoldButton
      class={look}
      name={label}
      describedBy={hint}
      onHold={() => raising.press(id, raise)}
      onLetGo={() => raising.release(id)}
    >
      {children}
    </HoldButton>
  );
}
