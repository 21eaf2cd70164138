// Keeps the towns that are loaded: the large ones at once, the others when a map shows a region closely.
import { type ReadonlySignal, signal } from '@preact/signals';
import { type PlacesFile, readPlaces, type TownPlace } from './list.js';
import { nearestIn } from './nearest.js';
import large from './places-50m.json';

const loaded = signal<readonly TownPlace[]>(readPlaces(large));

/** The largest first. Replaced by a longer list when `loadAll` was called. */
export const towns: ReadonlySignal<readonly TownPlace[]> = loaded;

/** As `19 km N of Rerik`. null: no town within 500 km. A view that calls it is rendered anew when more are loaded. */
export const nearestPlace = (lat: number, lng: number): string | null => nearestIn(loaded.value, lat, lng);

let isAsked = false;

/** 84 KB by gzip. Without a connection the large ones stay, and the next call tries again. */
export function loadAll(): void {
  if (isAsked) return;
  isAsked = true;
  import('./places-10m.json').then(
    ({ default: all }: { default: PlacesFile }) => {
      loaded.value = readPlaces(all);
    },
    () => {
      isAsked = false; // TypeError: the network failed
    },
  );
}
