// Measures how busy the thread of the relay is, and decides for how long live audio is held.
//
// Nine tenths of what a delivery costs is the kernel's write to the socket. Frames that leave in one write share it: with
// three frames a write a delivery costs 0.39 of one that leaves alone, with five 0.28 (bare engine, 1,000 listeners).
import type { Clock } from '../clock.js';

/** How live audio is held. */
export interface LoadStep {
  /** Audio that waits in a talkgroup leaves when this time (ms) has passed since its first frame. */
  readonly ms: number;
  /** It leaves sooner with this number of frames of one burst. */
  readonly frames: number;
}

/** Most speech has frames of 20 ms, so audio mostly leaves one frame before its window ends. */
export const LOAD_STEPS: readonly LoadStep[] = [
  { ms: 40, frames: 2 },
  { ms: 60, frames: 3 },
  { ms: 100, frames: 5 },
];

export interface LoadOptions {
  readonly clock: Pick<Clock, 'nowMs' | 'idleMs'>;
  /** The longest window (ms). 0: no frame is held. */
  readonly windowMsMax: number;
  /** From this share of the time on the thread is under load, from 0 to 1. 0: always. */
  readonly busyFrom: number;
  /** The next step begins. null: no frame is held any more. */
  readonly hold: (step: LoadStep | null) => void;
}

/** Plain numbers. */
export interface LoadFigures {
  /** The window now (ms). */
  windowMs: number;
  /** By window (ms): seconds in it, up to the last measurement. */
  readonly seconds: Record<number, number>;
}

/** A tick that comes later (ms) is a sign of load as well: a thread that is not given its core does not count as busy. */
const LATE_MS = 100;
/** Measurements under load, one after the other, before each step: one or two are a stall. */
const STALLS = 3;
/** A step back takes so long (ms) with less than this share of the load that begins one: about what a step saves. */
const RELIEVED_MS = 5_000;
const RELIEVED_SHARE = 0.5;

export function createLoad({ clock, windowMsMax, busyFrom, hold }: LoadOptions) {
  const steps = stepsUpTo(windowMsMax);
  const figures: LoadFigures = {
    windowMs: 0,
    seconds: Object.fromEntries(steps.map(({ ms }) => [ms, 0])),
  };
  /** The place of the step in `steps`, -1: no frame is held. */
  let at = -1;
  let measuredAtMs = clock.nowMs();
  let idleMs = clock.idleMs();
  let loaded = 0;
  let strainedAtMs = measuredAtMs;

  function move(by: 1 | -1): void {
    at += by;
    const step = steps[at] ?? null;
    figures.windowMs = step?.ms ?? 0;
    hold(step);
  }

  if (busyFrom === 0) while (at + 1 < steps.length) move(1);

  return {
    figures,
    /** Called about every 100 ms. `lateMs`: how late the tick of the relay's timer came. */
    measure(lateMs: number): void {
      const nowMs = clock.nowMs();
      const idleNowMs = clock.idleMs();
      const spentMs = nowMs - measuredAtMs;
      const busy = spentMs > 0 ? 1 - (idleNowMs - idleMs) / spentMs : 0;
      if (figures.windowMs > 0)
        figures.seconds[figures.windowMs] = (figures.seconds[figures.windowMs] ?? 0) + spentMs / 1000;
      measuredAtMs = nowMs;
      idleMs = idleNowMs;
      const isLate = lateMs >= LATE_MS;
      if (isLate || busy >= RELIEVED_SHARE * busyFrom) strainedAtMs = nowMs;
      loaded = isLate || busy >= busyFrom ? loaded + 1 : 0;
      if (loaded >= STALLS && at + 1 < steps.length) {
        loaded = 0;
        move(1);
      } else if (at >= 0 && nowMs - strainedAtMs >= RELIEVED_MS) {
        strainedAtMs = nowMs;
        move(-1);
      }
    },
  };
}

/** The last step is as long as the setting says. */
function stepsUpTo(windowMsMax: number): readonly LoadStep[] {
  if (windowMsMax === 0) return [];
  const shorter = LOAD_STEPS.filter(({ ms }) => ms < windowMsMax);
  const longest = LOAD_STEPS[shorter.length];
  return longest === undefined ? shorter : [...shorter, { ...longest, ms: windowMsMax }];
}
