// Decides whether tiles are compact or large.
import type { TileSize } from './grid.js';

/** Of the window (CSS px): from here on large tiles are the default. */
export const WIDE_PX = 1_600;
/** Of a large tile, of the gap, and of what lies above and beside the tiles (CSS px). As in talkgroups.css. */
const LARGE = { width: 240, height: 160 } as const;
const GAP = 6;
const AROUND = { width: 16, height: 50 } as const;

/** `view`: the region of the tab (CSS px). Compact unless all large tiles are whole in it. */
export function isLarge({
  size,
  count,
  windowWidth,
  view,
}: {
  size: TileSize;
  count: number;
  windowWidth: number;
  view: { width: number; height: number };
}): boolean {
  if (size !== 'auto') return size === 'large';
  if (windowWidth < WIDE_PX) return false;
  const columns = Math.floor((view.width - AROUND.width + GAP) / (LARGE.width + GAP));
  const rows = Math.ceil(count / Math.max(1, columns));
  return rows * (LARGE.height + GAP) - GAP <= view.height - AROUND.height;
}
