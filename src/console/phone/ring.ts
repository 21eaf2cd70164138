// Keeps which talkgroup the phone talks to, and changes to the next favourite.
import { batch, computed, effect, type ReadonlySignal } from '@preact/signals';
import type { Talking } from '../talk/state.js';
import type { Talkgroups, Tile } from '../talkgroups/state.js';

export type Ring = {
  /** The first selected one. null: the user has no talkgroup. */
  readonly current: ReadonlySignal<Tile | null>;
  /** All, sorted by name. */
  readonly tiles: ReadonlySignal<readonly Tile[]>;
  /** Those that a swipe goes through: the favourites in their order, and without any of them all. */
  readonly places: ReadonlySignal<readonly Tile[]>;
  /** Where a step goes. Null: there is no other one. */
  next(step: -1 | 1): Tile | null;
  /** Selects this one alone. False: not during a talk, which would go on in the talkgroup before. */
  choose(tile: Tile): boolean;
};

/** `isShown`: the page has the layout for phones. It always has a talkgroup to talk to, the desk has not. */
export function createRing(
  { tiles, selected, select }: Pick<Talkgroups, 'tiles' | 'selected' | 'select'>,
  { isHeld }: Pick<Talking, 'isHeld'>,
  {
    favourites,
    isShown,
  }: {
    /** Ids. */
    favourites: ReadonlySignal<readonly string[]>;
    isShown: ReadonlySignal<boolean>;
  },
): Ring {
  const current = computed(() => selected.value[0] ?? null);
  effect(() => {
    const [first] = tiles.value;
    if (isShown.value && current.value === null && first !== undefined) select(first, true);
  });
  const places = computed(() => {
    const chosen = favourites.value.flatMap((id) => tiles.value.find((tile) => tile.id === id) ?? []);
    return chosen.length > 0 ? chosen : tiles.value;
  });
  return {
    ...{ current, tiles, places },
    next(step) {
      const all = places.value;
      const from = current.value;
      if (from === null) return null;
      const at = all.indexOf(from);
      // From a talkgroup that is none of them to the first or the last one.
      const next = at < 0 && step < 0 ? all.at(-1) : all[(at + step + all.length) % all.length];
      return next === from ? null : (next ?? null);
    },
    choose(tile) {
      if (isHeld.peek()) return false;
      batch(() => {
        // First the new one, so that there is always one.
        select(tile, true);
        for (const other of selected.peek()) if (other !== tile) select(other, false);
      });
      return true;
    },
  };
}
