// The map tab: the map over the whole view, and above it the drawer, the buttons and the card of a device.
import { effect, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import { Coordinates, Scale } from './base/overlay.js';
import { createStage, MapCanvas, type Stage } from './canvas.js';
import { OpenCard } from './card/card.js';
import { stopFollowing } from './choices.js';
import { Controls, FollowButton, Layers } from './controls.js';
import { forgetMap, mapOf } from './desk.js';
import { Drawer } from './drawer/drawer.js';
import { coveredPx, WIDE } from './room.js';
import type { MapState } from './state.js';
import { texts } from './texts.js';

export default function PositionsMap() {
  const desk = currentDesk.value;
  return desk === null ? null : <OpenMap desk={desk} />;
}

function OpenMap({ desk }: { desk: Desk }) {
  const map = useMemo(() => mapOf(desk), [desk]);
  const stage = useMemo(createStage, []);
  useWatching(desk, map);
  useEffect(() => showEmergency(desk, map, stage), [desk, map, stage]);
  const { isDrawerOpen, card } = map.choices;
  const isWide = useWide();
  const isMissing = stage.isMissing.value;
  const isOpen = isMissing || (isDrawerOpen.value ?? isWide);
  const drawing = stage.drawing.value;
  stage.moves.value;
  const left = coveredPx(isOpen, drawing?.camera.width ?? 0);
  useEffect(() => drawing?.cover(left), [drawing, left]);
  const { map_style_url, map_file } = desk.config;
  const isBuiltIn = (map_style_url === null && !map_file) || stage.isOwnMapFailed.value;
  const setOpen = (isNowOpen: boolean) => {
    isDrawerOpen.value = isNowOpen;
  };
  return (
    <div class={`map ${isMissing ? 'missing' : ''} ${isOpen && !isMissing ? 'with-drawer' : ''}`}>
      {isOpen && (
        <Drawer
          map={map}
          desk={desk}
          onClose={isMissing ? null : () => setOpen(false)}
          onShow={(shown, lng, lat) => {
            stopFollowing(map.choices);
            card.value = shown;
            if (!Number.isNaN(lat)) drawing?.bringInSight(lng, lat);
            // On a phone the drawer covers the map.
            if (drawing !== null && left === 0) setOpen(false);
          }}
        />
      )}
      <section class="map-area" aria-label={texts.map}>
        <MapCanvas map={map} stage={stage} config={desk.config} />
        {drawing !== null && isBuiltIn && <Coordinates drawing={drawing} left={left} />}
        {drawing !== null && <Scale drawing={drawing} />}
        <div class="map-top">
          {!isOpen && (
            <button type="button" onClick={() => setOpen(true)}>
              <Icon name="list" />
              {texts.openDrawer}
            </button>
          )}
          {drawing !== null && <FollowButton map={map} />}
          <Trouble map={map} stage={stage} />
        </div>
        {drawing !== null && <Controls map={map} drawing={drawing} />}
        {isMissing && map.talkgroups.value.length > 1 && <Layers map={map} />}
      </section>
      <OpenCard map={map} stage={stage} desk={desk} />
    </div>
  );
}

/** Watches positions while the tab is open and the page is visible. */
function useWatching(desk: Desk, map: MapState): void {
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
}

/** Goes to the emergency of which `Map` was pressed, as soon as its place is known. */
function showEmergency(desk: Desk, map: MapState, stage: Stage): () => void {
  return effect(() => {
    const mark = map.marks.value.find(({ id }) => id === desk.onMap.value);
    const drawing = stage.drawing.value;
    if (mark === undefined || (drawing === null && !stage.isMissing.value)) return;
    desk.onMap.value = null;
    stopFollowing(map.choices);
    map.choices.card.value = { emergency: mark.id };
    drawing?.goTo(mark.lng, mark.lat);
  });
}

function useWide(): boolean {
  const isWide = useSignal(matchMedia(WIDE).matches);
  useEffect(() => {
    const media = matchMedia(WIDE);
    const take = () => {
      isWide.value = media.matches;
    };
    media.addEventListener('change', take);
    return () => media.removeEventListener('change', take);
  }, [isWide]);
  return isWide.value;
}

function Trouble({ map, stage }: { map: MapState; stage: Stage }) {
  return (
    <div class="map-notes" role="status">
      {stage.trouble.value !== null && <p>{stage.trouble.value}</p>}
      {stage.isOwnMapFailed.value && <p>{texts.ownMapFailed}</p>}
      {[...stage.blocked.value].map((origin) => (
        <p key={origin}>{texts.blocked(origin)}</p>
      ))}
      {map.connection.value.opened === null && <p>{texts.disconnected}</p>}
    </div>
  );
}
