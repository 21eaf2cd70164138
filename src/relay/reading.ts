// Reads what is due, one batch at a time in each lane, and tells each read which keys changed while it was under way.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../errors.js';
import type { UserId } from '../ids.js';
import type { Batch, Due, Lane } from './due.js';

export interface ReadingOptions {
  readonly due: Due;
  /** Asks the database and applies its answer to what `touched` does not name; rejects when there was no answer. */
  readonly read: (batch: Batch, touched: ReadonlySet<string>) => Promise<void>;
  /** false: the user need not be read any more. */
  readonly isWanted: (id: UserId) => boolean;
  /** Before the next read (ms), for others to share it. */
  readonly gatherMs: (lane: Lane) => number;
  readonly log: { error(fields: object, message: string): void };
  readonly pause?: ((ms: number) => Promise<void>) | undefined;
}

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 1000;

export function createReading({ due, read, isWanted, gatherMs, log, pause = sleep }: ReadingOptions) {
  const busy = new Set<Lane>();
  /** Of each read under way the keys of the notices that arrived since it began. */
  const underWay = new Set<Set<string>>();
  let stopped = false;

  /** One read under way at a time, so that a storm of handshakes is a row of batches and not a storm of queries. */
  async function readLane(lane: Lane): Promise<void> {
    if (busy.has(lane)) return;
    busy.add(lane);
    let retryMs = RETRY_MS_MIN;
    while (!stopped && lane.count() > 0) {
      if (await readNext(lane)) {
        retryMs = RETRY_MS_MIN;
        const ms = gatherMs(lane);
        if (ms > 0) await pause(ms);
      } else {
        void readLane(due.suspect);
        await pause(retryMs);
        retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs);
      }
    }
    busy.delete(lane);
  }

  /** false: there was no answer, and the batch is due again. */
  async function readNext(lane: Lane): Promise<boolean> {
    const { talkgroups, users } = lane.take();
    const batch = { talkgroups, users: users.filter(isWanted) };
    const touched = new Set<string>();
    underWay.add(touched);
    try {
      await read(batch, touched);
      return true;
    } catch (error) {
      // Expected while the database is away: what was withdrawn stays withdrawn until it answers.
      if (!(error instanceof AppError)) log.error({ err: error }, 'permission read failed');
      due.failed(batch);
      return false;
    } finally {
      underWay.delete(touched);
    }
  }

  return {
    /** Something is due. */
    begin(): void {
      void readLane(due.ordinary);
      void readLane(due.suspect);
    },
    /** A notice names this user, device or talkgroup: the reads under way may not show its change. */
    touch(key: string): void {
      for (const touched of underWay) touched.add(key);
    },
    stop(): void {
      stopped = true;
    },
  };
}
