// The map itself: loads what draws it, hands it each new scene, and says in words what it lacks.
import { effect, type Signal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Config } from '../app/config.js';
import { nowMs } from '../app/ticking.js';
import { loadStylesheet } from '../stylesheets.js';
import { stopFollowing } from './choices.js';
import type { Drawing, OwnMap } from './drawing.js';
import { foreignOrigin } from './origins.js';
import type { MapState } from './state.js';
import { texts } from './texts.js';

/** What the user presses, and what went wrong, in words. */
export interface Stage {
  readonly drawing: Signal<Drawing | null>;
  readonly trouble: Signal<string | null>;
  readonly blocked: Signal<ReadonlySet<string>>;
  readonly isOwnMapFailed: Signal<boolean>;
  /** The map cannot be drawn at all. */
  readonly isMissing: Signal<boolean>;
  /** Counts moves and changes of the size. */
  readonly moves: Signal<number>;
}

export function createStage(): Stage {
  return {
    drawing: signal(null),
    trouble: signal(texts.loading),
    blocked: signal(new Set<string>()),
    isOwnMapFailed: signal(false),
    isMissing: signal(false),
    moves: signal(0),
  };
}

/** Origins named on the tab. A broken style may ask for hundreds. */
const BLOCKED_MAX = 5;

export function MapCanvas({ map, stage, config }: { map: MapState; stage: Stage; config: Config }) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => show(container.current, map, stage, config), [map, stage, config]);
  return <div class="map-canvas" ref={container} />;
}

function show(container: HTMLElement | null, map: MapState, stage: Stage, config: Config): () => void {
  if (container === null) return () => undefined;
  let isClosed = false;
  const ends: (() => void)[] = [];
  const block = (address: string) => {
    const origin = foreignOrigin(address, location.href);
    if (origin !== null && stage.blocked.peek().size < BLOCKED_MAX) {
      stage.blocked.value = new Set(stage.blocked.peek()).add(origin);
    }
  };
  const onViolation = (event: SecurityPolicyViolationEvent) => block(event.blockedURI);
  document.addEventListener('securitypolicyviolation', onViolation);
  ends.push(() => document.removeEventListener('securitypolicyviolation', onViolation));

  async function begin(element: HTMLElement): Promise<void> {
    const [{ openDrawing }] = await Promise.all([import('./drawing.js'), loadStylesheet('map/maplibre.css')]);
    const ownMap = await ownMapOf(config, stage);
    if (isClosed) return;
    const drawing = openDrawing(element, ownMap, {
      unreachable: block,
      ownMapFailed() {
        stage.isOwnMapFailed.value = true;
      },
      contextLost(isLost) {
        stage.trouble.value = isLost ? texts.contextLost : null;
      },
      moved: () => stopFollowing(map.choices),
      changed() {
        stage.moves.value += 1;
      },
      chosen: (key) => choose(map, key),
      emergencyChosen(emergency) {
        map.choices.card.value = { emergency };
      },
    });
    stage.trouble.value = null;
    stage.isMissing.value = false;
    stage.drawing.value = drawing;
    ends.push(() => drawing.close(), keepDrawn(map, drawing), keepFollowed(map, drawing));
  }

  begin(container).catch((error: Error) => {
    if (isClosed) return;
    stage.isMissing.value = true;
    // The name of MapLibre's error for a browser without WebGL.
    stage.trouble.value = error.name === 'GPUInitializationError' ? texts.noWebGl : texts.notLoaded;
  });
  return () => {
    isClosed = true;
    stage.drawing.value = null;
    for (const end of ends.reverse()) end();
  };
}

/** null: the built-in map. */
async function ownMapOf({ map_style_url: url, map_file }: Config, stage: Stage): Promise<OwnMap | null> {
  if (url !== null) return { style: () => url };
  if (!map_file) return null;
  try {
    const { openFileMap } = await import('./base/file-map.js');
    return await openFileMap();
  } catch {
    // TypeError: the network. Error: the service has no such file any more, or it is no map.
    stage.isOwnMapFailed.value = true;
    return null;
  }
}

/** Draws after each batch, and once a second, because positions grow old. */
function keepDrawn(map: MapState, drawing: Drawing): () => void {
  return effect(() => {
    map.edition.value;
    map.choices.trailed.value;
    drawing.draw({
      devices: map.fleet.devices,
      marks: map.marks.value,
      talkers: map.talkers.value,
      trails: map.trails(),
      nowMs: nowMs.value + map.connection.value.clockOffsetMs,
    });
  });
}

/** The device that the user follows, else the most urgent emergency. The zoom changes for a new emergency alone. */
function keepFollowed(map: MapState, drawing: Drawing): () => void {
  let last = '';
  let lastId = '';
  return effect(() => {
    map.edition.value;
    const { followed, isFollowingEmergencies } = map.choices;
    const device = map.fleet.devices.get(followed.value ?? '');
    const [mark] = isFollowingEmergencies.value ? map.marks.value : [];
    const { id, lng, lat } = device ?? mark ?? { id: '', lng: Number.NaN, lat: Number.NaN };
    const place = `${id} ${lng} ${lat}`;
    if (place === last) return;
    last = place;
    if (Number.isNaN(lat)) return;
    if (device === undefined && id !== lastId) drawing.goTo(lng, lat);
    else drawing.panTo(lng, lat);
    lastId = id;
  });
}

/** Opens the card of the device that was pressed on the map. */
function choose(map: MapState, key: number): void {
  for (const { key: other, id } of map.fleet.devices.values())
    if (other === key) map.choices.card.value = { device: id };
}
