// Tells whether the pointer or the focus is in a region, which then keeps what it shows.
import type { TargetedFocusEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

type By = 'pointer' | 'focus';

/** Event handlers of an element. A focus that moves within it stays in it. */
export const insideEvents = (keep: (by: By, isInside: boolean) => void) => ({
  onPointerEnter: () => keep('pointer', true),
  onPointerLeave: () => keep('pointer', false),
  // The focus that a click leaves behind is not where the user works.
  onFocusIn: ({ target }: TargetedFocusEvent<Element>) =>
    keep('focus', target instanceof Element && target.matches(':focus-visible')),
  onFocusOut({ currentTarget, relatedTarget }: TargetedFocusEvent<Element>) {
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) keep('focus', false);
  },
});

/** The same for a region that need not know which of them. A region that is removed keeps nothing. */
export function useInside(keep: (isInside: boolean) => void) {
  const inside = useRef({ pointer: false, focus: false });
  const last = useRef(keep);
  last.current = keep;
  useEffect(() => () => last.current(false), []);
  return insideEvents((by, isInside) => {
    inside.current[by] = isInside;
    keep(inside.current.pointer || inside.current.focus);
  });
}
