// Follows the rotations of one talkgroup: which epoch a talker uses now, and which ones a listener still takes.
import type { Clock } from '../clock.js';
import type { EncryptionState, MissingEpoch } from './key-store.js';

export type Epochs = {
  /** The epoch to talk with now. */
  readonly talkCounter: number;
  /** Since when (ms) a talker uses it, as far as this radio knows. */
  readonly usedSinceMs: number;
  /** The newest epoch that was announced. */
  readonly newest: number;
  /** The greatest epoch to talk with whose key the service delivered. */
  readonly proven: number;
  /** Whether the newest epoch of the service is older than `proven`, as after the restore of a backup. */
  readonly isServiceBehind: boolean;
  /** Takes over what a snapshot or KEY_ROTATED says. Counters never go back, whatever the relay says. */
  follow(state: EncryptionState): void;
  /** The service has no such epoch: takes back what the relay alone said, and nothing that is proven. */
  missing(epoch: MissingEpoch): void;
  /** A frame of this epoch opened. */
  heard(counter: number): void;
  /** Whether bursts of this epoch may still be live. */
  isAccepted(counter: number): boolean;
  /** Epochs that were accepted and are not any more. Names each one once. */
  expired(): number[];
};

/** A listener keeps an epoch for this time behind the use of its successor. A burst that it hears by then goes on. */
const KEPT_MS = 60_000;
/** The relay takes at most 8 announced epochs at once. Later ones than the newest known may be on their way. */
export const AHEAD_MAX = 8;
const NONE = -1;
const COUNTER_MAX = 0xffff_ffff;

/**
 * `counter`: the least one to talk with, from an earlier run of the app. `proven`: the same with a key. `hasKey`: whether the key
 * of an epoch is there.
 */
export function createEpochs(
  clock: Clock,
  { counter = NONE, proven: provenBefore = NONE }: { counter?: number; proven?: number } = {},
  hasKey: (counter: number) => boolean = () => false,
): Epochs {
  let current = counter;
  let newest = counter;
  let proven = provenBefore;
  let isServiceBehind = false;
  let usedSinceMs = Number.NEGATIVE_INFINITY;
  /** Announced epochs that are not used yet, with the time (ms) from which on they are. */
  let coming: { counter: number; atMs: number }[] = [];
  /** By epoch: when it was last heard, or its successor began to be used (ms). */
  const heardAtMs = new Map<number, number>();

  return {
    get talkCounter() {
      advance();
      return current;
    },
    get usedSinceMs() {
      advance();
      return usedSinceMs;
    },
    get newest() {
      return newest;
    },
    get proven() {
      advance();
      return proven;
    },
    get isServiceBehind() {
      return isServiceBehind;
    },
    follow({ rotation_counter, talk_counter = rotation_counter, use_in_ms = 0 }) {
      if (!isCounter(rotation_counter) || !isCounter(talk_counter)) return;
      advance();
      if (rotation_counter >= current) isServiceBehind = false;
      if (talk_counter > current) use(talk_counter, clock.nowMs());
      if (rotation_counter > newest) newest = rotation_counter;
      if (rotation_counter > current) {
        coming = coming.filter((one) => one.counter !== rotation_counter);
        coming.push({ counter: rotation_counter, atMs: clock.nowMs() + use_in_ms });
        advance();
      }
    },
    missing({ wanted, newest: there }) {
      advance();
      isServiceBehind = there < proven;
      // A greater one was announced meanwhile. It is asked for by itself.
      if (wanted < newest) return;
      newest = Math.max(there, proven);
      coming = coming.filter((one) => one.counter <= newest);
      for (const counter of heardAtMs.keys()) if (counter >= newest) heardAtMs.delete(counter);
      if (current <= newest) return;
      // The newest of the service, and not less: its talkers may still use those since the proven one.
      current = proven;
      if (newest > current) use(newest, clock.nowMs());
    },
    heard(counter) {
      // Not of one that has a successor: a removed member could keep it for ever, burst by burst.
      if (counter >= current) heardAtMs.set(counter, clock.nowMs());
    },
    isAccepted(counter) {
      advance();
      if (counter >= current) return counter <= newest + AHEAD_MAX;
      return clock.nowMs() - (heardAtMs.get(counter) ?? Number.NEGATIVE_INFINITY) <= KEPT_MS;
    },
    expired() {
      advance();
      const over = [...heardAtMs].filter(
        ([counter, atMs]) => counter < current && clock.nowMs() - atMs > KEPT_MS,
      );
      for (const [counter] of over) heardAtMs.delete(counter);
      return over.map(([counter]) => counter);
    },
  };

  function advance(): void {
    const due = coming.filter(({ atMs }) => atMs <= clock.nowMs()).sort((a, b) => a.counter - b.counter);
    if (due.length > 0) {
      for (const { counter, atMs } of due) if (counter > current) use(counter, atMs);
      coming = coming.filter(({ counter }) => counter > current);
    }
    if (current > proven && hasKey(current)) proven = current;
  }

  function use(counter: number, atMs: number): void {
    // Bursts that began with an earlier epoch go on with it. Of those before the radio came it knows the last one only.
    const from = current === NONE ? counter - 1 : Math.max(current + 1, counter - AHEAD_MAX);
    for (let before = Math.max(0, from); before < counter; before += 1) keepSince(before, atMs);
    // A counter may jump: after a restore by a million, and by as much as a relay that lies says.
    for (const one of coming) if (one.counter < counter) keepSince(one.counter, atMs);
    if (current !== NONE) keepSince(current, atMs);
    current = counter;
    usedSinceMs = atMs;
    newest = Math.max(newest, counter);
  }

  function keepSince(counter: number, atMs: number): void {
    heardAtMs.set(counter, Math.max(heardAtMs.get(counter) ?? Number.NEGATIVE_INFINITY, atMs));
  }
}

/** The relay may lie, and the service answers no question for more than a u32. */
export const isCounter = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= COUNTER_MAX;
