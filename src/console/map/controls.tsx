// The buttons above the map: following, zoom, and the talkgroups on it.
import { useSignal } from '@preact/signals';
import { Icon } from '../icons/icon.js';
import type { IconName } from '../icons/icons.js';
import { stopFollowing } from './choices.js';
import type { Drawing } from './drawing.js';
import { WATCHED_TALKGROUPS } from './fleet/watch.js';
import { type MapState, POINTS_OF_A_TRAIL } from './state.js';
import { CLUSTERS_FROM } from './style.js';
import { texts } from './texts.js';

export function FollowButton({ map }: { map: MapState }) {
  const { isFollowingEmergencies: isFollowing, followed } = map.choices;
  return (
    <button
      type="button"
      class="map-follow"
      aria-pressed={isFollowing.value}
      onClick={() => {
        followed.value = null;
        isFollowing.value = !isFollowing.peek();
      }}
    >
      <span class="map-tick">{isFollowing.value && <Icon name="check" />}</span>
      {texts.followEmergencies}
      <span class="map-state" aria-hidden="true">
        {isFollowing.value ? texts.following.on : texts.following.off}
      </span>
    </button>
  );
}

export function Controls({ map, drawing }: { map: MapState; drawing: Drawing }) {
  const areLayersOpen = useSignal(false);
  const close = ({ key }: KeyboardEvent) => {
    if (key === 'Escape') areLayersOpen.value = false;
  };
  return (
    <div class="map-controls">
      <IconButton name={texts.zoomIn} icon="plus" onClick={() => drawing.zoomBy(1)} />
      <IconButton name={texts.zoomOut} icon="minus" onClick={() => drawing.zoomBy(-1)} />
      <IconButton
        name={texts.showAll}
        icon="maximize"
        onClick={() => {
          stopFollowing(map.choices);
          drawing.showAll();
        }}
      />
      <button
        type="button"
        aria-label={texts.talkgroups}
        title={texts.talkgroups}
        aria-expanded={areLayersOpen.value}
        onKeyDown={close}
        onClick={() => {
          areLayersOpen.value = !areLayersOpen.peek();
        }}
      >
        <Icon name="layers" />
      </button>
      {areLayersOpen.value && <Layers map={map} onKey={close} />}
    </div>
  );
}

function IconButton({ name, icon, onClick }: { name: string; icon: IconName; onClick(): void }) {
  return (
    <button type="button" aria-label={name} title={name} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** The choice of talkgroups, and what the map leaves out. */
export function Layers({ map, onKey }: { map: MapState; onKey?: (event: KeyboardEvent) => void }) {
  map.edition.value;
  const talkgroups = map.talkgroups.value;
  const chosen = map.chosen.value;
  const { droppedPoints } = map.fleet;
  return (
    <fieldset class="map-layers">
      <legend>{texts.talkgroups}</legend>
      {talkgroups.length > WATCHED_TALKGROUPS && <p>{texts.tooMany(WATCHED_TALKGROUPS)}</p>}
      <div class="map-talkgroups">
        {talkgroups.map(({ id, name }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={chosen.has(id)}
              onKeyDown={onKey}
              onChange={(event) => map.choose(id, event.currentTarget.checked)}
            />
            <span class="name">{name}</span>
          </label>
        ))}
      </div>
      <p class="quiet">{texts.trails}</p>
      <p class="quiet">{texts.clusters(CLUSTERS_FROM)}</p>
      {droppedPoints > 0 && <p class="quiet">{texts.dropped(droppedPoints, POINTS_OF_A_TRAIL)}</p>}
    </fieldset>
  );
}
