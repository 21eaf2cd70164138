// What the map shows now: its bounds, and where on the screen a place is.
import type { Map as MapLibreMap } from 'maplibre-gl';
import type { Bounds } from './base/graticule.js';
import { spanOf } from './world.js';

export interface Camera {
  readonly zoom: number;
  readonly bounds: Bounds;
  /** Latitude of the middle. */
  readonly lat: number;
  /** Of the map on the screen (px). */
  readonly width: number;
  readonly height: number;
  /** Pixels from the upper left corner of the map. */
  project(lng: number, lat: number): { x: number; y: number };
}

export function cameraOf(map: MapLibreMap): Camera {
  const bounds = map.getBounds();
  const { clientWidth: width, clientHeight: height } = map.getContainer();
  return {
    ...{ width, height },
    zoom: map.getZoom(),
    bounds: {
      west: bounds.getWest(),
      south: bounds.getSouth(),
      east: bounds.getEast(),
      north: bounds.getNorth(),
    },
    lat: map.getCenter().lat,
    project(lng, lat) {
      const { x, y } = map.project([lng, lat]);
      return { x, y };
    },
  };
}

/** A margin of half the screen, so that markers at the edge do not jump. */
export function boundsOf(map: MapLibreMap): [number, number, number, number] {
  const { west, south, east, north } = cameraOf(map).bounds;
  const [wide, high] = [(east - west) / 2, (north - south) / 2];
  // Copies of the world are drawn beyond 180 degrees.
  if (west - wide < -180 || east + wide > 180) return [-180, south - high, 180, north + high];
  return [west - wide, south - high, east + wide, north + high];
}

/** Whether a place is on the part of the map that nothing covers. */
export function isInSight(map: MapLibreMap, lng: number, lat: number): boolean {
  const { x, y } = map.project([lng, lat]);
  const { clientWidth, clientHeight } = map.getContainer();
  const { left = 0 } = map.getPadding();
  return x > left && x < clientWidth && y > 0 && y < clientHeight;
}

/** Shows all of these places. False: there are none. */
export function fitTo(
  map: MapLibreMap,
  places: readonly { lng: number; lat: number }[],
  maxZoom: number,
): boolean {
  const span = spanOf(places.map(({ lng }) => lng));
  if (span === null) return false;
  const lats = places.map(({ lat }) => lat);
  const [south, north] = [lats.reduce((a, b) => Math.min(a, b)), lats.reduce((a, b) => Math.max(a, b))];
  map.fitBounds(
    [
      [span.west, south],
      [span.east, north],
    ],
    { padding: 60, maxZoom, animate: false },
  );
  return true;
}
