// Hands positions that REST has stored to a relay thread: one batch at a time, and of each device the newest.
import type { DeviceId } from '../../ids.js';
import type { LatestFix } from '../../protocol/fix.js';

/** Devices that wait while the thread does not read. A position of one more is dropped, and counted. */
const WAITING_MAX = 10_000;

/** `send` hands over a batch, and how many positions were dropped since the last one. */
export function createHandOver(send: (fixes: readonly LatestFix[], dropped: number) => void) {
  const waiting = new Map<DeviceId, LatestFix>();
  let isWanted = false;
  let isUnderWay = false;
  let dropped = 0;

  function next(): void {
    isUnderWay = waiting.size > 0;
    if (!isUnderWay) return;
    const fixes = [...waiting.values()];
    waiting.clear();
    send(fixes, dropped);
    dropped = 0;
  }

  return {
    /** The thread says whether it wants them. */
    wanted(now: boolean): void {
      isWanted = now;
      if (!isWanted) waiting.clear();
    },

    located(fixes: readonly LatestFix[]): void {
      if (!isWanted) return;
      for (const fix of fixes) {
        if (waiting.size < WAITING_MAX || waiting.has(fix.deviceId)) waiting.set(fix.deviceId, fix);
        else dropped++;
      }
      if (!isUnderWay) next();
    },

    /** The thread has taken the batch. */
    taken: next,
  };
}
