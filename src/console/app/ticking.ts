// Ticks once a second while something on the page shows a time.
import { type ReadonlySignal, signal } from '@preact/signals';

const TICK_MS = 1_000;

let timer: ReturnType<typeof setInterval> | undefined;

/** Unix time (ms) of this computer, renewed every second while it is read by a view. */
export const nowMs: ReadonlySignal<number> = signal(Date.now(), {
  watched() {
    this.value = Date.now();
    timer = setInterval(() => {
      this.value = Date.now();
    }, TICK_MS);
  },
  unwatched() {
    clearInterval(timer);
  },
});
