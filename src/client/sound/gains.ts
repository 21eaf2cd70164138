// Decides how loud a talkgroup is on each side and output.
import type { Gains } from './mixer.js';

/** What a dispatcher chose for a talkgroup. */
export type Choice = { volume: number; isMuted: boolean; side: 'selected' | 'unselected' | null };

/** The same power on both ears as on one. */
const BOTH = Math.SQRT1_2;

/** `hasSecond`: what is not selected plays on an output of its own. Without one the sides are left and right. */
export function gainsOf({ volume, isMuted, side }: Choice, hasSecond: boolean): Gains {
  const loud = isMuted ? 0 : Math.min(1, Math.max(0, volume));
  const both = loud * BOTH;
  if (side === null) return { left: both, right: both, second: 0 };
  if (hasSecond) {
    return side === 'selected' ? { left: both, right: both, second: 0 } : { left: 0, right: 0, second: both };
  }
  return side === 'selected' ? { left: loud, right: 0, second: 0 } : { left: 0, right: loud, second: 0 };
}

/** Level in dBFS of a mean power. A sine of full scale has −3. */
export function levelOf(power: number): number {
  return power > 0 ? 10 * Math.log10(power) : Number.NEGATIVE_INFINITY;
}
