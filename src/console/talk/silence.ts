// Finds out that the user is on air while the microphone gives nothing.
import { computed, effect, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import { dbfsOf, SILENT_DBFS } from '../../client/sound/level.js';
import type { Talking } from './state.js';

/** A pause between two words is shorter. */
export const SILENT_MS = 1_500;

/** `level` is the peak of the last 100 ms (0 to 1). Writes `isSilent` from now on. */
export function followSilence(
  {
    level,
    states,
    isSilent,
  }: { level: ReadonlySignal<number>; states: Talking['states']; isSilent: Signal<boolean> },
  clock: Clock,
): void {
  const isOnAir = computed(() => [...states.value.values()].some(({ phase }) => phase === 'talking'));
  const isQuiet = computed(() => isOnAir.value && dbfsOf(level.value) < SILENT_DBFS);
  effect(() => {
    if (!isQuiet.value) {
      isSilent.value = false;
      return;
    }
    return clock.after(SILENT_MS, () => {
      isSilent.value = true;
    });
  });
}
