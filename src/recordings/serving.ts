// Keeps recorded speech of a node: stores what its relays tape, deletes what is old, and watches the cap.
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/client.js';
import { deadlineIn, REQUEST_MS } from '../db/deadline.js';
import { createIntake, type IntakeOptions, type RecorderCounts } from './intake/intake.js';
import { storeRecordings } from './intake/store.js';
import { deleteErased, deleteExpired, storedBytes } from './upkeep/store.js';

export interface ServingOptions {
  readonly config: { readonly RECORDING_GB: number };
  readonly database: Database;
  readonly log: IntakeOptions['log'];
}

/** Plain numbers, for the metrics. */
export interface RecordingFigures extends RecorderCounts {
  readonly waitingBytes: number;
  readonly oldestWaitingMs: number;
  readonly storedBytes: number;
  readonly bytesMax: number;
  /** Recordings of which the speech was read here. */
  readonly reads: number;
}

const GB = 1e9;
/** Between two looks for what is old, and for the amount that is stored (ms). */
const OLD_MS = 60_000;
const AMOUNT_MS = 300_000;
/** Between two parts of a deletion (ms). */
const PAUSE_MS = 200;
const NEARLY_FULL = 0.9;
/** For what the drain left (ms). All of a shutdown has 10 s. */
const CLOSE_MS = 1000;

/** Its timers run from `start` to `close`. What fails is repeated with the next look. */
export function openRecordings({ config, database, log }: ServingOptions) {
  const bytesMax = config.RECORDING_GB * GB;
  let bytes = 0;
  let reads = 0;
  let fullness: 'room' | 'nearly full' | 'full' = 'room';
  let isClosed = false;
  let timers: NodeJS.Timeout[] = [];
  const intake = createIntake({
    store: (stored) => storeRecordings(database, deadlineIn(REQUEST_MS), stored),
    isFull: () => bytes >= bytesMax,
    log,
  });

  async function deleteOld(): Promise<void> {
    const expired = await repeated(deleteExpired);
    if (expired > 0) log.info({ count: expired }, 'recordings expired');
    const erased = await repeated(deleteErased);
    if (erased > 0) log.info({ count: erased }, 'erased speech deleted');
  }

  async function repeated(deleteSome: typeof deleteExpired): Promise<number> {
    let count = 0;
    while (!isClosed) {
      const deleted = await deleteSome(database, deadlineIn(REQUEST_MS));
      count += deleted.count;
      if (!deleted.hasMore) break;
      await delay(PAUSE_MS, undefined, { ref: false });
    }
    return count;
  }

  async function lookAtAmount(): Promise<void> {
    bytes = await storedBytes(database, deadlineIn(REQUEST_MS));
    const was = fullness;
    fullness = bytes >= bytesMax ? 'full' : bytes >= NEARLY_FULL * bytesMax ? 'nearly full' : 'room';
    if (fullness === was || fullness === 'room') return;
    const fields = { bytes, bytes_max: bytesMax };
    if (fullness === 'full') log.error(fields, 'recording storage full');
    else if (was === 'room') log.warn(fields, 'recording storage nearly full');
  }

  async function look(work: () => Promise<void>): Promise<void> {
    if (database.trouble() !== null) return;
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, 'recordings not kept');
    }
  }

  return {
    taped: intake.take,
    start(): void {
      const every = (ms: number, work: () => Promise<void>) => setInterval(() => void look(work), ms).unref();
      timers = [every(OLD_MS, deleteOld), ...(bytesMax === 0 ? [] : [every(AMOUNT_MS, lookAtAmount)])];
      void look(deleteOld);
      if (bytesMax > 0) void look(lookAtAmount);
    },
    /** The speech of a recording was read. */
    wasRead(): void {
      reads++;
    },
    figures: (): RecordingFigures => ({ ...intake.figures(), storedBytes: bytes, bytesMax, reads }),
    async close(): Promise<void> {
      isClosed = true;
      for (const timer of timers) clearInterval(timer);
      await intake.close(CLOSE_MS);
    },
  };
}
