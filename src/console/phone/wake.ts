// Keeps the screen on while it is needed. The browser lets go when the page is hidden, so it is asked again after that.
import { effect, type ReadonlySignal } from '@preact/signals';

/** What the browser gives. */
export type Lock = { release(): Promise<void> };

/** `request` rejects when the browser keeps no screen on, as with a low battery. Returns a function that ends it. */
export function keepAwake(
  isNeeded: ReadonlySignal<boolean>,
  isVisible: ReadonlySignal<boolean>,
  request: () => Promise<Lock>,
): () => void {
  let lock: Promise<Lock | null> | null = null;
  return effect(() => {
    const isWanted = isNeeded.value && isVisible.value;
    if (isWanted && lock === null) lock = request().catch(() => null); // NotAllowedError: the next need asks again
    if (isWanted || lock === null) return;
    void lock.then((given) => given?.release());
    lock = null;
  });
}
