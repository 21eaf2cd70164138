// Keeps how the tiles are arranged: which ones are shown, in which order and size, and the favourites of the user.
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { Emergency } from '../../client/radio.js';
import { readJson, type Shelf, writeJson } from '../settings/state.js';
import { createOrder, type Order } from './order.js';
import type { Talkgroups, Tile } from './state.js';

export type Filter = 'all' | 'favourites' | 'active';
export const sorts = ['name', 'number', 'activity'] as const;
export type Sort = (typeof sorts)[number];
/** `auto`: large in a wide window that has room for all of them. */
export type TileSize = 'auto' | 'compact' | 'large';

export type Grid = {
  readonly filter: ReadonlySignal<Filter>;
  readonly sort: ReadonlySignal<Sort>;
  readonly size: ReadonlySignal<TileSize>;
  /** Ids, in the order in which they became favourites. The key 1 selects the first one. */
  readonly favourites: ReadonlySignal<readonly string[]>;
  readonly counts: ReadonlySignal<Readonly<Record<Filter, number>>>;
  readonly order: Order;
  /** The tiles in their order. */
  readonly tiles: ReadonlySignal<readonly Tile[]>;
  /** The talkgroup of the tile with controls in the Tab order. null: there is none. */
  readonly current: ReadonlySignal<string | null>;
  /** The talkgroup whose menu is open. */
  readonly menuOf: Signal<string | null>;
  /** The talkgroup that the grid scrolls to, and may give the focus. */
  readonly goingTo: Signal<{ readonly id: string; readonly takesFocus: boolean } | null>;
  show(filter: Filter): void;
  sortBy(sort: Sort): void;
  resize(size: TileSize): void;
  favour(id: string, isFavourite: boolean): void;
  /** The tile has the focus. */
  enter(id: string): void;
  goTo(id: string, options?: { takesFocus?: boolean }): void;
};

/** A talkgroup in which someone talked in this time is active. */
export const ACTIVE_MS = 300_000;
// A list of identifiers takes 40 bytes for each.
const FAVOURITES_MAX = 500;

export type GridOwner = {
  talkgroups: Pick<Talkgroups, 'tiles'>;
  alarms: ReadonlySignal<readonly Pick<Emergency, 'talkgroup_id'>[]>;
  /** Unix time (ms) of this computer, once a second: more often no activity is counted. */
  nowMs: ReadonlySignal<number>;
  clock: Clock;
  shelf: Shelf;
  /** Users who share a browser have favourites of their own. */
  userId: string;
};

export function createGrid({ talkgroups, alarms, nowMs, clock, shelf, userId }: GridOwner): Grid {
  const key = `talkgroup.tiles.${userId}`;
  const stored = readStored(readJson(shelf, key));
  const filter: Signal<Filter> = signal('all');
  const sort: Signal<Sort> = signal(stored.sort);
  const size: Signal<TileSize> = signal(stored.size);
  const favourites: Signal<readonly string[]> = signal(stored.favourites);
  const entered: Signal<string | null> = signal(null);
  const goingTo: Grid['goingTo'] = signal(null);

  const byId = computed(() => new Map(talkgroups.tiles.value.map((tile) => [tile.id, tile])));
  const existing = computed(() => new Set(byId.value.keys()));
  /** By talkgroup: when someone talked last (Unix ms). Infinity: now, or there is an alarm. */
  const activity = computed(() => {
    nowMs.value;
    const alarmed = new Set(alarms.value.map(({ talkgroup_id }) => talkgroup_id));
    return new Map(
      talkgroups.tiles.value.map(({ id, view }) => [id, alarmed.has(id) ? NOW : lastTalk(view.peek())]),
    );
  });
  const isActive = ({ id }: Tile) => (activity.value.get(id) ?? 0) > nowMs.value - ACTIVE_MS;
  const isFavourite = ({ id }: Tile) => favourites.value.includes(id);
  const counts = computed(() => ({
    all: talkgroups.tiles.value.length,
    favourites: talkgroups.tiles.value.filter(isFavourite).length,
    active: talkgroups.tiles.value.filter(isActive).length,
  }));
  const wanted = computed(() => {
    const isShown = { all: () => true, favourites: isFavourite, active: isActive }[filter.value];
    const tiles = talkgroups.tiles.value.filter(isShown); // sorted by name, which decides between equal ones
    if (sort.value === 'number') tiles.sort((one, other) => numberOf(one) - numberOf(other));
    if (sort.value === 'activity') {
      const of = ({ id }: Tile) => activity.value.get(id) ?? 0;
      tiles.sort((one, other) => (of(one) === of(other) ? 0 : of(other) - of(one)));
    }
    return tiles.map(({ id }) => id);
  });
  const order = createOrder(wanted, existing, clock);
  const keep = () =>
    writeJson(shelf, key, { sort: sort.peek(), size: size.peek(), favourites: favourites.peek() });
  const arrange = (change: () => void) => {
    batch(change);
    order.sortNow();
  };

  return {
    ...{ filter, sort, size, favourites, counts, order, goingTo, menuOf: signal(null) },
    tiles: computed(() =>
      order.shown.value.map((id) => byId.value.get(id)).filter((tile) => tile !== undefined),
    ),
    current: computed(() => {
      const id = entered.value;
      return id !== null && order.shown.value.includes(id) ? id : (order.shown.value[0] ?? null);
    }),
    show: (next) =>
      arrange(() => {
        filter.value = next;
      }),
    sortBy(next) {
      arrange(() => {
        sort.value = next;
      });
      keep();
    },
    resize(next) {
      size.value = next;
      keep();
    },
    favour(id, isOn) {
      const others = favourites.peek().filter((one) => one !== id);
      favourites.value = isOn ? [...others, id].slice(-FAVOURITES_MAX) : others;
      keep();
    },
    enter(id) {
      entered.value = id;
    },
    goTo(id, { takesFocus = true } = {}) {
      if (!order.shown.peek().includes(id))
        arrange(() => {
          filter.value = 'all';
        });
      if (takesFocus) entered.value = id;
      goingTo.value = { id, takesFocus };
    },
  };
}

const NOW = Number.POSITIVE_INFINITY;
const numberOf = ({ view }: Tile) => view.peek().number;

function lastTalk({ talkers, last }: ReturnType<Tile['view']['peek']>): number {
  return talkers.length > 0 ? NOW : (last?.endedAtMs ?? 0);
}

/** What this version does not know is replaced by its default. */
function readStored(stored: unknown): { sort: Sort; size: TileSize; favourites: readonly string[] } {
  const { sort, size, favourites } = (typeof stored === 'object' && stored !== null ? stored : {}) as Partial<
    Record<'sort' | 'size' | 'favourites', unknown>
  >;
  return {
    sort: sorts.find((one) => one === sort) ?? 'name',
    size: size === 'compact' || size === 'large' ? size : 'auto',
    favourites: Array.isArray(favourites) ? favourites.filter((id) => typeof id === 'string') : [],
  };
}
