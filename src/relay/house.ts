// What every session of a relay shares.
import type { DeviceId, TalkgroupId } from '../ids.js';
import type { Asking } from './asking.js';
import type { Fanout } from './delivery/fanout.js';
import type { Holding } from './delivery/holding.js';
import type { Emergencies } from './emergencies.js';
import type { Counts } from './figures/counts.js';
import type { Sampling } from './figures/sampling.js';
import type { Floors } from './floors.js';
import type { Talkgroup } from './members/members.js';
import type { Limits } from './messages.js';
import type { Parking } from './parking.js';
import type { Presence } from './presence.js';
import type { FairClock } from './reception/fair-clock.js';
import type { Session } from './session.js';

export interface House {
  readonly limits: Limits & { readonly controlPerSecond: number; readonly talkSilenceMs: number };
  readonly fanout: Fanout;
  readonly counts: Counts;
  readonly sampling: Sampling;
  readonly asking: Asking;
  readonly floors: Floors;
  readonly holding: Holding;
  readonly presence: Presence;
  readonly emergencies: Emergencies;
  readonly parking: Parking;
  /** Held talkgroups; one that is not here may exist all the same. */
  readonly talkgroups: ReadonlyMap<TalkgroupId, Talkgroup>;
  /** Sessions that owe an answer to a ping. */
  readonly unanswered: Set<Session>;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** The same, less the time in which we stood still ourselves. */
  readonly fair: FairClock;
  /** false: no such device. Rejects when the fix could not be stored. */
  readonly storeFix: (fix: { deviceId: DeviceId; lat: number; lng: number; alt: number }) => Promise<boolean>;
  /** A bug in what is done for this session: it alone ends. */
  readonly fail: (session: Session, error: unknown) => void;
  /** Does it in the next turn of the loop; a throw is such a bug. */
  readonly later: (session: Session, act: () => void) => void;
  /** Called once, when the session is over and nobody can resume it. */
  readonly ended: (session: Session) => void;
}
