// The drawer at the left of the map: finds and sorts the devices, and is the map itself where none can be drawn.
import { useRef } from 'preact/hooks';
import type { Desk } from '../../app/desk.js';
import { nowMs } from '../../app/ticking.js';
import { Icon } from '../../icons/icon.js';
import { freshnesses } from '../fleet/freshness.js';
import type { MapState } from '../state.js';
import { texts } from '../texts.js';
import { type OnShow, PositionsTable } from './table.js';
import type { TablePage } from './table-rows.js';

type DrawerProps = {
  map: MapState;
  desk: Desk;
  /** null: it cannot be closed, because there is no map. */
  onClose: (() => void) | null;
  onShow: OnShow;
};

export function Drawer({ map, desk, onClose, onShow }: DrawerProps) {
  const { find, page, sortedBy } = map.choices;
  const element = useRef<HTMLElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // Rendered once a second, and not with every batch: each row that changes costs main thread time.
  const rows = map.rows.page({
    ...{ find: find.value, page: page.value, sortedBy: sortedBy.value },
    isHeld: isHeld(list.current),
    nowMs: nowMs.value,
  });
  return (
    <section class="map-drawer" aria-label={texts.positions} ref={element}>
      <header>
        <h2>{texts.positions}</h2>
        <Count map={map} />
        {onClose !== null && (
          <button type="button" class="map-close" aria-label={texts.closeDrawer} onClick={onClose}>
            <Icon name="x" />
          </button>
        )}
      </header>
      <label class="map-find">
        <Icon name="search" />
        <input
          type="search"
          autocomplete="off"
          aria-label={texts.find}
          placeholder={texts.find}
          value={find.value}
          onInput={(event) => {
            find.value = event.currentTarget.value;
            page.value = 0;
          }}
        />
      </label>
      <ul class="map-legend" aria-label={texts.legend}>
        {freshnesses.map((freshness, index) => (
          <li key={freshness}>
            <span class={`map-age map-age-${index}`} aria-hidden="true" />
            {texts.freshness[freshness]}
          </li>
        ))}
      </ul>
      <div class="map-table" ref={list}>
        <PositionsTable map={map} desk={desk} page={rows} onShow={onShow} />
      </div>
      <Foot map={map} rows={rows} />
    </section>
  );
}

/** The pointer or the focus is in the rows, so that none may move. */
const isHeld = (list: HTMLElement | null): boolean =>
  list !== null && (list.matches(':hover') || list.contains(document.activeElement));

function Count({ map }: { map: MapState }) {
  map.edition.value;
  return (
    <span class="quiet name line" role="status">
      {troubleOf(map) === null && texts.devices(map.fleet.devices.size)}
    </span>
  );
}

/** What the table lacks, and the other pages of it. */
function Foot({ map, rows: { found, page, pages } }: { map: MapState; rows: TablePage }) {
  const { choices, fleet } = map;
  const turn = (to: number) => {
    choices.page.value = to;
  };
  const trouble = troubleOf(map) ?? (fleet.unsent > 0 ? texts.unsent(fleet.unsent) : null);
  return (
    <>
      <p class="map-trouble" role="status">
        {trouble ?? (found === 0 && choices.find.value !== '' && texts.empty)}
      </p>
      {pages > 1 && (
        <div class="map-pages">
          <button type="button" aria-disabled={page === 0} onClick={() => turn(Math.max(0, page - 1))}>
            {texts.previous}
          </button>
          <span class="quiet" role="status">
            {texts.page(page + 1, pages)}
          </span>
          <button
            type="button"
            aria-disabled={page === pages - 1}
            onClick={() => turn(Math.min(pages - 1, page + 1))}
          >
            {texts.next}
          </button>
        </div>
      )}
    </>
  );
}

/** null: the devices are shown. */
function troubleOf(map: MapState): string | null {
  if (map.talkgroups.value.length === 0) return texts.noTalkgroup;
  if (map.chosen.value.size === 0) return texts.noneChosen;
  const state = map.watch.state.value;
  if (state.phase === 'rejected') return texts.rejected(state.code, state.isPassing);
  return state.phase === 'asking' ? texts.asking : null;
}
