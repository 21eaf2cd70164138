// Reads the outline of the land that is built into the console.
import { aligned } from '../world.js';

/** Natural Earth, public domain. Written by docs/land.ts. */
export interface Land {
  readonly source: string;
  /** Steps of a degree. */
  readonly scale: number;
  /** Polygons. Each is its rings, each ring is encoded by `encodeRing`. */
  readonly polygons: readonly (readonly string[])[];
}

export interface LandFeature {
  readonly type: 'Feature';
  readonly properties: Record<string, never>;
  readonly geometry: { readonly type: 'MultiPolygon'; readonly coordinates: [number, number][][][] };
}

export function readLand({ scale, polygons }: Land): LandFeature {
  const coordinates = polygons.map((rings) => aligned(rings.map((ring) => decodeRing(ring, scale))));
  return { type: 'Feature', properties: {}, geometry: { type: 'MultiPolygon', coordinates } };
}

// The format of "encoded polylines": differences in zigzag form, five bits a character from 63 on, so no character
// needs escaping in JSON but the backslash.
const FIRST = 63;

/** Points as [lng, lat] in degrees. The last one repeats the first one and is left out. */
export function encodeRing(points: readonly (readonly [number, number])[], scale: number): string {
  let text = '';
  let [lastX, lastY] = [0, 0];
  for (const [lng, lat] of points.slice(0, -1)) {
    const [x, y] = [Math.round(lng * scale), Math.round(lat * scale)];
    text += encodeNumber(x - lastX) + encodeNumber(y - lastY);
    [lastX, lastY] = [x, y];
  }
  return text;
}

export function decodeRing(text: string, scale: number): [number, number][] {
  const points: [number, number][] = [];
  let at = 0;
  const next = () => {
    let [value, shift, chunk] = [0, 0, 0];
    do {
      chunk = text.charCodeAt(at++) - FIRST;
      value |= (chunk & 31) << shift;
      shift += 5;
    } while (chunk >= 32);
    return value & 1 ? ~(value >> 1) : value >> 1;
  };
  let [x, y] = [0, 0];
  while (at < text.length) {
    x += next();
    y += next();
    points.push([x / scale, y / scale]);
  }
  const [first] = points;
  if (first !== undefined) points.push([...first]);
  return points;
}

function encodeNumber(difference: number): string {
  let value = difference < 0 ? ~(difference << 1) : difference << 1;
  let text = '';
  while (value >= 32) {
    text += String.fromCharCode((32 | (value & 31)) + FIRST);
    value >>= 5;
  }
  return text + String.fromCharCode(value + FIRST);
}
