// The messages between the main thread and a relay thread. All of them are plain data.
import type { TokenKeys } from '../../auth/tokens.js';
import type { Config } from '../../config/config.js';
import type { DatabaseFigures } from '../../db/client.js';
import type { Notice, Question } from '../../db/notice.js';
import type { LatestFix } from '../../protocol/fix.js';
import type { Batch } from '../../protocol/recording-batch.js';
import type { ThreadFigures } from '../../thread-figures.js';
import type { Handshakes, ThreadPlace } from '../compose.js';
import type { RelayFigures } from '../relay-side.js';
import type { Listening } from '../websocket/engine.js';
import type { Renewal, RenewedCertificate } from '../websocket/renewals.js';

/** The data that the thread starts with. */
export interface ThreadData {
  readonly config: Config;
  readonly handshakes: Handshakes;
  readonly url: string;
  readonly tokenKeys: TokenKeys;
  /** null: it is the only relay thread. */
  readonly place: ThreadPlace | null;
}

export type ToThread =
  | { readonly kind: 'start' | 'figures' | 'close' }
  | { readonly kind: 'listen'; readonly as: Listening }
  /** Of this node. It is acknowledged. */
  | { readonly kind: 'notice'; readonly notice: Notice }
  /** Of the database, for which the main thread listens. */
  | { readonly kind: 'noticed'; readonly notice: Notice | Question }
  /** Some may have been missed. */
  | { readonly kind: 'gap' }
  /** Positions that REST has stored. It answers with `located`. `dropped`: so many were not handed over before. */
  | { readonly kind: 'fixes'; readonly fixes: readonly LatestFix[]; readonly dropped: number }
  | { readonly kind: 'present'; readonly certificate: RenewedCertificate }
  /** So many bytes of recorded speech are in memory no more. */
  | { readonly kind: 'stored'; readonly bytes: number };

export type FromThread =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'acknowledged'; readonly id: string }
  | { readonly kind: 'located' }
  /** Recorded speech to be stored. It answers with `stored`. The bytes of its parts are transferred. */
  | { readonly kind: 'taped'; readonly batch: Batch }
  | Beat
  | ThreadTold
  | { readonly kind: 'started' }
  /** The service must not start: a setting is wrong. */
  | { readonly kind: 'unstartable'; readonly message: string }
  | { readonly kind: 'presented'; readonly renewal: Renewal }
  /** A fault that no code handled. The thread goes on until it is closed. */
  | { readonly kind: 'failed'; readonly error: Error };

/** The thread's regular report. */
export interface Beat {
  readonly kind: 'beat';
  readonly trouble: string | null;
  /** Whether it wants the positions that REST stores. */
  readonly wantsFixes: boolean;
  /** By `sharedNowMs`. */
  readonly sentAtMs: number;
}

/** The thread's numbers, sent on request: to collect and send them costs as much as some hundred frames. */
export interface ThreadTold {
  readonly kind: 'figures';
  readonly figures: RelayFigures;
  readonly thread: ThreadFigures;
  readonly database: DatabaseFigures;
}

/** Monotonic milliseconds that all threads count alike, as they do not with `performance.now`. */
export const sharedNowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Time between two beats. */
export const BEAT_MS = 250;
