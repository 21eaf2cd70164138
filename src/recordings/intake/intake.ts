// Stores recorded speech: one statement at a time stores what arrived while the one before it ran. It is repeated until it is
// stored, because talkers wait for nothing and know of nothing. The commit is the acknowledgement.
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../errors.js';
import type { Batch, Loss, Lost, Part } from '../../protocol/recording-batch.js';
import { Pace } from './pace.js';
import { begun, merged, type Row } from './row.js';

/** What one statement stores. */
export interface Stored {
  /** One for each recording. */
  readonly rows: readonly Row[];
  readonly parts: readonly Part[];
}

/** Resolves after commit. Storing the same twice changes nothing. */
export type Store = (stored: Stored) => Promise<void>;

/** Audio of one statement. */
const STATEMENT_BYTES = 256 * 1024;
/** Between the starts of two statements (ms). */
const GATHER_MS = 20;
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
  readonly log: Readonly<Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>>;
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
  const pace = new Pace(options.againMs);
  const rows = new Map<string, Row>();
  const parts: Waiting[] = [];
  const counts: RecorderCounts = {
    frames: { stored: 0, memory_full: 0, too_long: 0, too_many: 0, storage_full: 0, failed: 0 },
    burstsLost: 0,
  };
  /** By recording: what this node could not store from that frame on, told with what its relay lost. */
  const failed = new Map<string, { readonly from: number; readonly lost: Lost }>();
  /** Parts that wait, by recording. */
  const waitingOf = new Map<string, number>();
  /** Recordings under way that have no row and get none: their speech could neither be heard nor deleted. */
  const gone = new Set<string>();
  let waitingBytes = 0;
  let isStoring = false;
  let isClosed = false;
  let isBehind = false;
  let idle: () => void = () => {};
  let wake: () => void = () => {};

  function lose({ part, done }: Waiting, reason: Loss): void {
    counts.frames[reason] += part.frames;
    const { from, lost } = failed.get(part.id) ?? { from: part.from, lost: {} };
    failed.set(part.id, { from, lost: { ...lost, [reason]: (lost[reason] ?? 0) + part.frames } });
    release(part, done);
  }

  function release({ id, bytes }: Part, done: (bytes: number) => void): void {
    waitingBytes -= bytes.byteLength;
    const others = (waitingOf.get(id) ?? 1) - 1;
    if (others > 0) waitingOf.set(id, others);
    else waitingOf.delete(id);
    done(bytes.byteLength);
  }

  function takeRow(row: Row): void {
    if (gone.has(row.id)) return;
    const known = rows.get(row.id);
    // What has begun may end: the second half is for the ends.
    const max = row.lost === undefined ? ROWS_MAX : 2 * ROWS_MAX;
    if (known === undefined && rows.size >= max) {
      counts.burstsLost++;
      gone.add(row.id);
      return;
    }
    rows.set(row.id, known === undefined ? row : merged(known, row));
  }

  function takePart(waiting: Waiting): void {
    const { part, done } = waiting;
    if (gone.has(part.id)) {
      counts.frames.failed += part.frames;
      return done(part.bytes.byteLength);
    }
    waitingBytes += part.bytes.byteLength;
    waitingOf.set(part.id, (waitingOf.get(part.id) ?? 0) + 1);
    parts.push(waiting);
  }

  /** With the speech that waits for it. Not while a statement runs. */
  function giveUpRow(id: string): void {
    counts.burstsLost++;
    if (rows.get(id)?.lost === undefined) gone.add(id);
    rows.delete(id);
    if (waitingOf.has(id))
      for (const one of parts.splice(0))
        if (one.part.id === id) lose(one, 'failed');
        else parts.push(one);
    failed.delete(id);
  }

  async function storeAll(): Promise<void> {
    isStoring = true;
    while ((rows.size > 0 || parts.length > 0) && !isClosed) {
      const startedAtMs = nowMs();
      if (await storeSome()) {
        await rest(Math.max(0, startedAtMs + gatherMs - nowMs()));
        continue;
      }
      tellBehind();
      await rest(pace.againMs());
    }
    isStoring = false;
    idle();
  }

  /** Until then, or until it is closed. */
  const rest = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

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
    const ofRows = takeRows(taken);
    try {
      await store({ rows: ofRows, parts: taken.map(({ part }) => part) });
    } catch (error) {
      // A refusal: the database is away or slow, and it may have happened. Repeating it changes nothing.
      if (error instanceof AppError) {
        pace.refused();
        return false;
      }
      pace.oneByOne();
      return await storeOneByOne(taken, ofRows, error);
    }
    settle(taken, ofRows);
    pace.whole();
    return true;
  }

  /** After an error that is no refusal: each by itself, so that only the culprit is lost. An end waits for its parts. */
  async function storeOneByOne(
    taken: readonly Waiting[],
    ofRows: readonly Row[],
    error: unknown,
  ): Promise<boolean> {
    if (taken.length + ofRows.length === 1) return giveUp(taken, ofRows, error);
    const ids = new Set(taken.map(({ part }) => part.id));
    const steps: { readonly parts: readonly Waiting[]; readonly rows: readonly Row[] }[] = [
      ...ofRows.map((row) => ({ parts: [], rows: [ids.has(row.id) ? begun(row) : row] })),
      ...taken.map((one) => ({ parts: [one], rows: [] })),
    ];
    for (const step of steps) {
      if (step.parts.some((one) => one !== parts[0])) continue; // it was lost with its row
      try {
        await store({ rows: step.rows, parts: step.parts.map(({ part }) => part) });
        settle(step.parts, step.rows);
        pace.answered();
      } catch (error) {
        if (error instanceof AppError) return false;
        giveUp(step.parts, step.rows, error);
      }
    }
    return true;
  }

  function giveUp(taken: readonly Waiting[], ofRows: readonly Row[], error: unknown): boolean {
    log.error({ err: error, parts: taken.length, recordings: ofRows.length }, 'recorded speech not stored');
    for (const one of parts.splice(0, taken.length)) lose(one, 'failed');
    for (const { id } of ofRows) giveUpRow(id);
    pace.answered();
    return true;
  }

  function settle(taken: readonly Waiting[], ofRows: readonly Row[]): void {
    for (const { part, done } of parts.splice(0, taken.length)) {
      counts.frames.stored += part.frames;
      release(part, done);
    }
    for (const row of ofRows) {
      // An end that came meanwhile, or that waits for its parts, is for another statement.
      if (rows.get(row.id) !== row) continue;
      rows.delete(row.id);
      if (row.lost !== undefined) failed.delete(row.id);
    }
    if (!isBehind || oldestWaitingMs() >= BEHIND_MS) return;
    isBehind = false;
    log.info({ waiting_bytes: waitingBytes }, 'recording caught up');
  }

  /** With what this node could not store. */
  function withFailures(row: Row): Row {
    const own = failed.get(row.id);
    if (own === undefined || row.lost === undefined) return row;
    const { from, lost } = own;
    const whole = { ...row, lost: { ...row.lost, [from]: { ...row.lost[from], ...lost } } };
    rows.set(row.id, whole);
    return whole;
  }

  /** The oldest ones. When the cap is reached, what waits is lost, and counted. */
  function takeParts(): Waiting[] {
    if (isFull()) for (const one of parts.splice(0)) lose(one, 'storage_full');
    const taken: Waiting[] = [];
    let bytes = 0;
    for (const one of parts) {
      if (taken.length === pace.partsMax || bytes >= STATEMENT_BYTES) break;
      bytes += one.part.bytes.byteLength;
      taken.push(one);
    }
    return taken;
  }

  /** Those of these parts, and others that wait. No speech is stored before its row, and no end before its speech. */
  function takeRows(taken: readonly Waiting[]): Row[] {
    const takenOf = new Map<string, number>();
    for (const { part } of taken) takenOf.set(part.id, (takenOf.get(part.id) ?? 0) + 1);
    const isComplete = ({ id }: Row) => (waitingOf.get(id) ?? 0) === (takenOf.get(id) ?? 0);
    const found: Row[] = [];
    for (const id of takenOf.keys()) {
      const row = rows.get(id);
      if (row !== undefined) found.push(isComplete(row) ? withFailures(row) : begun(row));
    }
    for (const row of rows.values()) {
      if (found.length >= pace.rowsMax) break;
      if (!takenOf.has(row.id) && (row.lost === undefined || isComplete(row))) found.push(withFailures(row));
    }
    return found;
  }

  return {
    counts,
    /** Of a relay. `done` is called with bytes that are in memory no more. */
    take(batch: Batch, done: (bytes: number) => void): void {
      for (const [reason, frames] of Object.entries(batch.lost)) counts.frames[reason as Loss] += frames;
      counts.burstsLost += batch.burstsLost;
      for (const head of batch.heads) takeRow(head);
      const sinceMs = nowMs();
      for (const part of batch.parts) takePart({ part, sinceMs, done });
      for (const { id, lost } of batch.heads) if (lost !== undefined) gone.delete(id);
      if (!isStoring && !isClosed) void storeAll();
    },
    figures: () => ({ ...counts, waitingBytes, rowsWaiting: rows.size, oldestWaitingMs: oldestWaitingMs() }),
    /** Stores what waits, for at most so long (ms). What is left is lost, and said. */
    async close(ms: number): Promise<void> {
      const done = new Promise<void>((resolve) => {
        idle = resolve;
      });
      wake();
      if (isStoring) await Promise.race([done, delay(ms, undefined, { ref: false })]);
      isClosed = true;
      wake();
      const frames = parts.reduce((sum, { part }) => sum + part.frames, 0);
      if (frames > 0 || rows.size > 0) log.error({ frames, recordings: rows.size }, 'recorded frames lost');
    },
  };
}
