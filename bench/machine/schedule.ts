// Calls a function at a steady rate by the clock, without waiting for earlier results.
import { around, nowMs } from './clock.js';

export interface Schedule {
  /** By nowMs(). */
  readonly fromMs: number;
  readonly ms: number;
  readonly perSecond: number;
}

/** Between two looks at the clock: what became due meanwhile is done together, a millisecond or so late. */
const TICK_MS = 1;

export const countOf = ({ ms, perSecond }: Schedule): number => Math.round((perSecond * ms) / 1000);

export const dueMsOf = ({ fromMs, perSecond }: Schedule, index: number): number =>
  fromMs + (index * 1000) / perSecond;

/** Calls `act` once for each moment of the schedule, in their order and none before its time. */
export async function onSchedule(
  schedule: Schedule,
  act: (dueMs: number, lateMs: number) => void,
): Promise<void> {
  const count = countOf(schedule);
  for (let index = 0; index < count; ) {
    const now = nowMs();
    for (; index < count && dueMsOf(schedule, index) <= now; index++) {
      const dueMs = dueMsOf(schedule, index);
      act(dueMs, now - dueMs);
    }
    await around(Math.max(dueMsOf(schedule, index), now + TICK_MS));
  }
}
