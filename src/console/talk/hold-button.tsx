// A button that works while it is held: by mouse, finger or pen, and by Enter.
import type { ComponentChildren, TargetedPointerEvent } from 'preact';
import { hold } from './holding.js';

type HoldButtonProps = {
  /** Accessible name. It begins with the visible text, if there is one. */
  name: string;
  children?: ComponentChildren;
  class?: string;
  isPressed?: boolean;
  describedBy?: string;
  tabIndex?: number;
  onHold(source: string): void;
  onLetGo(source: string): void;
};

/**
 * What makes a button one that is held. `begin` is called with the source of the press: `pointer ID` or `Enter`. Every release
 * is heard at the window (listen.ts), because the button may be removed while it is held.
 */
export const holdEvents = (begin: (source: string) => void) => ({
  onPointerDown(event: TargetedPointerEvent<HTMLButtonElement>) {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    begin(`pointer ${event.pointerId}`);
  },
  onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (!event.repeat) begin('Enter');
  },
});

export function HoldButton(props: HoldButtonProps) {
  const begin = (source: string) => {
    hold(source, () => props.onLetGo(source));
    props.onHold(source);
  };
  return (
    <button
      type="button"
      class={`hold ${props.class ?? ''}`}
      aria-label={props.name}
      aria-pressed={props.isPressed}
      aria-describedby={props.describedBy}
      tabIndex={props.tabIndex}
      {...holdEvents(begin)}
      onContextMenu={(event) => event.preventDefault()}
    >
      {props.children}
    </button>
  );
}
