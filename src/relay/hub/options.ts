// Describes one relay: what it is made of, and what it offers.
import type { Notice, Question } from '../../db/notice.js';
import type { RelayReport } from '../../db/session-reports.js';
import type { LatestFix } from '../../protocol/fix.js';
import type { Batch } from '../../protocol/recording-batch.js';
import type { Clock } from '../clock.js';
import type { ClusterFigures } from '../cluster/counts.js';
import type { Churn } from '../delivery/churn.js';
import type { LoadFigures } from '../delivery/load.js';
import type { Peer, Publisher } from '../delivery/peer.js';
import type { EmergencyWrites } from '../emergencies/emergencies.js';
import type { Counts } from '../figures/counts.js';
import type { Present, PulseFigures } from '../figures/present.js';
import type { Sampled } from '../figures/sampling.js';
import type { Authority, LocalAuthorityOptions } from '../floor/authority.js';
import type { PositionReads } from '../positions/positions.js';
import type { RequestServices } from '../requests/asker.js';
import type { RightsReads } from '../rights/rights.js';
import type { SessionLimits } from '../session/services.js';
import type { Session } from '../session/session.js';
import type { Admission, Claims, Handshake, Seat } from './admission.js';
import type { Joining } from './sharing.js';

export interface RelayOptions {
  /** null: the token is rejected. */
  readonly verifyToken: (token: string) => Claims | null;
  /** false: the database is not yet known to be ours to read. */
  readonly started: () => boolean;
  readonly reads: RightsReads;
  /** The next session number. null while there is none: before the start, and when the database gives no more. */
  readonly takeNumber: () => number | null;
  readonly publisher: Publisher;
  readonly limits: SessionLimits & {
    readonly loadWindowMs: number;
    readonly loadPercent: number;
    /** Speech that may wait to be stored (bytes). 0: nothing is recorded. */
    readonly recordingBytes: number;
    readonly sessionsParked: number;
    readonly drainMs: number;
    readonly socketsPerUser: number;
    readonly upgradesLoading: number;
    readonly upgradesWaiting: number;
  };
  /** Takes recorded speech to be stored. */
  readonly taped: (batch: Batch) => void;
  readonly emergencyWrites: EmergencyWrites;
  readonly storeFix: RequestServices['storeFix'];
  /** Answers who asked with a notice of this id. */
  readonly storeReport: (ask: string, report: RelayReport) => Promise<void>;
  /** The reads of devices that sessions watch. */
  readonly positionReads: PositionReads;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
  readonly clock: Clock;
  /** Makes the one that decides who has the floor. */
  readonly authorityOf?: ((options: LocalAuthorityOptions) => Authority) | undefined;
}

export interface Relay {
  readonly counts: Counts;
  readonly churn: Churn;
  /** For the metrics. */
  figures(): RelayNumbers;
  readonly verifyToken: RelayOptions['verifyToken'];
  /** Reads what the session of a verified token needs. Calls `done` exactly once, with null claims at once. */
  admit(handshake: Handshake, done: (admission: Admission<Session>) => void): void;
  /** The session says WELCOME on this socket. Must follow `done` in the same step. */
  open(seat: Seat<Session>, peer: Peer): void;
  /** A socket is gone. */
  closed(session: Session, code: number): void;
  /** A callback of this session threw: it alone ends. */
  fail(session: Session, error: unknown): void;
  /** A change that was made at this node: the other nodes are told of it, too. Resolves when live sockets follow it. */
  notice(notice: Notice): Promise<void>;
  /** The same for a change notification that came. */
  noticed(notice: Notice | Question): Promise<void>;
  gap(): void;
  /**
   * Positions that were stored by this process. `tellsOthers`: the other relays may not have them. Does nothing while
   * they are not wanted.
   */
  located(fixes: readonly LatestFix[], tellsOthers: boolean): void;
  /** So many bytes of recorded speech are in memory no more. */
  tapesStored(bytes: number): void;
  /** Whether positions that REST stores are wanted: here, and with `tellsOthers` by another relay. */
  wantsFixes(tellsOthers: boolean): boolean;
  /** Shares talkgroups with the relays on this bus, from before the first session until `left`. */
  join(joining: Joining): void;
  /**
   * Sends GOAWAY to all and admits no radio any more. Resolves when every socket was closed with 1012, and every session
   * ended or is at another relay.
   */
  close(): Promise<void>;
  /** After `close`: the other relays know that this one ended. */
  left(): Promise<void>;
  /** After `close`: resolves when what was announced is stored, or half a second later. */
  stored(): Promise<void>;
}

/** Plain numbers. */
export interface RelayNumbers {
  readonly counts: Counts;
  readonly sampled: Sampled;
  readonly pulse: PulseFigures;
  readonly load: LoadFigures;
  readonly present: Present;
  /** null: without other relays. */
  readonly cluster: ClusterFigures | null;
}
