// Writes the towns that the built-in map shows, from the files of Natural Earth, which are in the public domain. Run it once
// for each of the two scales, by hand:
//   node dist/src/docs/places.js 50m ne_50m_populated_places_simple.geojson > src/console/map/places/places-50m.json
//   node dist/src/docs/places.js 10m ne_10m_populated_places_simple.geojson > src/console/map/places/places-10m.json
import { readFileSync } from 'node:fs';
import { encodePlace, type PlacesFile } from '../console/map/places/list.js';

/** The part of the published files that is used. `scalerank`: 0 is the largest. */
interface Published {
  readonly features: readonly {
    readonly properties: { readonly name: string; readonly scalerank: number; readonly pop_max: number };
    readonly geometry: { readonly coordinates: readonly [number, number] };
  }[];
}

const [scale, path] = process.argv.slice(2);
if (scale === undefined || path === undefined) throw new Error('name the scale and the GeoJSON file');
const { features }: Published = JSON.parse(readFileSync(path, 'utf8'));
const file: PlacesFile = {
  source: `Natural Earth populated places 1:${scale}, public domain`,
  // The largest first, because the map shows as many names as have room.
  places: features
    .toSorted(({ properties: a }, { properties: b }) => a.scalerank - b.scalerank || b.pop_max - a.pop_max)
    .map(({ properties: { name, scalerank: rank }, geometry: { coordinates } }) =>
      encodePlace({ name, lng: coordinates[0], lat: coordinates[1], rank }),
    ),
};
process.stdout.write(`${JSON.stringify(file, null, 2)}\n`);
