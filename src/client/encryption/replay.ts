// Remembers of each run the highest counter that opened, so that frames cannot be played again to a radio that heard them.

export type ReplayWindow = {
  /** Whether a frame with this counter is new. */
  isNew(salt: string, counter: number): boolean;
  /** The frame opened. Returns whether the salt is new. */
  opened(salt: string, counter: number): boolean;
  /** All salts with their highest counters, least recently heard first. */
  entries(): [salt: string, counter: number][];
};

/** Runs of a talkgroup, about 28 bytes each when stored. A run that is older than that many others could be played again. */
export const SALTS_MAX = 4_096;

/** `entries`: those of an earlier window. */
export function createReplayWindow(entries: readonly [string, number][] = []): ReplayWindow {
  // A Map keeps the order of insertion.
  const highest = new Map(entries.slice(-SALTS_MAX));
  return {
    isNew: (salt, counter) => counter > (highest.get(salt) ?? -1),
    opened(salt, counter) {
      const isNewSalt = !highest.delete(salt);
      highest.set(salt, counter);
      if (highest.size > SALTS_MAX) {
        const [oldest] = highest.keys();
        if (oldest !== undefined) highest.delete(oldest);
      }
      return isNewSalt;
    },
    entries: () => [...highest],
  };
}
