// The map tab: the map, the table of positions, and what they show.
import { effect } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { createStage, MapCanvas, type Stage } from './canvas.js';
import { forgetMap, mapOf } from './desk.js';
import { freshnesses } from './freshness.js';
import { type MapState, POINTS_OF_A_TRAIL, TRAILS_FOR_ALL } from './state.js';
import { PositionsTable } from './table.js';
import { texts } from './texts.js';
import { WATCHED_TALKGROUPS } from './watch.js';

export default function PositionsMap() {
  const desk = currentDesk.value;
  return desk === null ? null : <OpenMap desk={desk} />;
}

function OpenMap({ desk }: { desk: Desk }) {
  const map = useMemo(() => mapOf(desk), [desk]);
  const stage = useMemo(createStage, []);
  useEffect(() => {
    const close = map.open();
    const follow = () => (document.hidden ? map.hide() : map.show());
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      close();
      desk.onMap.value = null;
      forgetMap(desk);
    };
  }, [desk, map]);
  useEffect(
    () =>
      effect(() => {
        const mark = map.marks.value.find(({ id }) => id === desk.onMap.value);
        const drawing = stage.drawing.value;
        if (mark === undefined || drawing === null) return;
        desk.onMap.value = null;
        map.isFollowing.value = false;
        drawing.goTo(mark.lng, mark.lat);
      }),
    [desk, map, stage],
  );
  return (
    <div class="map">
      <section class="map-side" aria-label={texts.map}>
        <Trouble map={map} stage={stage} />
        <Controls map={map} stage={stage} />
        <MapCanvas map={map} stage={stage} styleUrl={desk.config.map_style_url} />
        <Legend map={map} />
      </section>
      <section class="map-side" aria-label={texts.positions}>
        <Status map={map} />
        <Talkgroups map={map} />
        <PositionsTable
          map={map}
          onShow={(lng, lat) => {
            map.isFollowing.value = false;
            stage.drawing.peek()?.goTo(lng, lat);
          }}
        />
      </section>
    </div>
  );
}

function Trouble({ map, stage }: { map: MapState; stage: Stage }) {
  return (
    <div role="status">
      {stage.trouble.value !== null && <p class="banner">{stage.trouble.value}</p>}
      {stage.isOwnMapFailed.value && <p class="banner">{texts.ownMapFailed}</p>}
      {[...stage.blocked.value].map((origin) => (
        <p class="banner" key={origin}>
          {texts.blocked(origin)}
        </p>
      ))}
      {map.connection.value.opened === null && <p class="banner">{texts.disconnected}</p>}
    </div>
  );
}

function Controls({ map, stage }: { map: MapState; stage: Stage }) {
  const drawing = stage.drawing.value;
  if (drawing === null) return null;
  return (
    <div class="row">
      <button type="button" onClick={() => drawing.zoomBy(1)}>
        {texts.zoomIn}
      </button>
      <button type="button" onClick={() => drawing.zoomBy(-1)}>
        {texts.zoomOut}
      </button>
      <button
        type="button"
        onClick={() => {
          map.isFollowing.value = false;
          drawing.showAll();
        }}
      >
        {texts.showAll}
      </button>
      <button
        type="button"
        aria-pressed={map.isFollowing.value}
        onClick={() => {
          map.isFollowing.value = !map.isFollowing.peek();
        }}
      >
        {texts.followEmergencies}
      </button>
    </div>
  );
}

function Legend({ map }: { map: MapState }) {
  map.edition.value;
  const { droppedPoints, devices } = map.fleet;
  return (
    <div class="map-legend quiet">
      <ul aria-label={texts.legend}>
        {freshnesses.map((freshness, index) => (
          <li key={freshness}>
            <span class={`map-age map-age-${index}`} aria-hidden="true" />
            {texts.freshness[freshness]}
          </li>
        ))}
      </ul>
      <p>{devices.size <= TRAILS_FOR_ALL ? texts.trailsAll(TRAILS_FOR_ALL) : texts.trailsChosen}</p>
      {droppedPoints > 0 && <p>{texts.dropped(droppedPoints, POINTS_OF_A_TRAIL)}</p>}
    </div>
  );
}

function Status({ map }: { map: MapState }) {
  map.edition.value;
  return (
    <p class="quiet" role="status">
      {statusWords(map)}
    </p>
  );
}

function statusWords(map: MapState): string {
  if (map.talkgroups.value.length === 0) return texts.noTalkgroup;
  if (map.chosen.value.size === 0) return texts.noneChosen;
  const state = map.watch.state.value;
  if (state.phase === 'rejected') return texts.rejected(state.code, state.isPassing);
  if (state.phase === 'asking') return texts.asking;
  return texts.shown(map.fleet.devices.size, map.fleet.unsent);
}

function Talkgroups({ map }: { map: MapState }) {
  const talkgroups = map.talkgroups.value;
  const chosen = map.chosen.value;
  if (talkgroups.length < 2) return null;
  return (
    <details>
      <summary>{texts.talkgroups}</summary>
      {talkgroups.length > WATCHED_TALKGROUPS && <p>{texts.tooMany(WATCHED_TALKGROUPS)}</p>}
      <div class="map-talkgroups">
        {talkgroups.map(({ id, name }) => (
          <label key={id} class="map-talkgroup">
            <input
              type="checkbox"
              checked={chosen.has(id)}
              onChange={(event) => map.choose(id, event.currentTarget.checked)}
            />
            <span class="name">{name}</span>
          </label>
        ))}
      </div>
    </details>
  );
}
