// Stores emergencies that are already announced: in order, and again until it succeeds, because the database may be away.
import { type Notice, noticeOf } from '../../db/notice.js';
import { AppError } from '../../errors.js';
import type { TalkgroupId } from '../../ids.js';

/** Beyond this number of unsaved writes a raise is refused: the database is away for days, or this is an attack. */
export const UNSAVED_MAX = 10_000;
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 2000;
/** Time (ms) for what is unsaved when the relay ends: as long as the engine waits for the last radios. */
const LAST_MS = 500;
const LAST_TRIES = 25;

/** One write. It may be repeated. */
export interface Write {
  /** Id of the emergency. */
  readonly id: string;
  readonly talkgroup: TalkgroupId;
  /** Answers the notification that went to the other nodes, if there was one. */
  readonly write: () => Promise<Notice | null>;
}

export interface UnsavedOptions {
  /** The change is stored. */
  readonly noticed: (notice: Notice) => void;
  readonly log: { error(fields: object, message: string): void };
}

export type Unsaved = ReturnType<typeof createUnsaved>;

export function createUnsaved({ noticed, log }: UnsavedOptions) {
  /** Those of each talkgroup in their order. What a read shows of these is older than what is in memory. */
  const unsaved: Write[] = [];
  let saving = false;
  let closed = false;

  /** One after the other, and again until they succeed. */
  async function save(): Promise<void> {
    if (saving) return;
    saving = true;
    let retryMs = RETRY_MS_MIN;
    for (let next = unsaved[0]; next !== undefined && !closed; next = unsaved[0]) {
      try {
        // Also of a write that found another state than ours. First of all, because a read under way may have begun before.
        noticed((await next.write()) ?? noticeOf({ kind: 'emergency_changed', talkgroup: next.talkgroup }));
        unsaved.shift();
        retryMs = RETRY_MS_MIN;
      } catch (error) {
        // Expected while the database is away. Anything else is a bug, and must not hold up the others.
        if (!(error instanceof AppError)) {
          log.error({ emergency: next.id, err: error }, 'emergency not stored');
          unsaved.shift();
          continue;
        }
        // It may be the fault of this talkgroup alone: the others come first. Its own writes keep their order, because an
        // emergency can be raised only after the clearing of the one before.
        const { talkgroup } = next;
        const isLater = (one: Write) => Number(one.talkgroup === talkgroup);
        unsaved.push(...unsaved.splice(0).sort((one, other) => isLater(one) - isLater(other)));
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
        retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs);
      }
    }
    saving = false;
  }

  return {
    /** No further emergency may be raised. */
    isFull: () => unsaved.length >= UNSAVED_MAX,

    /** Whether a write for this emergency is not stored yet. */
    has: (id: string) => unsaved.some((write) => write.id === id),

    /** Bounded by `isFull`, and by the emergencies that are open: each is acknowledged and cleared once. */
    add(write: Write): void {
      unsaved.push(write);
      void save();
    },

    /** What is not stored within half a second is lost, and logged. */
    async close(): Promise<void> {
      for (let left = LAST_TRIES; left > 0 && unsaved.length > 0; left--)
        await new Promise((resolve) => setTimeout(resolve, LAST_MS / LAST_TRIES));
      closed = true;
      for (const { id } of unsaved) log.error({ emergency: id }, 'emergency lost, relay closed');
    },
  };
}
