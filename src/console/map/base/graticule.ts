// Computes the graticule of the built-in map: which meridians and parallels there are, and their coordinates in words.
import { degreePx } from './scale.js';

/** Minutes of arc. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 2700, 5400] as const;
/** Lines are at least this far apart (px), so that coordinates have room. */
const APART_PX = 90;
/** Latitude where a Mercator map ends. */
const EDGE = 85;

export interface Bounds {
  /** Degrees. East is above west, also across the date line. */
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Minutes of arc between two lines, from 1 to 5,400. */
export function stepOf(zoom: number): number {
  const minutePx = degreePx(zoom) / 60;
  return STEPS.find((step) => step * minutePx >= APART_PX) ?? 5400;
}

export interface Graticule {
  /** Longitudes and latitudes (degrees), from west to east and from south to north. */
  readonly meridians: readonly number[];
  readonly parallels: readonly number[];
}

export function graticuleIn({ west, south, east, north }: Bounds, step: number): Graticule {
  return {
    meridians: multiples(west, east, step),
    parallels: multiples(Math.max(south, -EDGE), Math.min(north, EDGE), step),
  };
}

// Counted in whole minutes, so that no error of a sum grows.
function multiples(from: number, to: number, step: number): number[] {
  const first = Math.ceil((from * 60) / step - 1e-9);
  const last = Math.floor((to * 60) / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => ((first + at) * step) / 60);
}

/** The lines as GeoJSON, over the whole of these bounds. */
export function linesIn(bounds: Bounds, step: number) {
  const { meridians, parallels } = graticuleIn(bounds, step);
  const [south, north] = [Math.max(bounds.south, -EDGE), Math.min(bounds.north, EDGE)];
  const coordinates: [number, number][][] = [
    ...meridians.map((lng): [number, number][] => [
      [lng, south],
      [lng, north],
    ]),
    ...parallels.map((lat): [number, number][] => [
      [bounds.west, lat],
      [bounds.east, lat],
    ]),
  ];
  const geometry = { type: 'MultiLineString' as const, coordinates };
  return { type: 'Feature' as const, properties: {}, geometry };
}

/** As `54.25° N`, and below a step of 15 minutes as `54° 05′ N`. */
export const latitudeText = (lat: number, step: number): string =>
  degreesText(lat, step, lat < 0 ? 'S' : 'N');

/** As `11.50° E`. A longitude beyond 180 degrees is one of the next copy of the world. */
export function longitudeText(lng: number, step: number): string {
  const own = lng - 360 * Math.round(lng / 360);
  return degreesText(own, step, own < 0 ? 'W' : 'E');
}

function degreesText(degrees: number, step: number, side: string): string {
  const minutes = Math.round(Math.abs(degrees) * 60);
  const whole = Math.floor(minutes / 60);
  // The equator, Greenwich and the date line are on no side.
  const end = minutes % (180 * 60) === 0 ? '' : ` ${side}`;
  if (step >= 60) return `${whole}°${end}`;
  if (step >= 15) return `${(minutes / 60).toFixed(2)}°${end}`;
  return `${whole}° ${String(minutes % 60).padStart(2, '0')}′${end}`;
}
