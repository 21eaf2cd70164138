// The button that makes a talkgroup a favourite.
import type { ComponentChildren } from 'preact';
import type { Desk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import type { Tile } from './state.js';
import { tiles as own } from './texts.js';

export function FavouriteButton({
  tile: { id, view },
  desk: { grid },
  children,
}: {
  tile: Tile;
  desk: Desk;
  children?: ComponentChildren;
}) {
  const isFavourite = grid.favourites.value.includes(id);
  return (
    <button
      type="button"
      class="favourite"
      aria-label={own.favourite(view.value.name)}
      aria-pressed={isFavourite}
      onClick={() => grid.favour(id, !isFavourite)}
    >
      <Icon name="star" />
      {children}
    </button>
  );
}
