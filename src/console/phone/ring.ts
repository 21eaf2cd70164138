// Keeps which talkgroup the phone talks to, and changes to the next one.
import { batch, computed, effect, type ReadonlySignal } from '@preact/signals';
import type { Talking } from '../talk/state.js';
import type { Talkgroups, Tile } from '../talkgroups/state.js';

export type Ring = {
  /** The first selected one. null: the user has no talkgroup. */
  readonly current: ReadonlySignal<Tile | null>;
  /** Those that a swipe goes through, in order. */
  readonly tiles: ReadonlySignal<readonly Tile[]>;
  /** Where a step goes. null: there is no other one. */
  next(step: -1 | 1): Tile | null;
  /** Selects this one alone. Does nothing during a talk, which would go on in the talkgroup before. */
  choose(tile: Tile): void;
};

/** `isShown`: the page has the layout for phones. It always has a talkgroup to talk to, the desk has not. */
export function createRing(
  { tiles, selected, select }: Pick<Talkgroups, 'tiles' | 'selected' | 'select'>,
  { isHeld }: Pick<Talking, 'isHeld'>,
  isShown: ReadonlySignal<boolean>,
): Ring {
  const current = computed(() => selected.value[0] ?? null);
  effect(() => {
    const [first] = tiles.value;
    if (isShown.value && current.value === null && first !== undefined) select(first, true);
  });
  return {
    current,
    tiles,
    next(step) {
      const all = tiles.value;
      const from = current.value;
      if (from === null || all.length < 2) return null;
      return all[(all.indexOf(from) + step + all.length) % all.length] ?? null;
    },
    choose(tile) {
      if (isHeld.peek()) return;
      batch(() => {
        // First the new one, so that there is always one.
        select(tile, true);
        for (const other of selected.peek()) if (other !== tile) select(other, false);
      });
    },
  };
}
