// The map itself: loads what draws it, hands it each new scene, and says in words what it lacks.
import { effect, type Signal, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { nowMs } from '../app/ticking.js';
import { loadStylesheet } from '../stylesheets.js';
import type { Drawing } from './drawing.js';
import { foreignOrigin } from './origins.js';
import type { MapState } from './state.js';
import { texts } from './texts.js';

/** What the user presses, and what went wrong, in words. */
export interface Stage {
  readonly drawing: Signal<Drawing | null>;
  readonly trouble: Signal<string | null>;
  readonly blocked: Signal<ReadonlySet<string>>;
  readonly isOwnMapFailed: Signal<boolean>;
}

export function createStage(): Stage {
  return {
    drawing: signal(null),
    trouble: signal(texts.loading),
    blocked: signal(new Set<string>()),
    isOwnMapFailed: signal(false),
  };
}

/** Origins named on the tab. A broken style may ask for hundreds. */
const BLOCKED_MAX = 5;

export function MapCanvas({
  map,
  stage,
  styleUrl,
}: {
  map: MapState;
  stage: Stage;
  styleUrl: string | null;
}) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => show(container.current, map, stage, styleUrl), [map, stage, styleUrl]);
  return <div class="map-canvas" ref={container} />;
}

function show(
  container: HTMLElement | null,
  map: MapState,
  stage: Stage,
  styleUrl: string | null,
): () => void {
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
    if (isClosed) return;
    const drawing = openDrawing(element, styleUrl, {
      unreachable: block,
      ownMapFailed() {
        stage.isOwnMapFailed.value = true;
      },
      contextLost(isLost) {
        stage.trouble.value = isLost ? texts.contextLost : null;
      },
      moved() {
        map.isFollowing.value = false;
      },
      chosen: (key) => choose(map, key),
    });
    stage.trouble.value = null;
    stage.drawing.value = drawing;
    ends.push(() => drawing.close(), keepDrawn(map, drawing), keepFollowed(map, drawing));
  }

  begin(container).catch((error: Error) => {
    if (isClosed) return;
    // The name of MapLibre's error for a browser without WebGL.
    stage.trouble.value = error.name === 'GPUInitializationError' ? texts.noWebGl : texts.notLoaded;
  });
  return () => {
    isClosed = true;
    stage.drawing.value = null;
    for (const end of ends.reverse()) end();
  };
}

/** Draws after each batch, and once a second, because positions grow old. */
function keepDrawn(map: MapState, drawing: Drawing): () => void {
  return effect(() => {
    map.edition.value;
    map.trailed.value;
    drawing.draw({
      devices: map.fleet.devices,
      trails: map.trails(),
      marks: map.marks.value,
      nowMs: nowMs.value + map.connection.value.clockOffsetMs,
    });
  });
}

function keepFollowed(map: MapState, drawing: Drawing): () => void {
  let last = '';
  return effect(() => {
    const [mark] = map.marks.value;
    if (mark === undefined || !map.isFollowing.value) return;
    const place = `${mark.id} ${mark.lng} ${mark.lat}`;
    if (place !== last) drawing.goTo(mark.lng, mark.lat);
    last = place;
  });
}

/** The table shows the device that was pressed on the map. */
function choose(map: MapState, key: number): void {
  for (const { key: other, username } of map.fleet.devices.values()) {
    if (other !== key) continue;
    map.start.value = username;
    map.page.value = 0;
  }
}
