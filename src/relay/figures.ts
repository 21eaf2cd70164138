// What a relay shows of itself to metrics.ts: plain numbers, so that they can be sent from thread to thread.
import type { DatabaseFigures } from '../db/client.js';
import type { FixCounts } from '../gps/counts.js';
import type { Histogram } from '../histogram.js';
import type { ThreadFigures } from '../thread-figures.js';
import type { ConnectionFigures } from './cap.js';
import type { Counts } from './counts.js';
import type { PulseFigures } from './pulse.js';
import type { Sampled } from './sampling.js';

export interface RelayFigures {
  readonly counts: Counts;
  readonly sampled: Sampled;
  readonly pulse: PulseFigures;
  readonly present: Present;
  readonly connections: ConnectionFigures;
  /** Of GPS_UPDATE. */
  readonly fixes: FixCounts;
  /** null: it has neither thread nor database of its own. */
  readonly own: OwnFigures | null;
}

/** What there is at the moment. */
export interface Present {
  /** With a socket. */
  readonly sessions: number;
  /** Without one, kept for its return. */
  readonly parked: number;
  readonly users: number;
  readonly talkgroups: number;
  readonly bursts: number;
  /** Places in the queues of all floors. */
  readonly queued: number;
}

/** Of a relay on its own thread. */
export interface OwnFigures {
  readonly thread: ThreadFigures;
  readonly database: DatabaseFigures;
  /** How long what it sent had waited for the main thread. */
  readonly mainDelay: Histogram;
}
