// Where a device was since the tab was opened: a list of points with a bound.
import { nearest } from '../world.js';

/** 5,000 devices with full trails take 15 MB: three numbers of 8 bytes a point. */
export const TRAIL_POINTS = 120;

/** About 11 m to the north. Smaller steps are mostly errors of the receiver. */
const STEP_DEGREES = 1e-4;
/** Numbers of a point. */
const SIZE = 3;

export interface Trail {
  /** lng, lat, Unix time (ms) of the server, lng, lat … A point of NaN is a time without watching. */
  readonly points: number[];
  /** Points that were removed because the trail was full. */
  dropped: number;
}

export const newTrail = (): Trail => ({ points: [], dropped: 0 });

/** When the trail is full, the oldest point is removed and counted. */
export function extend(trail: Trail, lng: number, lat: number, atMs: number): void {
  const { points } = trail;
  const lastLng = points[points.length - SIZE] ?? Number.NaN;
  const lastLat = points[points.length - SIZE + 1] ?? Number.NaN;
  // A comparison with NaN is false, so a first point is always taken.
  if (Math.abs(lng - lastLng) < STEP_DEGREES && Math.abs(lat - lastLat) < STEP_DEGREES) return;
  points.push(lng, lat, atMs);
  if (points.length > SIZE * TRAIL_POINTS) {
    points.splice(0, SIZE);
    trail.dropped += 1;
  }
}

/** What comes next is not joined to what was before. */
export function interrupt({ points }: Trail): void {
  if (points.length > 0 && !Number.isNaN(points.at(-1))) points.push(Number.NaN, Number.NaN, Number.NaN);
}

/** Lines of at least two points from this time on (Unix ms of the server), as the coordinates of a MultiLineString. */
export function linesOf({ points }: Trail, sinceMs = Number.NEGATIVE_INFINITY): [number, number][][] {
  const lines: [number, number][][] = [];
  let line: [number, number][] = [];
  for (let at = 0; at < points.length; at += SIZE) {
    const [lng = Number.NaN, lat = Number.NaN, atMs = Number.NaN] = points.slice(at, at + SIZE);
    if (Number.isNaN(lng)) {
      lines.push(line);
      line = [];
    } else if (atMs >= sinceMs) line.push([nearest(lng, line.at(-1)?.[0] ?? lng), lat]);
  }
  lines.push(line);
  return lines.filter(({ length }) => length > 1);
}
