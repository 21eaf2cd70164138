// Draws the map with MapLibre. This file is loaded when the tab is opened, because MapLibre is larger than the console.
import type { ReadonlySignal } from '@preact/signals';
import {
  type AddLayerObject,
  type GeoJSONSource,
  type MapGeoJSONFeature,
  Map as MapLibreMap,
  type StyleSpecification,
  setWorkerUrl,
} from 'maplibre-gl';
import { builtFile } from '../built.js';
import { pageLook } from '../settings/page-look.js';
import { type Land, readLand } from './base/land.js';
import landFile from './base/land.json';
import { keepBase } from './base/shown.js';
import { builtInStyle } from './base/style.js';
import { boundsOf, type Camera, cameraOf, fitTo, isInSight } from './camera.js';
import { type DrawnTrail, emergencyFeature, talkerFeature, trailFeatures } from './features.js';
import type { EmergencyMark } from './fleet/emergencies.js';
import type { Device } from './fleet/fleet.js';
import type { TalkerMark } from './fleet/talkers.js';
import { addImages } from './images.js';
import { createMarkers, type MarkerDiff } from './markers.js';
import {
  CLUSTERS_FROM,
  CLUSTERS_TO,
  deviceLayers,
  deviceSource,
  layers,
  lineSource,
  noFeatures,
  sources,
} from './style.js';
import { texts } from './texts.js';

export interface Scene {
  readonly devices: ReadonlyMap<string, Device>;
  readonly trails: readonly DrawnTrail[];
  readonly marks: readonly EmergencyMark[];
  readonly talkers: readonly TalkerMark[];
  /** Unix time (ms) of the server. */
  readonly nowMs: number;
}

export interface Drawing {
  draw(scene: Scene): void;
  /** Close enough to tell streets. */
  goTo(lng: number, lat: number): void;
  /** Without a change of the zoom. */
  panTo(lng: number, lat: number): void;
  /** Nothing moves when the place is in sight. */
  bringInSight(lng: number, lat: number): void;
  zoomBy(steps: number): void;
  /** Shows all devices of the last scene. */
  showAll(): void;
  /** What covers the left of the map (px), so that the middle is that of the rest. */
  cover(leftPx: number): void;
  readonly camera: Camera;
  close(): void;
}

/** A map of the operator: the address of its style, or a style for each look. */
export interface OwnMap {
  style(isDark: boolean): string | StyleSpecification;
  /** It cannot be drawn any more. */
  readonly isBroken?: ReadonlySignal<boolean>;
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
  /** The map shows another place, or has another size. */
  changed(): void;
  /** The user pressed the marker of a device. */
  chosen(key: number): void;
  /** The user pressed an emergency. */
  emergencyChosen(id: string): void;
}

/** As MapLibre takes them. */
type Features = Extract<Parameters<GeoJSONSource['setData']>[0], { type: 'FeatureCollection' }>['features'];

const CLOSE_ZOOM = 13;
/** Above this number of devices the markers are drawn at most this often (ms). Emergencies are always drawn at once. */
const MANY = 1000;
const MANY_MS = 1900;

/** Throws when the browser has no WebGL. */
export function openDrawing(container: HTMLElement, ownMap: OwnMap | null, owner: DrawingOwner): Drawing {
  setWorkerUrl(builtFile('map/maplibre-worker.ts'));
  const { isDark } = pageLook();
  // The types of the specification are narrower than what TypeScript infers of the literals.
  const builtIn = () => builtInStyle(readLand(landFile as Land), isDark.peek()) as StyleSpecification;
  const map = new MapLibreMap({
    container,
    style: ownMap?.style(isDark.peek()) ?? builtIn(),
    center: [10, 30],
    zoom: 1,
    attributionControl: ownMap === null ? false : { compact: true },
    locale: { 'Map.Title': texts.canvas },
    fadeDuration: 0,
    refreshExpiredTiles: false,
    // North is up, as the coordinates at the edges say.
    dragRotate: false,
    touchPitch: false,
    maxPitch: 0,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  const markers = createMarkers();
  let scene: Scene | null = null;
  let isReady = false;
  let isUpdating = false;
  let isFitted = false;
  let isClustered = false;
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let isOwnMapShown = ownMap !== null;
  /** What small sources show, by their names. */
  const sent = new Map<string, string>();
  const base = keepBase(map);

  map.on('style.load', () => {
    addImages(map);
    map.addSource(sources.trails, lineSource);
    isClustered = isLarge();
    map.addSource(sources.devices, { ...deviceSource, cluster: isClustered });
    map.addSource(sources.emergencies, lineSource);
    map.addSource(sources.talkers, lineSource);
    for (const layer of deviceLayers(isDark.peek())) map.addLayer(layer as AddLayerObject); // as for the style
    markers.forget();
    sent.clear();
    isReady = true;
    isUpdating = false;
    drawnAtMs = Number.NEGATIVE_INFINITY;
    base.draw();
    draw();
  });
  map.on('error', ({ error }) => {
    // MapLibre's status of a request without an answer: the policy of the page, or the network.
    const { url, status } = error as Error & { url?: string; status?: number };
    if (url !== undefined && status === 0) owner.unreachable(url);
    if (!isReady) leaveOwnMap();
  });
  const leaveOwnMap = () => {
    if (!isOwnMapShown) return;
    isOwnMapShown = false;
    owner.ownMapFailed();
    isReady = false;
    map.setStyle(builtIn());
  };
  const stopOwnMap = ownMap?.isBroken?.subscribe((isBroken) => {
    if (isBroken) leaveOwnMap();
  });
  map.on('webglcontextlost', () => owner.contextLost(true));
  map.on('webglcontextrestored', () => owner.contextLost(false));
  // By a pointer, the wheel or the keyboard. The console's own moves have no event.
  map.on('movestart', ({ originalEvent }) => {
    if (originalEvent !== undefined) owner.moved();
  });
  map.on('move', owner.changed);
  map.on('resize', owner.changed);
  map.on('moveend', draw);
  map.on('click', layers.markers, ({ features }) => {
    const key = features?.[0]?.id;
    if (typeof key === 'number') owner.chosen(key);
  });
  map.on('click', layers.emergencies, ({ features }) => {
    const id: unknown = features?.[0]?.properties.emergency;
    if (typeof id === 'string') owner.emergencyChosen(id);
  });
  map.on('click', layers.clusters, ({ features }) => void openCluster(features?.[0]));
  const changeLook = () => {
    const style = isOwnMapShown ? ownMap?.style(isDark.peek()) : builtIn();
    // A style at an address has one look, which is the business of the operator.
    if (style === undefined || typeof style === 'string') return;
    isReady = false;
    map.setStyle(style);
  };
  let look = isDark.peek();
  const stopLook = isDark.subscribe((now) => {
    if (now !== look) changeLook();
    look = now;
  });

  async function openCluster(feature: MapGeoJSONFeature | undefined): Promise<void> {
    if (feature?.geometry.type !== 'Point') return;
    const [lng = 0, lat = 0] = feature.geometry.coordinates;
    const id = Number(feature.properties.cluster_id);
    const zoom = await sourceOf(sources.devices)
      .getClusterExpansionZoom(id)
      .catch(() => null); // the devices have moved, and it is another cluster
    if (zoom === null) return;
    owner.moved();
    map.easeTo({ center: [lng, lat], zoom });
  }

  // The source exists from `style.load` on, and nothing draws before.
  const sourceOf = (name: string) => map.getSource(name) as GeoJSONSource;
  const isLarge = () => (scene?.devices.size ?? 0) >= CLUSTERS_FROM;

  function draw(): void {
    // While the worker is busy the next drawing waits, and then draws the last state of all.
    if (scene === null || !isReady || isUpdating) return;
    const { devices, trails, marks, talkers, nowMs } = scene;
    const zoom = map.getZoom();
    // In clusters a step of two pixels changes nothing that is seen.
    const isCoarse = isClustered && zoom < CLUSTERS_TO;
    const stepDegrees = ((isCoarse ? 2 : 1) * 360) / (512 * 2 ** zoom);
    const isDue = devices.size <= MANY || performance.now() - drawnAtMs >= MANY_MS;
    if (isDue) {
      drawnAtMs = performance.now();
      const diff = markers.diff(devices, { nowMs, stepDegrees, bounds: boundsOf(map) });
      if (isSome(diff) || isClustered !== isLarge()) void update(diff);
    }
    show(
      sources.trails,
      trails.flatMap((one) => trailFeatures(one, nowMs)),
    );
    show(sources.emergencies, marks.map(emergencyFeature));
    show(sources.talkers, talkers.map(talkerFeature));
    if (!isFitted && devices.size > 0) isFitted = showAll();
  }

  async function update(diff: MarkerDiff): Promise<void> {
    isUpdating = true;
    try {
      await sourceOf(sources.devices).updateData(diff);
      if (isClustered !== isLarge()) {
        isClustered = isLarge();
        await sourceOf(sources.devices).setClusterOptions({ ...deviceSource, cluster: isClustered });
      }
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
    return fitTo(map, [...placed, ...(scene?.marks ?? [])], CLOSE_ZOOM);
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
    panTo(lng, lat) {
      isFitted = true;
      map.jumpTo({ center: [lng, lat] });
    },
    bringInSight(lng, lat) {
      isFitted = true;
      if (!isInSight(map, lng, lat)) map.jumpTo({ center: [lng, lat] });
    },
    zoomBy(steps) {
      // At once: a position of a device that is followed would stop the movement half-way.
      map.zoomTo(map.getZoom() + steps, { animate: false });
    },
    showAll,
    cover(left) {
      map.setPadding({ left, top: 0, right: 0, bottom: 0 });
    },
    get camera() {
      return cameraOf(map);
    },
    close() {
      stopLook();
      stopOwnMap?.();
      isReady = false;
      base.close();
      map.remove();
    },
  };
}

const isSome = ({ add, update, remove }: MarkerDiff) => add.length + update.length + remove.length > 0;
