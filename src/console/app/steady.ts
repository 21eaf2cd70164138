// Keeps what is below the banners in its place while a pointer may press it: a banner goes away with the first press.

/** After a touch: its click has come, and found its button. */
const AFTER_TOUCH_MS = 400;

let listening = new AbortController();

/**
 * A `ref` of the element around the banners. It does not get lower while a finger is down, or while the mouse is in the
 * page and not above it.
 */
export function keepSteady(around: HTMLElement | null): void {
  listening.abort();
  if (around === null) return;
  listening = new AbortController();
  const options = { signal: listening.signal, capture: true, passive: true };
  let isPointed = false;

  const hold = () => {
    around.style.minHeight = '';
    around.style.minHeight = `${around.getBoundingClientRect().height}px`;
  };
  const letGo = () => {
    isPointed = false;
    around.style.minHeight = '';
  };
  const point = ({ pointerType, clientY }: PointerEvent) => {
    if (pointerType === 'mouse' && clientY < around.getBoundingClientRect().top) return letGo();
    if (!isPointed) hold();
    isPointed = true;
  };
  const lift = ({ pointerType }: PointerEvent) => {
    if (pointerType !== 'mouse') setTimeout(letGo, AFTER_TOUCH_MS);
  };

  addEventListener('pointerdown', point, options);
  addEventListener('pointermove', point, options);
  addEventListener('pointerup', lift, options);
  addEventListener('pointercancel', lift, options);
  addEventListener('resize', letGo, options);
  document.documentElement.addEventListener('pointerleave', letGo, { signal: listening.signal });
  // One more banner may come meanwhile, and go again.
  const watching = new ResizeObserver(() => {
    const { height } = around.getBoundingClientRect();
    if (isPointed && height > Number.parseFloat(around.style.minHeight || '0')) hold();
  });
  watching.observe(around);
  listening.signal.addEventListener('abort', () => watching.disconnect());
}
