// One session's talk in one talkgroup: the burst that runs, and what bounds the next.
import { Bucket } from './bucket.js';
import type { Membership } from './members.js';
import type { Session } from './session.js';
import { Window } from './window.js';

/** Why a burst ended, as TALK_ENDED says it. */
export type TalkEnd = 'released' | 'silence' | 'disconnected' | 'left' | 'deleted' | 'disabled';

/** At most so many new bursts in so long; a button hammered faster is a fault, not speech. */
const BURSTS_MAX = 8;
const BURSTS_WINDOW_MS = 10_000;

/** Made at the first frame of a session in a talkgroup and kept until the session or the membership ends. */
export class Talk {
  readonly session: Session;
  readonly membership: Membership;
  readonly bucket: Bucket;
  /** Number of the running burst in this session, 0 when none runs. */
  burst = 0;
  /** Of the running burst: wall clock for people, monotonic clock for durations. */
  startedAt = 0;
  startedAtMs = 0;
  frames = 0;
  /** Unwrapped sequence of the last frame. */
  sequence = 0;
  lastFrameAtMs = 0;
  /** Until then nothing is accepted here (monotonic ms): too many bursts. */
  mutedUntilMs = 0;
  private readonly starts = new Window(BURSTS_MAX, BURSTS_WINDOW_MS);

  constructor(session: Session, membership: Membership, framesPerSecond: number, nowMs: number) {
    this.session = session;
    this.membership = membership;
    this.bucket = new Bucket(framesPerSecond, 2 * framesPerSecond, nowMs);
  }

  /** Whether one more burst may start now; counts it when so. */
  mayStart(nowMs: number): boolean {
    return this.starts.take(nowMs);
  }
}
