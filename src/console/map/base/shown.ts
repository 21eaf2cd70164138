// Keeps the graticule and the towns of the built-in map in step with what it shows.
import { effect } from '@preact/signals';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { loadAll, towns } from '../places/places.js';
import { type Bounds, linesIn, stepOf } from './graticule.js';
import { baseSources, townsOf } from './style.js';

/** From this zoom on there is room for small towns. */
const ALL_TOWNS_ZOOM = 6;

/** `draw`: the style is new. Nothing is drawn while the map of an operator is shown, which has no such sources. */
export function keepBase(map: MapLibreMap): { draw(): void; close(): void } {
  const sourceOf = (name: string) => map.getSource<GeoJSONSource>(name);

  function drawLines(): void {
    const source = sourceOf(baseSources.graticule);
    if (source === undefined) return;
    if (map.getZoom() >= ALL_TOWNS_ZOOM) loadAll();
    const bounds = map.getBounds();
    const [west, south, east, north] = [
      bounds.getWest(),
      bounds.getSouth(),
      bounds.getEast(),
      bounds.getNorth(),
    ];
    void source.setData(linesIn(widened({ west, south, east, north }), stepOf(map.getZoom())));
  }

  const drawTowns = () => void sourceOf(baseSources.towns)?.setData(townsOf(towns.peek()));
  let isFirst = true;
  const end = effect(() => {
    towns.value;
    if (!isFirst) drawTowns();
    isFirst = false;
  });
  map.on('moveend', drawLines);
  map.on('resize', drawLines);
  return {
    draw() {
      drawTowns();
      drawLines();
    },
    close: end,
  };
}

/** By one screen to each side, so that a move of the map finds lines. */
function widened({ west, south, east, north }: Bounds): Bounds {
  const [wide, high] = [east - west, north - south];
  return { west: west - wide, south: south - high, east: east + wide, north: north + high };
}
