// Reads and writes the towns that are built into the console.

/** As Natural Earth lists it. */
export interface TownPlace {
  readonly name: string;
  /** Degrees, to two digits: 1.1 km. */
  readonly lat: number;
  readonly lng: number;
  /** Of its size. 0 is the largest. */
  readonly rank: number;
}

/** Written by docs/places.ts. */
export interface PlacesFile {
  readonly source: string;
  /** Each written by `encodePlace`. */
  readonly places: readonly string[];
}

const SCALE = 100;

/** Short and without needless digits, so that 1,249 towns take 15 KB by gzip. */
export const encodePlace = ({ name, lat, lng, rank }: TownPlace): string =>
  [name, Math.round(lat * SCALE), Math.round(lng * SCALE), rank].join('|');

export function readPlaces({ places }: PlacesFile): TownPlace[] {
  return places.map((text) => {
    const [name = '', lat, lng, rank] = text.split('|');
    return { name, lat: Number(lat) / SCALE, lng: Number(lng) / SCALE, rank: Number(rank) };
  });
}
