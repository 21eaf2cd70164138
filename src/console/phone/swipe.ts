// Decides whether a finger that moved has swiped to another talkgroup.

/** In CSS pixels. A tap moves less. */
const SWIPE_MIN = 48;

/** 1: to the next one, -1: to the one before, 0: neither. A finger that moved up or down scrolls. */
export function swipeOf({ dx, dy }: { dx: number; dy: number }): -1 | 0 | 1 {
  if (Math.abs(dx) < SWIPE_MIN || Math.abs(dx) < 2 * Math.abs(dy)) return 0;
  return dx < 0 ? 1 : -1;
}
