// Writes src/console/map/base/land.json, the outline of the land that the map shows without a network. Run it once, by hand:
//   npm pack world-atlas@2.0.2 && tar -xf world-atlas-2.0.2.tgz
//   node dist/src/docs/land.js package/land-50m.json > src/console/map/base/land.json
// The package is under the ISC licence. Its data are those of Natural Earth, which are in the public domain.
import { readFileSync } from 'node:fs';
import { encodeRing, type Land } from '../console/map/base/land.js';

type Point = readonly [number, number];
type Ring = readonly Point[];

/** The part of TopoJSON that the package uses. Points of an arc are differences. A negative arc ~i is arc i reversed. */
interface Topology {
  readonly transform: { readonly scale: Point; readonly translate: Point };
  readonly arcs: readonly Ring[];
  readonly objects: {
    readonly land: {
      readonly geometries: readonly { readonly arcs: readonly (readonly (readonly number[])[])[] }[];
    };
  };
}

/** Hundredths of a degree: 1.1 km, half a pixel at zoom 6. */
const SCALE = 100;
/** Degrees that a point may be off the line of its neighbours. */
const TOLERANCE = 0.1;
/** Square degrees. Smaller islands are a pixel at zoom 5. */
const AREA_MIN = 0.01;
/** Latitude where a Mercator map ends in the south. */
const EDGE = -85.06;

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('name the file land-50m.json of world-atlas');
process.stdout.write(`${JSON.stringify(landOf(JSON.parse(readFileSync(path, 'utf8'))), null, 1)}\n`);

function landOf({ transform, arcs, objects }: Topology): Land {
  const lines = arcs.map((arc) => absolute(arc, transform));
  const polygons = objects.land.geometries.flatMap((geometry) =>
    geometry.arcs.flatMap((rings) => {
      const kept = rings
        .map((ring) => simplified(unwrapped(joined(ring, lines))))
        .filter((ring) => ring.length > 3 && areaOf(ring) >= AREA_MIN);
      return kept.length === 0 ? [] : [kept.map((ring) => encodeRing(ring, SCALE))];
    }),
  );
  return { source: 'Natural Earth 1:50m land, public domain', scale: SCALE, polygons };
}

function absolute(arc: Ring, { scale, translate }: Topology['transform']): Ring {
  let [x, y] = [0, 0];
  return arc.map(([dx, dy]) => {
    x += dx;
    y += dy;
    return [x * scale[0] + translate[0], y * scale[1] + translate[1]] as const;
  });
}

/** Each arc begins with the last point of the one before. */
function joined(ring: readonly number[], lines: readonly Ring[]): Ring {
  return ring.flatMap((index, place) => {
    const line = index < 0 ? [...(lines[~index] ?? [])].reverse() : (lines[index] ?? []);
    return place === 0 ? line : line.slice(1);
  });
}

/**
 * A ring that crosses 180 degrees goes on beyond them, where MapLibre draws it as part of the next copy of the world. The one
 * around the South Pole ends a turn away from its beginning, and is closed along the edge of the map.
 */
function unwrapped(ring: Ring): Ring {
  let turns = 0;
  let last = ring[0]?.[0] ?? 0;
  const points = ring.map(([lng, lat]): Point => {
    if (lng - last > 180) turns -= 1;
    if (lng - last < -180) turns += 1;
    last = lng;
    return [lng + 360 * turns, lat];
  });
  const [first, end] = [points.at(0), points.at(-1)];
  if (turns === 0 || first === undefined || end === undefined) return points;
  return [...points, [end[0], EDGE], [first[0], EDGE], first];
}

/** By Douglas and Peucker, between the first point and the point farthest from it. */
function simplified(ring: Ring): Ring {
  const [first] = ring;
  if (first === undefined) return [];
  const distances = ring.map((point) => Math.hypot(point[0] - first[0], point[1] - first[1]));
  const middle = distances.indexOf(Math.max(...distances));
  return [...thinned(ring.slice(0, middle + 1)), ...thinned(ring.slice(middle)).slice(1)];
}

function thinned(line: Ring): Ring {
  const [first, last] = [line.at(0), line.at(-1)];
  if (first === undefined || last === undefined || line.length < 3) return line;
  let [farthest, distanceMax] = [0, 0];
  for (const [index, point] of line.entries()) {
    const distance = distanceFrom(point, first, last);
    if (distance > distanceMax) [farthest, distanceMax] = [index, distance];
  }
  if (distanceMax <= TOLERANCE) return [first, last];
  return [...thinned(line.slice(0, farthest + 1)), ...thinned(line.slice(farthest)).slice(1)];
}

function distanceFrom(point: Point, start: Point, end: Point): number {
  const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((point[0] - start[0]) * dx + (point[1] - start[1]) * dy) / length;
  const share = Math.min(1, Math.max(0, along));
  return Math.hypot(point[0] - start[0] - share * dx, point[1] - start[1] - share * dy);
}

function areaOf(ring: Ring): number {
  let sum = 0;
  for (let at = 1; at < ring.length; at++) {
    const [a, b] = [ring[at - 1] ?? [0, 0], ring[at] ?? [0, 0]];
    sum += a[0] * b[1] - b[0] * a[1];
  }
  return Math.abs(sum) / 2;
}
