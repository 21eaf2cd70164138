// Shows what arranges the tiles: which ones, in which order and size.
import { useRef } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import { type Filter, type Sort, sorts } from './grid.js';
import { tiles as words } from './texts.js';

const filters: readonly Filter[] = ['all', 'favourites', 'active'];

/** `isLarge`: the size that is shown, also when the user has not chosen it. */
export function Toolbar({ desk, isLarge }: { desk: Desk; isLarge: boolean }) {
  const { grid } = desk;
  const counts = grid.counts.value;
  return (
    <div class="toolbar">
      <fieldset class="segments" aria-label={words.show}>
        {filters.map((filter) => (
          <button
            key={filter}
            type="button"
            aria-pressed={grid.filter.value === filter}
            onClick={() => grid.show(filter)}
          >
            {filter === 'favourites' && <Icon name="star" />}
            {words.filters[filter](counts[filter])}
          </button>
        ))}
      </fieldset>
      <Sorting desk={desk} />
      <MuteOthers desk={desk} />
      <fieldset class="segments sizes" aria-label={words.size}>
        {(['compact', 'large'] as const).map((size) => (
          <button
            key={size}
            type="button"
            aria-label={words[size]}
            title={words[size]}
            aria-pressed={isLarge === (size === 'large')}
            onClick={() => grid.resize(size)}
          >
            <Icon name={size === 'compact' ? 'layout-grid' : 'list'} />
          </button>
        ))}
      </fieldset>
    </div>
  );
}

function Sorting({ desk: { grid } }: { desk: Desk }) {
  const select = useRef<HTMLSelectElement>(null);
  return (
    <>
      <select
        ref={select}
        aria-label={words.sort}
        value={grid.sort.value}
        onChange={({ currentTarget }) => grid.sortBy(currentTarget.value as Sort)} // of the options below
      >
        {sorts.map((sort) => (
          <option key={sort} value={sort}>
            {words.sorts[sort]}
          </option>
        ))}
      </select>
      <p class="held quiet line name" title={words.isHeld}>
        {grid.order.isHeld.value && words.isHeld}
      </p>
      {grid.order.isWaiting.value && (
        <button
          type="button"
          onClick={() => {
            select.current?.focus(); // the button goes, and the focus must not go with it
            grid.order.sortNow();
          }}
        >
          {words.sortNow}
        </button>
      )}
    </>
  );
}

/** Pressed when all of them are muted. The next press lets all of them be heard. */
function MuteOthers({ desk: { talkgroups } }: { desk: Desk }) {
  const others = talkgroups.tiles.value.filter(({ isSelected }) => !isSelected.value);
  const areMuted = others.length > 0 && others.every(({ isMuted }) => isMuted.value);
  return (
    <button
      type="button"
      class="mute-others"
      aria-pressed={areMuted}
      disabled={others.length === 0}
      onClick={() => {
        for (const tile of others) talkgroups.mute(tile, !areMuted);
      }}
    >
      <Icon name="volume-x" />
      {words.muteOthers}
    </button>
  );
}
