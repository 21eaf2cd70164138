// Longitudes across the date line: the narrowest view of some places, and lines and rings that go on beyond 180 degrees.

type Point = [number, number];

/** The narrowest span with all of them (degrees). Its east is above 180 when it crosses the date line. null: of none. */
export function spanOf(lngs: readonly number[]): { west: number; east: number } | null {
  const sorted = [...new Set(lngs)].sort((one, other) => one - other);
  const [least] = sorted;
  const most = sorted.at(-1);
  if (least === undefined || most === undefined) return null;
  // All of the world but its widest gap. The one across the date line is the first.
  let [west, east, gap] = [least, most, least + 360 - most];
  for (const [at, lng] of sorted.slice(1).entries()) {
    const before = sorted[at] ?? lng;
    if (lng - before <= gap) continue;
    [west, east, gap] = [lng, before + 360, lng - before];
  }
  return { west, east };
}

/** The longitude that is nearest to `near`, possibly beyond 180 degrees. */
export const nearest = (lng: number, near: number): number => lng + 360 * Math.round((near - lng) / 360);

/** Rings of a polygon in the same copy of the world, its outline in the middle one. A hole that lies beyond the map is left out. */
export function aligned(rings: readonly Point[][]): Point[][] {
  const [outline = []] = rings;
  const middle = nearest(middleOf(outline), 0);
  return rings
    .filter((ring) => ring === outline || ring.some(([, lat]) => lat > SOUTH_EDGE))
    .map((ring) => {
      const shift = nearest(middleOf(ring), middle) - middleOf(ring);
      return ring.map(([lng, lat]): Point => [lng + shift, lat]);
    });
}

/** Latitude where a Mercator map ends. */
const SOUTH_EDGE = -85;

function middleOf(ring: readonly Point[]): number {
  const lngs = ring.map(([lng]) => lng);
  return (
    (lngs.reduce((one, other) => Math.min(one, other), 540) +
      lngs.reduce((one, other) => Math.max(one, other), -540)) /
    2
  );
}
