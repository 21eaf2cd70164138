// Remembers of each run the highest counter that opened, so that frames cannot be played again to a radio that heard them.

export type ReplayWindow = {
  /** Whether a frame with this counter is new. `run`: its salt and talker. */
  isNew(run: string, counter: number): boolean;
  /** The frame opened. Returns whether the run is new. */
  opened(run: string, counter: number): boolean;
  /** All runs with their highest counters, least recently heard first. */
  entries(): [run: string, counter: number][];
};

/** Runs of a talkgroup, about 65 bytes each when stored. A run that is older than that many others could be played again. */
export const SALTS_MAX = 4_096;

/** `entries`: those of an earlier window. */
export function createReplayWindow(entries: readonly [string, number][] = []): ReplayWindow {
  // A Map keeps the order of insertion.
  const highest = new Map(entries.slice(-SALTS_MAX));
  return {
    isNew: (run, counter) => counter > (highest.get(run) ?? -1),
    opened(run, counter) {
      const isNewRun = !highest.delete(run);
      highest.set(run, counter);
      if (highest.size > SALTS_MAX) {
        const [oldest] = highest.keys();
        if (oldest !== undefined) highest.delete(oldest);
      }
      return isNewRun;
    },
    entries: () => [...highest],
  };
}
