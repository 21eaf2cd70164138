// Describes the relay as the rest of the program uses it, on this thread or on others, and the figures it reports.
import type { DatabaseFigures } from '../db/client.js';
import type { Tell } from '../db/notice.js';
import type { FixCounts } from '../gps/counts.js';
import type { Histogram } from '../histogram.js';
import type { LatestFix } from '../protocol/fix.js';
import type { ThreadFigures } from '../thread-figures.js';
import type { ClusterFigures } from './cluster/counts.js';
import type { RelayNumbers } from './hub/relay.js';
import type { ConnectionFigures } from './websocket/cap.js';
import type { Renewal, RenewedCertificate } from './websocket/renewals.js';

export type { ClusterFigures };

export interface RelaySide {
  /** Resolves with the port. Until `start`, the relay closes every socket with 1013. */
  listen(): Promise<number>;
  /**
   * Begins to load sessions and to follow change notifications. The database must be migrated. Rejects when the NATS
   * server rejects the credentials.
   */
  start(): Promise<void>;
  /** A change that was made at this node. */
  readonly notice: Tell;
  /** Positions that REST has stored: sessions may watch them. */
  located(fixes: readonly LatestFix[]): void;
  /** null when the relay can admit radios, else the reason why it cannot. */
  trouble(): string | null;
  /** For the metrics, of each relay thread. null when one of them did not answer in time. */
  figures(): Promise<readonly RelayFigures[] | null>;
  /** After `listen`, one at a time. */
  present(certificate: RenewedCertificate): Promise<Renewal>;
  close(): Promise<void>;
}

/**
 * Whether every relay of the service says that it enforces the encryption of talkgroups, or that it records. A relay that is
 * missing cannot say so. Relays of one process are of one version and have one setting.
 */
const isSaidByAll =
  (others: 'unencrypting' | 'unrecording') =>
  (relays: readonly Pick<RelayFigures, 'cluster'>[] | null): boolean =>
    relays?.every(
      ({ cluster }) =>
        cluster === null ||
        !cluster.joinsNodes ||
        (cluster.isUp && cluster.isSettled && cluster.reach.whole === 1 && cluster[others] === 0),
    ) ?? false;

export const isEnforcedByAll = isSaidByAll('unencrypting');
export const isRecordedByAll = isSaidByAll('unrecording');

/** Plain numbers, so that they can be sent between threads. */
export interface RelayFigures extends RelayNumbers {
  readonly connections: ConnectionFigures;
  /** Of GPS_UPDATE. */
  readonly fixes: FixCounts;
  /** null when the relay runs on the main thread, with its database client. */
  readonly own: OwnFigures | null;
}

/** Figures of a relay on its own thread. */
export interface OwnFigures {
  readonly thread: ThreadFigures;
  readonly database: DatabaseFigures;
  /** How long messages of the relay thread waited for the main thread. */
  readonly mainDelay: Histogram;
}
