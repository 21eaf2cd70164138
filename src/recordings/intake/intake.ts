// Stores recorded speech: one statement at a time stores what arrived while the one before it ran. It is repeated until it is
// stored, because talkers wait for nothing and know of nothing. The commit is the acknowledgement.
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../errors.js';
import {
  type Batch,
  isTail,
  type Loss,
  type Part,
  type RecordingHead,
  type RecordingTail,
} from '../../protocol/recording-batch.js';

/** What one statement stores. */
export interface Stored {
  /** One for each recording. */
  readonly rows: readonly (RecordingHead | RecordingTail)[];
  readonly parts: readonly Part[];
}

/** Resolves after commit. Storing the same twice changes nothing. */
export type Store = (stored: Stored) => Promise<void>;

/** Audio and parts of one statement. */
const STATEMENT_BYTES = 256 * 1024;
const STATEMENT_PARTS = 200;
/** Between the starts of two statements (ms). */
const GATHER_MS = 20;
/** Until the next attempt (ms), doubled up to the second. */
const AGAIN_MS = 250;
const AGAIN_MS_MAX = 5_000;
/** Recordings that wait for their row. Beyond it whole bursts are lost. */
const ROWS_MAX = 20_000;
/** A warning once an episode, when the oldest part waits for so long (ms). */
const BEHIND_MS = 30_000;

/** Plain numbers, for the metrics. */
export interface RecorderCounts {
  readonly frames: Record<'stored' | Loss, number>;
  burstsLost: number;
}

export interface IntakeOptions {
  readonly store: Store;
  /** The cap of stored audio is reached: rows are stored, and no audio. */
  readonly isFull: () => boolean;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  readonly nowMs?: () => number;
  readonly gatherMs?: number;
  readonly againMs?: number;
}

interface Waiting {
  readonly part: Part;
  readonly sinceMs: number;
  /** These bytes are in memory no more. */
  readonly done: (bytes: number) => void;
}

export type Intake = ReturnType<typeof createIntake>;

export function createIntake(options: IntakeOptions) {
  const { store, isFull, log, nowMs = () => performance.now(), gatherMs = GATHER_MS } = options;
  const { againMs: firstAgainMs = AGAIN_MS } = options;
  const rows = new Map<string, RecordingHead | RecordingTail>();
  const parts: Waiting[] = [];
  const counts: RecorderCounts = {
    frames: { stored: 0, memory_full: 0, too_long: 0, too_many: 0, storage_full: 0, failed: 0 },
    burstsLost: 0,
  };
  /** By recording: what this node could not store, told with its end. */
  const failed = new Map<string, Partial<Record<Loss, number>>>();
  let waitingBytes = 0;
  let partsMax = STATEMENT_PARTS;
  let isStoring = false;
  let isClosed = false;
  let isBehind = false;
  let idle: () => void = () => {};

  function lose({ part, done }: Waiting, reason: Loss): void {
    counts.frames[reason] += part.frames;
    const of = failed.get(part.id) ?? {};
    failed.set(part.id, { ...of, [reason]: (of[reason] ?? 0) + part.frames });
    release(part, done);
  }

  function release({ bytes }: Part, done: (bytes: number) => void): void {
    waitingBytes -= bytes.byteLength;
    done(bytes.byteLength);
  }

  function takeRow(head: RecordingHead | RecordingTail): void {
    const known = rows.get(head.id);
    if (known === undefined && rows.size >= ROWS_MAX) {
      counts.burstsLost++;
      return;
    }
    if (known === undefined || isTail(head)) rows.set(head.id, head);
  }

  async function storeAll(): Promise<void> {
    isStoring = true;
    let againMs = firstAgainMs;
    while ((rows.size > 0 || parts.length > 0) && !isClosed) {
      const startedAtMs = nowMs();
      if (await storeSome()) {
        againMs = firstAgainMs;
        partsMax = Math.min(STATEMENT_PARTS, partsMax * 2);
        await pause(Math.max(0, startedAtMs + gatherMs - nowMs()));
        continue;
      }
      tellBehind();
      await pause(againMs);
      againMs = Math.min(AGAIN_MS_MAX, againMs * 2);
    }
    isStoring = false;
    idle();
  }

  function tellBehind(): void {
    const oldestMs = oldestWaitingMs();
    if (isBehind || oldestMs < BEHIND_MS) return;
    isBehind = true;
    log.warn({ waiting_bytes: waitingBytes, oldest_ms: Math.round(oldestMs) }, 'recording behind');
  }

  const oldestWaitingMs = () => (parts[0] === undefined ? 0 : nowMs() - parts[0].sinceMs);

  /** false: it must be tried again. */
  async function storeSome(): Promise<boolean> {
    const taken = takeParts();
    const heads = [...rows.values()].slice(0, STATEMENT_PARTS);
    try {
      await store({ rows: heads.map(withFailures), parts: taken.map(({ part }) => part) });
    } catch (error) {
      // A refusal: the database is away or slow, and it may have happened. Repeating it changes nothing.
      if (error instanceof AppError) {
        partsMax = Math.max(1, Math.floor(partsMax / 2));
        return false;
      }
      // Something in it cannot be stored. Halved until it is alone.
      if (taken.length + heads.length > 1 && partsMax > 1) {
        partsMax = Math.max(1, Math.floor(Math.max(taken.length, heads.length) / 2));
        return await storeOneByOne(taken, heads);
      }
      return giveUp(taken, heads, error);
    }
    settle(taken, heads);
    return true;
  }

  /** After an error that is no refusal: each by itself, so that only the culprit is lost. */
  async function storeOneByOne(
    taken: readonly Waiting[],
    heads: readonly (RecordingHead | RecordingTail)[],
  ): Promise<boolean> {
    const steps: [readonly Waiting[], readonly (RecordingHead | RecordingTail)[]][] = [
      ...heads.map((head): [[], [RecordingHead | RecordingTail]] => [[], [head]]),
      ...taken.map((one): [[Waiting], []] => [[one], []]),
    ];
    for (const [ofParts, ofHeads] of steps) {
      try {
        await store({ rows: ofHeads.map(withFailures), parts: ofParts.map(({ part }) => part) });
        settle(ofParts, ofHeads);
      } catch (error) {
        if (error instanceof AppError) return false;
        giveUp(ofParts, ofHeads, error);
      }
    }
    return true;
  }

  function giveUp(
    taken: readonly Waiting[],
    heads: readonly (RecordingHead | RecordingTail)[],
    error: unknown,
  ): boolean {
    log.error({ err: error, parts: taken.length, recordings: heads.length }, 'recorded speech not stored');
    for (const one of taken) {
      parts.splice(parts.indexOf(one), 1);
      lose(one, 'failed');
    }
    for (const head of heads) {
      if (rows.get(head.id) === head) rows.delete(head.id);
      counts.burstsLost++;
    }
    return true;
  }

  function settle(taken: readonly Waiting[], heads: readonly (RecordingHead | RecordingTail)[]): void {
    for (const one of taken) {
      parts.splice(parts.indexOf(one), 1);
      counts.frames.stored += one.part.frames;
      release(one.part, one.done);
    }
    for (const head of heads) {
      // An end that came meanwhile waits for the next statement.
      if (rows.get(head.id) === head) rows.delete(head.id);
      if (isTail(head)) failed.delete(head.id);
    }
    if (!isBehind || oldestWaitingMs() >= BEHIND_MS) return;
    isBehind = false;
    log.info({ waiting_bytes: waitingBytes }, 'recording caught up');
  }

  function withFailures(head: RecordingHead | RecordingTail): RecordingHead | RecordingTail {
    const own = failed.get(head.id);
    if (own === undefined || !isTail(head)) return head;
    return { ...head, lost: { ...head.lost, frames: { ...head.lost.frames, ...own } } };
  }

  /** The oldest ones. When the cap is reached, what waits is lost, and counted. */
  function takeParts(): Waiting[] {
    if (isFull()) for (const one of parts.splice(0)) lose(one, 'storage_full');
    const taken: Waiting[] = [];
    let bytes = 0;
    for (const one of parts) {
      if (taken.length === partsMax || bytes >= STATEMENT_BYTES) break;
      bytes += one.part.bytes.byteLength;
      taken.push(one);
    }
    return taken;
  }

  return {
    counts,
    /** Of a relay. `done` is called with bytes that are in memory no more. */
    take(batch: Batch, done: (bytes: number) => void): void {
      for (const [reason, frames] of Object.entries(batch.lost)) counts.frames[reason as Loss] += frames;
      counts.burstsLost += batch.burstsLost;
      for (const head of batch.heads) takeRow(head);
      const sinceMs = nowMs();
      for (const part of batch.parts) {
        waitingBytes += part.bytes.byteLength;
        parts.push({ part, sinceMs, done });
      }
      if (!isStoring && !isClosed) void storeAll();
    },
    figures: () => ({ ...counts, waitingBytes, oldestWaitingMs: oldestWaitingMs() }),
    /** Stores what waits, for at most so long (ms). What is left is lost, and said. */
    async close(ms: number): Promise<void> {
      const done = new Promise<void>((resolve) => {
        idle = resolve;
      });
      if (isStoring) await Promise.race([done, pause(ms, undefined, { ref: false })]);
      isClosed = true;
      const frames = parts.reduce((sum, { part }) => sum + part.frames, 0);
      if (frames > 0 || rows.size > 0) log.error({ frames, recordings: rows.size }, 'recorded frames lost');
    },
  };
}
