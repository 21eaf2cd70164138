// The part of the map that nothing covers: without the open drawer at its left and the buttons at its right.
import type { Box } from './card/placement.js';

/** From there on the drawer is open until the user closes it, and on smaller screens the map comes first. */
export const WIDE = '(min-width: 1280px)';
/** Below it the drawer covers the map, as on a phone. */
const NARROW_PX = 700;
/** As in map.css (px). */
const DRAWER_PX = 248;
const BUTTONS_PX = 54;

/** What an open drawer covers at the left (px). */
export const coveredPx = (isOpen: boolean, mapPx: number): number =>
  isOpen && mapPx >= NARROW_PX ? DRAWER_PX : 0;

/** In pixels from the upper left corner of the map. */
export function roomOf(area: HTMLElement | null): Box {
  if (area === null) return { x: 0, y: 0, width: 0, height: 0 };
  const { clientWidth, clientHeight } = area;
  const left = coveredPx(area.classList.contains('with-drawer'), clientWidth);
  return { x: left, y: 0, width: clientWidth - left - BUTTONS_PX, height: clientHeight };
}
