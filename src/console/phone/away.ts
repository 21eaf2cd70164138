// Keeps from when to when the page was hidden. A phone that is locked plays no sound.
import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';

/** Unix times (ms). */
export type Absence = { readonly fromMs: number; readonly untilMs: number };

export type Away = {
  /** The last one, until the user has read it. null: there was none. */
  readonly absence: ReadonlySignal<Absence | null>;
  read(): void;
};

export function createAway(isVisible: ReadonlySignal<boolean>, nowMs: () => number): Away {
  const absence: Signal<Absence | null> = signal(null);
  let fromMs: number | null = null;
  effect(() => {
    if (!isVisible.value) {
      fromMs = nowMs();
    } else if (fromMs !== null) {
      absence.value = { fromMs, untilMs: nowMs() };
      fromMs = null;
    }
  });
  return {
    absence,
    read() {
      absence.value = null;
    },
  };
}
