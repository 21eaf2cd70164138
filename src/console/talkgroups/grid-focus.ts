// Decides where the arrow keys move among the tiles.

/** The place of the next tile. null: the key does not move. `columns`: tiles in a row. */
export function nextPlace({
  key,
  at,
  count,
  columns,
}: {
  /** KeyboardEvent.key. */
  key: string;
  at: number;
  count: number;
  columns: number;
}): number | null {
  switch (key) {
    case 'ArrowRight':
      return Math.min(at + 1, count - 1);
    case 'ArrowLeft':
      return Math.max(at - 1, 0);
    case 'ArrowDown':
      return at + columns < count ? at + columns : at;
    case 'ArrowUp':
      return at - columns >= 0 ? at - columns : at;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
