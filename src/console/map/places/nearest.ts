// Finds the nearest town of a place, and says in words how far away it is.
import type { TownPlace } from './list.js';
import { texts as words } from './texts.js';

/** Mean radius of the earth (km). */
const EARTH_KM = 6371;
/** A town that is farther away says nothing. */
const FAR_KM = 500;
/** The middle of a town is not its border, and a list to two digits has errors of 1 km. */
const NEAR_KM = 3;

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** As `19 km N of Rerik`. null: no town within 500 km. */
export function nearestIn(places: readonly TownPlace[], lat: number, lng: number): string | null {
  let best: TownPlace | null = null;
  let bestKm = FAR_KM;
  // Degrees of latitude cost no trigonometry, and leave out most of 7,343 towns.
  for (const place of places) {
    if (Math.abs(place.lat - lat) * KM_A_DEGREE > bestKm) continue;
    const km = distanceKm(place, { lat, lng });
    if (km < bestKm) [best, bestKm] = [place, km];
  }
  if (best === null) return null;
  if (bestKm < NEAR_KM) return words.near(best.name);
  return words.from(distanceText(bestKm), directionFrom(best, { lat, lng }), best.name);
}

const KM_A_DEGREE = radians(1) * EARTH_KM;

type LatLng = Pick<TownPlace, 'lat' | 'lng'>;

/** Along a great circle. */
export function distanceKm(from: LatLng, to: LatLng): number {
  const [a, b] = [radians(from.lat), radians(to.lat)];
  const h =
    Math.sin((b - a) / 2) ** 2 + Math.cos(a) * Math.cos(b) * Math.sin(radians(to.lng - from.lng) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

const distanceText = (km: number) => words.km(km < 10 ? km.toFixed(1) : String(Math.round(km)));

/** One of eight, of the course that a great circle begins with. */
export function directionFrom(from: LatLng, to: LatLng): string {
  const [a, b, east] = [radians(from.lat), radians(to.lat), radians(to.lng - from.lng)];
  const course = Math.atan2(
    Math.sin(east) * Math.cos(b),
    Math.cos(a) * Math.sin(b) - Math.sin(a) * Math.cos(b) * Math.cos(east),
  );
  return words.directions[(Math.round((course * 4) / Math.PI) + 8) % 8] ?? '';
}
