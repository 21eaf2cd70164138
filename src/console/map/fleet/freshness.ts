// How old a position is, in four classes. Each has its word, its colour and its shape.

export const freshnesses = ['live', 'recent', 'old', 'very old'] as const;
export type Freshness = (typeof freshnesses)[number];

/** Upper limits (ms) of the first three. Other consoles hide positions above 20 minutes. */
const LIMITS_MS = [60_000, 300_000, 1_200_000] as const;

/** The index in `freshnesses`. */
export function freshnessOf(ageMs: number): number {
  for (let at = 0; at < LIMITS_MS.length; at++) if (ageMs <= (LIMITS_MS[at] ?? 0)) return at;
  return LIMITS_MS.length;
}
