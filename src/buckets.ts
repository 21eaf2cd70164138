// Limits how often something happens for each of many keys, by token buckets in bounded memory.

/** A token bucket: `atOnce` tokens at most, refilled with `perMinute`. */
export interface Rate {
  readonly atOnce: number;
  readonly perMinute: number;
}

/**
 * Buckets remembered at once. A wrong password costs 50 ms of hashing, so it takes more than 15 minutes to push one
 * out, and by then the slowest of the default rates has filled it again.
 * LIMIT: a registration is counted before it is hashed: from 20,000 networks at once one may push out another's count.
 */
const BUCKETS_MAX = 20_000;

/** A bucket for each key, kept as the moment at which it will be full again. `forgot`: one that is not full was, for want of room. */
export function createBuckets({ atOnce, perMinute }: Rate, forgot: () => void = () => {}) {
  const refillMs = 60_000 / perMinute;
  const fullAtMs = new Map<string, number>();
  return {
    /** How long until there is one to take. 0: there is. */
    waitMs(key: string, nowMs: number): number {
      return Math.max(0, (fullAtMs.get(key) ?? 0) - (atOnce - 1) * refillMs - nowMs);
    },
    /** Takes one, if need be from those to come. */
    take(key: string, nowMs: number): void {
      const full = Math.max(nowMs, fullAtMs.get(key) ?? 0) + refillMs;
      const forgotten = putLast(fullAtMs, key, full, BUCKETS_MAX);
      if (forgotten !== null && forgotten > nowMs) forgot();
    },
  };
}

/** The key becomes the newest. What is answered is the value of the oldest when it was forgotten beyond `sizeMax`. */
export function putLast(
  map: Map<string, number>,
  key: string,
  value: number,
  sizeMax: number,
): number | null {
  map.delete(key);
  map.set(key, value);
  if (map.size <= sizeMax) return null;
  for (const [oldest, forgotten] of map) {
    map.delete(oldest);
    return forgotten;
  }
  return null;
}
