// Shows the talkgroups of the user as tiles. In the Tab order they are one group, in which the arrow keys move.
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { type Desk, desk } from '../app/desk.js';
import { insideEvents } from '../app/inside.js';
import { Lazy } from '../app/lazy.js';
import { account } from '../app/session.js';
import { talkgroupAt } from '../app/talkgroup-at.js';
import { texts } from '../app/texts.js';
import { withStylesheet } from '../stylesheets.js';
import { nextPlace } from './grid-focus.js';
import type { Tile } from './state.js';
import { tiles as words } from './texts.js';
import { TileView } from './tile.js';
import { isLarge } from './tile-size.js';
import { Toolbar } from './toolbar.js';

const { talkgroups: names } = texts;
const loadMenu = () => withStylesheet('talkgroups/tile-menu.css', import('./tile-menu.js'));

export default function Talkgroups() {
  const now = desk.value;
  return now === null ? null : <Grid desk={now} />;
}

function Grid({ desk }: { desk: Desk }) {
  const { grid, talkgroups, connection } = desk;
  const list = useRef<HTMLUListElement>(null);
  const room = useSignal({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const view = list.current?.closest('.view');
    const watching = new ResizeObserver(() => {
      room.value = { width: view?.clientWidth ?? 0, height: view?.clientHeight ?? 0 };
    });
    if (view != null) watching.observe(view);
    return () => watching.disconnect();
  }, [room]);
  useFocus(desk, list);
  useEffect(
    () => () => {
      grid.order.hold('pointer', false);
      grid.order.hold('focus', false);
    },
    [grid],
  );
  const tiles = grid.tiles.value;
  const count = talkgroups.tiles.value.length;
  const large = isLarge({ ...{ size: grid.size.value, count, windowWidth: innerWidth, view: room.value } });
  return (
    <>
      <h2 id="talkgroups" class="visually-hidden">
        {names.label}
      </h2>
      <Toolbar desk={desk} isLarge={large} />
      {tiles.length === 0 && connection.value.state === 'open' && (
        <p class="quiet">{emptyText(count, grid.filter.value)}</p>
      )}
      <section
        aria-labelledby="talkgroups"
        class={large ? 'grid large' : 'grid'}
        {...insideEvents(grid.order.hold)}
        onFocusIn={({ target }) => {
          grid.order.hold('focus', true);
          const id = talkgroupAt(target);
          if (id !== null) grid.enter(id);
        }}
        onKeyDown={(event) => move(event, list.current)}
      >
        <ul class="tiles" ref={list}>
          <Tiles tiles={tiles} desk={desk} />
        </ul>
        {grid.menuOf.value !== null && (
          <div class="late">
            <Lazy key="tile-menu" load={loadMenu} />
          </div>
        )}
      </section>
    </>
  );
}

/**
 * In a component of its own, because Preact keeps what an element was given as children. As children of the list itself, each tile
 * would keep the elements that it was first drawn with, 5 KB, as long as the order of the tiles stays.
 */
const Tiles = ({ tiles, desk }: { tiles: readonly Tile[]; desk: Desk }) => (
  <>
    {tiles.map((tile) => (
      <TileView key={tile.id} tile={tile} desk={desk} />
    ))}
  </>
);

function emptyText(count: number, filter: 'all' | 'favourites' | 'active'): string {
  if (count === 0) return account.value?.role === 'admin' ? names.noneForAdmin : names.none;
  return filter === 'favourites' ? words.noFavourites : words.noneActive;
}

/** Goes to the tile that was asked for. When the tile with the focus goes, the one in its place gets it. */
function useFocus({ grid }: Desk, list: { current: HTMLUListElement | null }): void {
  const tiles = grid.tiles.value;
  const goingTo = grid.goingTo.value;
  // Read before the tiles are drawn, when one that goes is still there.
  const { activeElement } = document;
  const focused = list.current?.contains(activeElement) ? talkgroupAt(activeElement) : null;
  const before = useRef(tiles);
  useLayoutEffect(() => {
    if (goingTo === null) return;
    const tile = list.current?.querySelector(`[data-talkgroup="${CSS.escape(goingTo.id)}"]`);
    if (tile == null) return;
    grid.goingTo.value = null;
    if (goingTo.takesFocus) enter(buttonsOf(tile)[0]);
    else tile.scrollIntoView({ block: 'nearest' });
  }, [goingTo, tiles, grid, list]);
  useLayoutEffect(() => {
    const place = before.current.findIndex(({ id }) => id === focused);
    before.current = tiles;
    if (place >= 0 && !list.current?.contains(document.activeElement))
      enter(buttonsOf(list.current?.children[Math.min(place, tiles.length - 1)])[0]);
  }, [tiles]);
}

/** With its whole tile in sight. */
function enter(button: HTMLElement | undefined): void {
  button?.closest('li')?.scrollIntoView({ block: 'nearest' });
  button?.focus({ preventScroll: true });
}

const buttonsOf = (tile: Element | undefined) => [...(tile?.querySelectorAll<HTMLElement>('button') ?? [])];

/** To the same control of another tile. */
function move(event: KeyboardEvent, list: HTMLUListElement | null): void {
  const tiles = [...(list?.children ?? [])];
  const at = tiles.findIndex((tile) => tile.contains(document.activeElement));
  if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
  const top = (tile: Element | undefined) => tile?.getBoundingClientRect().top;
  const columns = tiles.filter((tile) => top(tile) === top(tiles[0])).length;
  const next = nextPlace({ key: event.key, at, count: tiles.length, columns });
  if (next === null) return;
  event.preventDefault(); // the view must not scroll as well
  const control = buttonsOf(tiles[at]).indexOf(document.activeElement as HTMLElement); // of this list, or -1
  enter(buttonsOf(tiles[next])[control]);
}
