// Moves the focus on when the button that has it is removed.
import { useLayoutEffect, useRef } from 'preact/hooks';

/** For a button that goes by itself. `move` gets the region that it was in, or null. Returns the ref of the button. */
export function useFocusLeft(move: (region: HTMLElement | null) => void) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const shown = button.current;
    const region = shown?.closest<HTMLElement>('[data-region]') ?? null;
    return () => {
      if (document.activeElement === shown) move(region);
    };
  }, []);
  return button;
}
