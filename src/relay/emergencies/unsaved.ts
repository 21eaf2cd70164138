// Stores emergencies that are already announced: in order, and again until it succeeds, because the database may be away.
import { type Notice, noticeOf } from '../../db/notice.js';
import { AppError } from '../../errors.js';
import type { TalkgroupId } from '../../ids.js';
import { type Clock, pause } from '../clock.js';

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
  /** The change of the emergency with this id is stored. Called before `noticed`. */
  readonly saved: (id: string) => void;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: { error(fields: object, message: string): void };
}

export type Unsaved = ReturnType<typeof createUnsaved>;

export function createUnsaved({ noticed, saved, clock, log }: UnsavedOptions) {
  /** Those of each talkgroup in their order. What a read shows of these is older than what is in memory. */
  const unsaved: Write[] = [];
  /** The number of writes by emergency, and the emergencies by talkgroup. */
  const writes = new Map<string, number>();
  const emergencies = new Map<TalkgroupId, Set<string>>();
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
        const notice = await next.write();
        saved(next.id);
        noticed(notice ?? noticeOf({ kind: 'emergency_changed', talkgroup: next.talkgroup }));
        shift(next);
        retryMs = RETRY_MS_MIN;
      } catch (error) {
        // Expected while the database is away. Anything else is a bug, and must not hold up the others.
        if (!(error instanceof AppError)) {
          log.error({ emergency: next.id, err: error }, 'emergency not stored');
          shift(next);
          continue;
        }
        // It may be the fault of this talkgroup alone: the others come first. Its own writes keep their order, because an
        // emergency can be raised only after the clearing of the one before.
        const { talkgroup } = next;
        const isLater = (one: Write) => Number(one.talkgroup === talkgroup);
        unsaved.push(...unsaved.splice(0).sort((one, other) => isLater(one) - isLater(other)));
        await new Promise<void>((resolve) => clock.after(retryMs, resolve).unref());
        retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs);
      }
    }
    saving = false;
  }

  /** Takes the first one out, which this one is. */
  function shift({ id, talkgroup }: Write): void {
    unsaved.shift();
    const left = (writes.get(id) ?? 1) - 1;
    if (left > 0) {
      writes.set(id, left);
      return;
    }
    writes.delete(id);
    const ids = emergencies.get(talkgroup);
    ids?.delete(id);
    if (ids?.size === 0) emergencies.delete(talkgroup);
  }

  return {
    /** No further emergency may be raised. */
    isFull: () => unsaved.length >= UNSAVED_MAX,

    /** Whether a write for this emergency is not stored yet. */
    has: (id: string) => writes.has(id),

    /** The emergencies of the talkgroup with such writes. */
    in: (talkgroup: TalkgroupId): Iterable<string> => emergencies.get(talkgroup) ?? [],

    /**
     * Bounded by `isFull`, and by the emergencies that are open: each is acknowledged and cleared once. Those of other
     * relays are bounded by KNOWN_MAX.
     */
    add(write: Write): void {
      const { id, talkgroup } = write;
      unsaved.push(write);
      writes.set(id, (writes.get(id) ?? 0) + 1);
      const ids = emergencies.get(talkgroup);
      if (ids === undefined) emergencies.set(talkgroup, new Set([id]));
      else ids.add(id);
      void save();
    },

    /** What is not stored within half a second is lost, and logged. */
    async close(): Promise<void> {
      for (let left = LAST_TRIES; left > 0 && unsaved.length > 0; left--)
        await pause(clock, LAST_MS / LAST_TRIES);
      closed = true;
      for (const { id } of unsaved) log.error({ emergency: id }, 'emergency lost, relay closed');
    },
  };
}
