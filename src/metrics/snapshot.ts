// Declares the numbers of one scrape, from which every metric reads its value.
import type { AuditFigures } from '../audit/keeping.js';
import type { Limits } from '../auth/limits.js';
import type { Passwords } from '../auth/passwords.js';
import type { DatabaseFigures } from '../db/client.js';
import type { FixCounts } from '../gps/counts.js';
import type { HttpCounts } from '../http/counts.js';
import type { KeyFigures } from '../keys/serving.js';
import type { RecordingFigures } from '../recordings/serving.js';
import type { RelayFigures } from '../relay/relay-side.js';
import type { ThreadFigures } from '../thread-figures.js';
import type { Presented } from '../tls/renewal.js';

/** The numbers of one scrape. */
export interface Snapshot {
  /** The reason that /readyz gives. null: the service can serve. */
  readonly notReady: string | null;
  /** Of each relay thread. null: one of them did not answer in time. */
  readonly relays: readonly RelayFigures[] | null;
  /** The same, added up. */
  readonly relay: RelayFigures | null;
  readonly database: DatabaseFigures;
  readonly http: HttpCounts;
  readonly keys: KeyFigures;
  readonly audit: AuditFigures;
  readonly recordings: RecordingFigures;
  readonly passwords: ReturnType<Passwords['figures']>;
  readonly limits: Pick<Limits, 'counts' | 'forgotten'>;
  /** Positions reported by REST. */
  readonly fixes: FixCounts;
  /** In Unix time (ms). null without TLS. */
  readonly certificateExpiries: Readonly<Record<Presented, number>> | null;
  readonly thread: ThreadFigures;
  readonly process: ProcessFigures;
}

/** Figures of the whole process. null: the system does not report this figure. */
export interface ProcessFigures {
  readonly version: string;
  readonly cpuS: number;
  readonly residentBytes: number;
  readonly startedAtS: number;
  readonly descriptors: number | null;
  readonly descriptorsMax: number | null;
}
