// Describes what a session uses of its relay.
import type { Snapshot } from '../../protocol/bodies.js';
import type { Reach } from '../../protocol/codes.js';
import type { Draft } from '../../protocol/server-messages.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Holding } from '../delivery/holding.js';
import type { Counts } from '../figures/counts.js';
import type { Sampling } from '../figures/sampling.js';
import type { Bursts } from '../floor/bursts.js';
import type { TalkLimits } from '../floor/capacity.js';
import type { FloorControl } from '../floor/control.js';
import type { Rates } from '../limits/budget.js';
import type { LiveSession, Membership } from '../members/members.js';
import type { ReceptionServices } from '../reception/receiver.js';
import type { Parking, Resumable } from './parking.js';

/** The settings that a session follows. */
export interface SessionLimits extends TalkLimits, Rates {
  readonly frameBytes: number;
  readonly textBytes: number;
  /** JSON messages that a client may send. */
  readonly controlPerSecond: number;
  /** Lag (ms) beyond which a receiver gets no more audio until it has caught up. */
  readonly backlogMs: number;
  /** Between two pings of a receiver of audio (ms). 0: it is not pinged for hearing audio. */
  readonly lagPingMs: number;
  /** T1. */
  readonly talkSilenceMs: number;
  /** How long (ms) a session is kept for its client's return. 0: not at all. */
  readonly resumeMs: number;
}

/** Monotonic milliseconds. What came before WELCOME arrived earlier than now. */
export interface Times {
  readonly nowMs: number;
  readonly arrivedAtMs: number;
}

/** What the way of a frame uses. */
export interface UplinkServices {
  readonly limits: SessionLimits;
  readonly fanout: Pick<Fanout, 'absent'>;
  readonly counts: Counts;
  readonly sampling: Sampling;
  readonly floor: FloorControl;
  readonly holding: Pick<Holding, 'live' | 'keep'>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** What a session uses beyond its frames and its reception. */
export interface SessionServices<Session extends LiveSession & Resumable>
  extends UplinkServices,
    ReceptionServices {
  readonly limits: SessionLimits;
  readonly counts: Counts;
  readonly fanout: Pick<Fanout, 'absent' | 'mayDropText'>;
  readonly holding: Pick<Holding, 'live' | 'open' | 'keep' | 'discard'>;
  readonly bursts: Bursts;
  readonly parking: Parking<Session>;
  /** The talkgroup as it is now, for this member. */
  readonly snapshot: (membership: Membership) => Draft<Snapshot>;
  /** Unix time (ms). */
  readonly unixMs: () => number;
  /** Which other nodes hear this one. undefined: the relay has no bus. */
  readonly reach: () => Reach | undefined;
  /** Answers its text messages. */
  readonly texts: { receive(session: Session, message: ArrayBuffer, times: Times): void };
  /** Calls `act` in the next turn of the loop. If it throws, only this session ends. */
  readonly later: (session: Session, act: () => void) => void;
  /** Called once, when the session is over and no client can resume it. */
  readonly ended: (session: Session) => void;
}
