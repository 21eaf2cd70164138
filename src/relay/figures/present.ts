// Describes what the relay holds now, and how late its timer and its receivers are, as plain numbers.
import type { Histogram } from '../../histogram.js';

/** What the relay holds now. */
export interface Present {
  /** With a socket. */
  readonly sessions: number;
  /** Detached: without a socket, resumable. */
  readonly parked: number;
  readonly users: number;
  readonly talkgroups: number;
  readonly bursts: number;
  /** Places in the queues of all floors. */
  readonly queued: number;
  /** Sessions that watch positions. */
  readonly watchers: number;
}

/** Measured by the housekeeping timer. */
export interface PulseFigures {
  /** How late each tick came. All work on this thread waits as long. */
  readonly delay: Histogram;
  /** Lag (ms) of the slowest receiver that has not answered its ping. */
  lagMsMax: number;
}
