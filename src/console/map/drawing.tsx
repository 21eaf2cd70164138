// Draws the map with MapLibre. This file is loaded when the tab is opened, because MapLibre is larger than the console.
import {
  type AddLayerObject,
  type GeoJSONSource,
  type MapGeoJSONFeature,
  Map as MapLibreMap,
  type StyleSpecification,
  setWorkerUrl,
} from 'maplibre-gl';
import { builtFile } from '../built.js';
import type { EmergencyMark } from './emergencies.js';
import type { Device } from './fleet.js';
import { freshnessOf } from './freshness.js';
import { type Land, readLand } from './land.js';
import landFile from './land.json';
import { createMarkers, type MarkerDiff } from './markers.js';
import {
  ageColours,
  builtInStyle,
  deviceLayers,
  deviceSource,
  emergencyColour,
  layers,
  lineSource,
  noFeatures,
  sources,
} from './style.js';
import { texts } from './texts.js';
import { linesOf } from './trail.js';
import { spanOf } from './world.js';

export interface Scene {
  readonly devices: ReadonlyMap<string, Device>;
  readonly trails: readonly Device[];
  readonly marks: readonly EmergencyMark[];
  /** Unix time (ms) of the server. */
  readonly nowMs: number;
}

export interface Drawing {
  draw(scene: Scene): void;
  goTo(lng: number, lat: number): void;
  zoomBy(steps: number): void;
  /** Shows all devices of the last scene. */
  showAll(): void;
  close(): void;
}

export interface DrawingOwner {
  /** A request to this address got no answer. */
  unreachable(address: string): void;
  /** The operator's map failed, and the built-in one is shown. */
  ownMapFailed(): void;
  /** `isLost` false: the browser draws again. */
  contextLost(isLost: boolean): void;
  /** The user moved the map. */
  moved(): void;
  /** The user pressed a marker. */
  chosen(key: number): void;
}

/** As MapLibre takes them. */
type Features = Extract<Parameters<GeoJSONSource['setData']>[0], { type: 'FeatureCollection' }>['features'];

const CLOSE_ZOOM = 13;
/** Above this number of devices the markers are drawn at most this often (ms). Emergencies are always drawn at once. */
const MANY = 1000;
const MANY_MS = 1900;
/** Up to this zoom most markers are in clusters, where a step of two pixels changes nothing that is seen. */
const CLUSTERS_TO = 13;

/** Throws when the browser has no WebGL. */
export function openDrawing(container: HTMLElement, styleUrl: string | null, owner: DrawingOwner): Drawing {
  setWorkerUrl(builtFile('map/maplibre-worker.ts'));
  const dark = matchMedia('(prefers-color-scheme: dark)');
  // The types of the specification are narrower than what TypeScript infers of the literals.
  const ownStyle = () => builtInStyle(readLand(landFile as Land), dark.matches) as StyleSpecification;
  const map = new MapLibreMap({
    container,
    style: styleUrl ?? ownStyle(),
    center: [10, 30],
    zoom: 1,
    attributionControl: styleUrl === null ? false : { compact: true },
    locale: { 'Map.Title': texts.canvas },
    fadeDuration: 0,
    refreshExpiredTiles: false,
  });
  const markers = createMarkers();
  let scene: Scene | null = null;
  let isReady = false;
  let isUpdating = false;
  let isFitted = false;
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let isOwnMapShown = styleUrl !== null;
  /** What small sources show, by their names. */
  const sent = new Map<string, string>();

  map.on('style.load', () => {
    map.addSource(sources.trails, lineSource);
    map.addSource(sources.devices, deviceSource);
    map.addSource(sources.emergencies, lineSource);
    for (const layer of deviceLayers(dark.matches)) map.addLayer(layer as AddLayerObject); // as for the style
    markers.forget();
    sent.clear();
    isReady = true;
    isUpdating = false;
    drawnAtMs = Number.NEGATIVE_INFINITY;
    draw();
  });
  map.on('error', ({ error }) => {
    // MapLibre's status of a request without an answer: the policy of the page, or the network.
    const { url, status } = error as Error & { url?: string; status?: number };
    if (url !== undefined && status === 0) owner.unreachable(url);
    if (isReady || !isOwnMapShown) return;
    isOwnMapShown = false;
    owner.ownMapFailed();
    map.setStyle(ownStyle());
  });
  map.on('webglcontextlost', () => owner.contextLost(true));
  map.on('webglcontextrestored', () => owner.contextLost(false));
  map.on('dragstart', () => owner.moved());
  map.on('moveend', draw);
  map.on('click', layers.markers, ({ features }) => {
    const key = features?.[0]?.id;
    if (typeof key === 'number') owner.chosen(key);
  });
  map.on('click', layers.clusters, ({ features }) => void openCluster(features?.[0]));
  const changeLook = () => {
    if (isOwnMapShown) return;
    isReady = false;
    map.setStyle(ownStyle());
  };
  dark.addEventListener('change', changeLook);

  async function openCluster(feature: MapGeoJSONFeature | undefined): Promise<void> {
    if (feature?.geometry.type !== 'Point') return;
    const [lng = 0, lat = 0] = feature.geometry.coordinates;
    const id = Number(feature.properties.cluster_id);
    const zoom = await sourceOf(sources.devices).getClusterExpansionZoom(id);
    owner.moved();
    map.easeTo({ center: [lng, lat], zoom });
  }

  // The source exists from `style.load` on, and nothing draws before.
  const sourceOf = (name: string) => map.getSource(name) as GeoJSONSource;

  function draw(): void {
    // While the worker is busy the next drawing waits, and then draws the last state of all.
    if (scene === null || !isReady || isUpdating) return;
    const { devices, trails, marks, nowMs } = scene;
    const zoom = map.getZoom();
    const stepDegrees = ((zoom < CLUSTERS_TO ? 2 : 1) * 360) / (512 * 2 ** zoom);
    const isDue = devices.size <= MANY || performance.now() - drawnAtMs >= MANY_MS;
    if (isDue) {
      drawnAtMs = performance.now();
      const diff = markers.diff(devices, { nowMs, stepDegrees, bounds: boundsOf(map) });
      if (isSome(diff)) void update(diff);
    }
    show(
      sources.trails,
      trails.map((one) => lineOf(one, nowMs)),
    );
    show(sources.emergencies, marks.map(pointOf));
    if (!isFitted && devices.size > 0) isFitted = showAll();
  }

  async function update(diff: MarkerDiff): Promise<void> {
    isUpdating = true;
    try {
      await sourceOf(sources.devices).updateData(diff);
    } catch {
      // The source is in doubt. The next drawing begins anew.
      markers.forget();
      void sourceOf(sources.devices)?.setData(noFeatures);
    }
    isUpdating = false;
  }

  /** Few features. They are sent when they have changed. */
  function show(name: string, features: Features): void {
    const text = JSON.stringify(features);
    if (text === sent.get(name)) return;
    sent.set(name, text);
    void sourceOf(name).setData({ type: 'FeatureCollection', features });
  }

  function showAll(): boolean {
    const placed = [...(scene?.devices.values() ?? [])].filter(({ lat }) => !Number.isNaN(lat));
    const lngs = [...placed, ...(scene?.marks ?? [])].map(({ lng }) => lng);
    const lats = [...placed, ...(scene?.marks ?? [])].map(({ lat }) => lat);
    const span = spanOf(lngs);
    if (span === null) return false;
    const [south, north] = [lats.reduce((a, b) => Math.min(a, b)), lats.reduce((a, b) => Math.max(a, b))];
    map.fitBounds(
      [
        [span.west, south],
        [span.east, north],
      ],
      { padding: 40, maxZoom: CLOSE_ZOOM, animate: false },
    );
    return true;
  }

  return {
    draw(next) {
      scene = next;
      draw();
    },
    goTo(lng, lat) {
      isFitted = true; // the first drawing of the devices must not leave this place
      map.jumpTo({ center: [lng, lat], zoom: Math.max(map.getZoom(), CLOSE_ZOOM) });
    },
    zoomBy(steps) {
      map.zoomTo(map.getZoom() + steps);
    },
    showAll,
    close() {
      dark.removeEventListener('change', changeLook);
      isReady = false;
      map.remove();
    },
  };
}

const isSome = ({ add, update, remove }: MarkerDiff) => add.length + update.length + remove.length > 0;

/** A margin of half the screen, so that markers at the edge do not jump. */
function boundsOf(map: MapLibreMap): [number, number, number, number] {
  const bounds = map.getBounds();
  const [west, south, east, north] = [
    bounds.getWest(),
    bounds.getSouth(),
    bounds.getEast(),
    bounds.getNorth(),
  ];
  const [wide, high] = [(east - west) / 2, (north - south) / 2];
  // Copies of the world are drawn beyond 180 degrees.
  if (west - wide < -180 || east + wide > 180) return [-180, south - high, 180, north + high];
  return [west - wide, south - high, east + wide, north + high];
}

function lineOf({ key, trail, fixedAtMs }: Device, nowMs: number) {
  const colour = ageColours[freshnessOf(nowMs - fixedAtMs)] ?? emergencyColour;
  return {
    type: 'Feature' as const,
    id: key,
    properties: { colour },
    geometry: { type: 'MultiLineString' as const, coordinates: linesOf(trail) },
  };
}

function pointOf({ lng, lat, username }: EmergencyMark) {
  return {
    type: 'Feature' as const,
    properties: { name: username },
    geometry: { type: 'Point' as const, coordinates: [lng, lat] },
  };
}
