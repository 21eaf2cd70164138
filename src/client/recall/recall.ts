// Keeps the last bursts that the radio played, for replay. In memory only.
import type { Talker } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { createPages, type RecalledFrame } from './pages.js';

/** A burst of another radio that has ended. Of a long one the beginning may be forgotten. */
export type RecalledBurst = {
  /** As in `recallId` of the end of the burst. */
  id: number;
  /** As it was announced. */
  talker: Talker;
  /** When the first and the last of these frames were heard (ms, monotonic). */
  fromMs: number;
  untilMs: number;
  /** In the order in which they were heard. The caller may keep them. */
  frames: readonly RecalledFrame[];
};

/** The last bursts that the radio played. It needs no connection. */
export type Recall = {
  /** The burst that ended last, in this talkgroup or in all, or the one that `back` later ones followed. null: forgotten. */
  last(talkgroupId?: string, back?: number): RecalledBurst | null;
  /** null: forgotten. */
  get(id: number): RecalledBurst | null;
};

/** `isRevoked`: the user may not hear these bursts any more. A replay of one must end. */
export type Forgotten = { ids: readonly number[]; isRevoked: boolean };

/** The side of the radio. */
export type RecallStore = Recall & {
  /** Of all frames. */
  readonly bytes: number;
  /** Another radio talks. */
  started(talker: Talker): void;
  /** Copies a frame of a burst that has started. */
  keep(frame: {
    talkgroupId: string;
    session: number;
    burst: number;
    sequence: number;
    payload: Uint8Array;
  }): void;
  /** Returns the id of the burst. null: no frame of it is kept. */
  ended(end: Pick<Talker, 'talkgroup_id' | 'session' | 'burst'>): number | null;
  /** The user may not hear the talkgroup any more. Forgets its bursts, running ones included. */
  forget(talkgroupId: string): void;
  /** The radio has stopped, or has another user. */
  forgetAll(): void;
};

type Burst = { id: number; talker: Talker; frames: number };

export const RECALL_SECONDS = 300;
/** 300 s of eleven talkers at once, with 64 bytes in a frame. */
export const RECALL_BYTES_MAX = 4 * 1024 * 1024;
/** Three a second. Each also needs about 1 KiB for its talker. */
export const RECALL_BURSTS_MAX = 1_000;
/** Frames that are too old are removed at most once in this time (ms), and before each answer. */
const APART_MS_MIN = 1_000;

/** `seconds` 0: keeps nothing. Calls `forgotten` when ended bursts are forgotten. */
export function createRecall(
  seconds: number,
  clock: Clock,
  forgotten: (forgotten: Forgotten) => void,
): RecallStore {
  const keptMs = seconds * 1000;
  /** By talkgroup and session. */
  const running = new Map<string, Map<number, Burst>>();
  /** The same by id. */
  const runningById = new Map<number, Burst>();
  /** By id, in the order of their ends. */
  const ended = new Map<number, Burst>();
  let gone: number[] = [];
  let lastId = 0;
  let cancelRemoval: (() => void) | null = null;
  const pages = createPages(RECALL_BYTES_MAX, (id) => {
    const burst = ended.get(id) ?? runningById.get(id);
    if (burst === undefined) return;
    burst.frames -= 1;
    if (burst.frames === 0 && ended.delete(id)) gone.push(id);
  });

  return {
    get bytes() {
      return pages.bytes;
    },
    last(talkgroupId, back = 0) {
      removeOld();
      const bursts = [...ended.values()].filter(
        ({ talker }) => talkgroupId === undefined || talker.talkgroup_id === talkgroupId,
      );
      return burstOf(bursts.at(-1 - back));
    },
    get(id) {
      removeOld();
      return burstOf(ended.get(id));
    },
    started(talker) {
      if (!(keptMs > 0)) return;
      lastId += 1;
      const burst = { id: lastId, talker, frames: 0 };
      const bursts = running.get(talker.talkgroup_id) ?? new Map<number, Burst>();
      running.set(talker.talkgroup_id, bursts.set(talker.session, burst));
      runningById.set(burst.id, burst);
    },
    keep({ talkgroupId, session, burst: number, sequence, payload }) {
      const burst = running.get(talkgroupId)?.get(session);
      // The end of a burst may come in an empty frame.
      if (burst?.talker.burst !== number || payload.length === 0) return;
      if (pages.push(burst.id, sequence, clock.nowMs(), payload)) burst.frames += 1;
      if (gone.length > 0) tell(false);
      cancelRemoval ??= clock.after(keptMs, removeInTurn);
    },
    ended({ talkgroup_id, session, burst: number }) {
      const bursts = running.get(talkgroup_id);
      const burst = bursts?.get(session);
      if (burst?.talker.burst !== number) return null;
      bursts?.delete(session);
      runningById.delete(burst.id);
      if (bursts?.size === 0) running.delete(talkgroup_id);
      if (burst.frames === 0) return null;
      ended.set(burst.id, burst);
      const [oldest] = ended.keys();
      if (ended.size > RECALL_BURSTS_MAX && oldest !== undefined) {
        ended.delete(oldest); // its bytes go with their page
        gone.push(oldest);
        tell(false);
      }
      return burst.id;
    },
    forget(talkgroupId) {
      const ids = new Set([...(running.get(talkgroupId)?.values() ?? [])].map(({ id }) => id));
      running.delete(talkgroupId);
      for (const id of ids) runningById.delete(id);
      for (const [id, { talker }] of ended) {
        if (talker.talkgroup_id !== talkgroupId) continue;
        ids.add(id);
        ended.delete(id);
        gone.push(id);
      }
      if (ids.size > 0) pages.erase(ids);
      tell(true);
    },
    forgetAll() {
      cancelRemoval?.();
      cancelRemoval = null;
      gone.push(...ended.keys());
      for (const bursts of [running, runningById, ended]) bursts.clear();
      pages.eraseAll();
      tell(true);
    },
  };

  function burstOf(burst: Burst | undefined): RecalledBurst | null {
    if (burst === undefined) return null;
    const { id, talker } = burst;
    const frames = pages.read(id);
    const [fromMs = 0, untilMs = 0] = [frames[0]?.heardAtMs, frames.at(-1)?.heardAtMs];
    return { id, talker, fromMs, untilMs, frames };
  }

  function removeOld(): void {
    pages.removeUntil(clock.nowMs() - keptMs);
    tell(false);
  }

  function removeInTurn(): void {
    removeOld();
    const { oldestMs } = pages;
    cancelRemoval =
      oldestMs === null
        ? null
        : clock.after(Math.max(APART_MS_MIN, oldestMs + keptMs - clock.nowMs()), removeInTurn);
  }

  function tell(isRevoked: boolean): void {
    if (gone.length === 0) return;
    const ids = gone;
    gone = [];
    forgotten({ ids, isRevoked });
  }
}
