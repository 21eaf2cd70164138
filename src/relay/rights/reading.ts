// Reads what is due, one batch at a time in each lane, and passes each read the keys that changed during it.
import { AppError } from '../../errors.js';
import type { DeviceId, TalkgroupId, UserId } from '../../ids.js';
import { type Clock, pause } from '../clock.js';
import type { Batch, Due, Lane } from './due.js';

/** What the notifications named that arrived during a read. */
export interface Touched {
  /** Users and devices: the read must not grant what it shows of them. */
  readonly unsure: ReadonlySet<UserId | DeviceId>;
  /** Talkgroups: a membership that the read shows is valid, and a read of the talkgroup follows. */
  readonly behind: ReadonlySet<TalkgroupId>;
  /** Those of them with other settings, or deleted: no member talks there by what the read shows. */
  readonly changed: ReadonlySet<TalkgroupId>;
}

export interface ReadingOptions {
  readonly due: Due;
  /** Reads the database and applies the answer, but for what was touched. Rejects when there was no answer. */
  readonly read: (batch: Batch, touched: Touched) => Promise<void>;
  /** false: the user need not be read any more. */
  readonly isWanted: (id: UserId) => boolean;
  /** Before the next read (ms), for others to share it. */
  readonly gatherMs: (lane: Lane) => number;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: { error(fields: object, message: string): void };
}

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 1000;

export function createReading({ due, read, isWanted, gatherMs, clock, log }: ReadingOptions) {
  const busy = new Set<Lane>();
  /** For each read under way the keys of the notifications that arrived since it began. */
  const underWay = new Set<ReturnType<typeof nothingTouched>>();
  let stopped = false;

  /** One read at a time, so that thousands of handshakes become a few batches and not thousands of queries. */
  async function readLane(lane: Lane): Promise<void> {
    if (busy.has(lane)) return;
    busy.add(lane);
    let retryMs = RETRY_MS_MIN;
    while (!stopped && lane.count() > 0) {
      if (await readNext(lane)) {
        retryMs = RETRY_MS_MIN;
        const ms = gatherMs(lane);
        if (ms > 0) await pause(clock, ms);
      } else {
        void readLane(due.suspect);
        await pause(clock, retryMs);
        retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs);
      }
    }
    busy.delete(lane);
  }

  /** false: there was no answer, and the batch is due again. */
  async function readNext(lane: Lane): Promise<boolean> {
    const { talkgroups, users } = lane.take();
    const batch = { talkgroups, users: users.filter(isWanted) };
    const touched = nothingTouched();
    underWay.add(touched);
    try {
      await read(batch, touched);
      return true;
    } catch (error) {
      // Expected while the database is down: a withdrawn permission stays withdrawn until a read succeeds.
      if (!(error instanceof AppError)) log.error({ err: error }, 'permission read failed');
      due.failed(batch);
      return false;
    } finally {
      underWay.delete(touched);
    }
  }

  return {
    /** Begins to read what is due. */
    begin(): void {
      void readLane(due.ordinary);
      void readLane(due.suspect);
    },
    /** A notification names this user or device: the reads under way may not show its change. */
    touch(key: UserId | DeviceId): void {
      for (const { unsure } of underWay) unsure.add(key);
    },
    /** The same of a talkgroup. A user of many talkgroups is read while they change all the time. */
    leaveBehind(talkgroup: TalkgroupId, { isChanged }: { isChanged: boolean }): void {
      for (const { behind, changed } of underWay) {
        behind.add(talkgroup);
        if (isChanged) changed.add(talkgroup);
      }
    },
    stop(): void {
      stopped = true;
    },
  };
}

const nothingTouched = () => ({
  unsure: new Set<UserId | DeviceId>(),
  behind: new Set<TalkgroupId>(),
  changed: new Set<TalkgroupId>(),
});
