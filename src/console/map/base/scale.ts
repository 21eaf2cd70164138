// Computes the scale bar of the map.

/** Of a tile at zoom 0, which is the equator in MapLibre (pixels). */
const WORLD_PX = 512;
/** WGS 84 (m). */
const EQUATOR_M = 40_075_016.686;

export interface ScaleBar {
  readonly metres: number;
  /** Of the bar. */
  readonly pixels: number;
}

/** The longest bar of 1, 2 or 5 times a power of ten metres that is at most `maxPx` long at this latitude. */
export function scaleBar({ zoom, lat, maxPx }: { zoom: number; lat: number; maxPx: number }): ScaleBar {
  const metresAPixel = (EQUATOR_M * Math.cos((lat * Math.PI) / 180)) / (WORLD_PX * 2 ** zoom);
  const most = metresAPixel * maxPx;
  const power = 10 ** Math.floor(Math.log10(most));
  const metres = power * ([5, 2].find((times) => times * power <= most) ?? 1);
  return { metres, pixels: metres / metresAPixel };
}

/** Pixels of a degree of longitude. */
export const degreePx = (zoom: number): number => (WORLD_PX * 2 ** zoom) / 360;
