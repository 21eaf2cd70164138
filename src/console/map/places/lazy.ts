// Says where a place is before the map was opened. The towns are loaded when they are first asked for, not with the login.
import { type Signal, signal } from '@preact/signals';

type NearestPlace = (lat: number, lng: number) => string | null;

const loaded: Signal<NearestPlace | null> = signal(null);
/** Without a connection it is tried again after this time (ms). */
const AGAIN_MS = 60_000;
let askedAtMs = Number.NEGATIVE_INFINITY;

/** As `19 km N of Rerik`. null: the towns are not loaded yet, or none is within 500 km. A view is rendered anew when they are. */
export function nearestWhenLoaded(lat: number, lng: number): string | null {
  if (loaded.value === null) load();
  return loaded.value?.(lat, lng) ?? null;
}

function load(): void {
  if (performance.now() - askedAtMs < AGAIN_MS) return;
  askedAtMs = performance.now();
  import('./places.js').then(
    ({ nearestPlace }) => {
      loaded.value = nearestPlace;
    },
    () => undefined, // TypeError: the network failed. Until then the digits are shown
  );
}
