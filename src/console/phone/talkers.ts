// Decides which talker the phone shows.
import type { Tile } from '../talkgroups/state.js';
import type { TalkerView } from '../worker/messages.js';

export type Heard = {
  readonly talker: TalkerView;
  readonly tile: Tile;
  /** Number of further talkers in this talkgroup. */
  readonly more: number;
  /** Number of talkers in other talkgroups. */
  readonly elsewhere: number;
};

/** The own talk first, then the first talker of this talkgroup, then that of another one which is not muted. */
export function heardOf(tiles: readonly Tile[], current: Tile | null): Heard | null {
  const all = [...(current === null ? [] : [current]), ...tiles.filter((tile) => tile !== current)].flatMap(
    (tile) => {
      const { talkers } = tile.view.value;
      const isShown = tile === current || !tile.isMuted.value;
      return talkers
        .filter(({ isOwn }) => isOwn || isShown)
        .map((talker) => ({ talker, tile, more: talkers.length - 1 }));
    },
  );
  const shown = all.find(({ talker }) => talker.isOwn) ?? all[0];
  if (shown === undefined) return null;
  return { ...shown, elsewhere: all.filter(({ tile }) => tile !== shown.tile).length };
}
