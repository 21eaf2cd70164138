// Learns how late the packets of a burst come, compared with its earliest ones: a relay under load sends them in clusters.

/** Durations in ms. */
const LATENESS = {
  /** Packets count as late when this time has late ones, and the time before it too. One late packet is a stall. */
  spanMs: 40,
  /** What was learnt is kept for this time at least, and for twice this time at most. */
  memoryMs: 5_000,
  /** The longest window of the relay. To wait for packets that come later would delay all others too much. */
  lateMsMax: 100,
  /**
   * The latest packets get time to spare: this share of their lateness, at most so much. The next window of a relay under
   * load makes packets twice as late, by at most 40 ms more. The rest is for the jitter of the network.
   */
  spareShare: 1.25,
  spareMsMax: 50,
};

export type Lateness = {
  /** The earliest packets must wait so long (ms), so that the latest ones of the last seconds have time to spare. */
  readonly waitMs: number;
  /** A packet has arrived. */
  heard(sequence: number, nowMs: number): void;
  /** How long (ms) the packet would have waited by now if it had come as early as the earliest ones. */
  waitedMs(sequence: number, nowMs: number): number;
  /** The packets before say nothing about those that come. */
  forget(): void;
};

/** Creates the measurement of a burst with packets of `periodMs`. */
export function createLateness(periodMs: number): Lateness {
  /** An arrival is the time of a packet less that of its sequence, so even packets have the same one. */
  const arrivalOf = (sequence: number, nowMs: number) => nowMs - sequence * periodMs;
  let latest = Number.NEGATIVE_INFINITY;
  let latestBefore = Number.NEGATIVE_INFINITY;
  let spanSinceMs = Number.NEGATIVE_INFINITY;
  let earliest = Number.POSITIVE_INFINITY;
  let earliestBefore = Number.POSITIVE_INFINITY;
  let late = 0;
  let lateBefore = 0;
  let memorySinceMs = Number.NEGATIVE_INFINITY;

  return {
    get waitMs() {
      const ms = Math.min(LATENESS.lateMsMax, Math.max(late, lateBefore));
      return ms + Math.min(ms * LATENESS.spareShare, LATENESS.spareMsMax);
    },
    heard(sequence, nowMs) {
      turn(nowMs);
      const arrival = arrivalOf(sequence, nowMs);
      earliest = Math.min(earliest, arrival);
      latest = Math.max(latest, arrival);
      late = Math.max(late, Math.min(latest, latestBefore) - earliestOf());
    },
    waitedMs: (sequence, nowMs) => Math.max(0, arrivalOf(sequence, nowMs) - earliestOf()),
    forget() {
      latest = latestBefore = Number.NEGATIVE_INFINITY;
      earliest = earliestBefore = Number.POSITIVE_INFINITY;
      late = lateBefore = 0;
    },
  };

  function turn(nowMs: number): void {
    if (nowMs - spanSinceMs >= LATENESS.spanMs) {
      latestBefore = latest;
      latest = Number.NEGATIVE_INFINITY;
      spanSinceMs = nowMs;
    }
    if (nowMs - memorySinceMs < LATENESS.memoryMs) return;
    earliestBefore = earliest;
    earliest = Number.POSITIVE_INFINITY;
    lateBefore = late;
    late = 0;
    memorySinceMs = nowMs;
  }

  function earliestOf(): number {
    return Math.min(earliest, earliestBefore);
  }
}
