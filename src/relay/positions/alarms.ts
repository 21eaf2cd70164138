// Tells the members of a talkgroup where the user with an open emergency is, without being asked.
import type { LatestFix } from '../../protocol/fix.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Raiser, Raisers } from '../members/raisers.js';
import { isNews } from './devices.js';
import { emergencyPositionText } from './messages.js';

/** Between two EMERGENCY_POSITION of an emergency (ms). The latest position counts. */
const TELL_MS = 2000;

export interface AlarmsOptions {
  readonly raisers: Raisers;
  readonly fanout: Pick<Fanout, 'tell'>;
  readonly counts: { emergencies: number };
  readonly nowMs: () => number;
  readonly unixMs: () => number;
}

export function createAlarms({ raisers, fanout, counts, nowMs, unixMs }: AlarmsOptions) {
  /** With a position that the members have not been told of. Never more than there are open emergencies. */
  const untold = new Set<Raiser>();

  function tell(raiser: Raiser, fix: LatestFix): void {
    raiser.toldAtMs = nowMs();
    untold.delete(raiser);
    counts.emergencies++;
    fanout.tell(raiser.talkgroup.feed, emergencyPositionText(raiser, fix));
  }

  return {
    /** Whether a position waits for its time. */
    get areWaiting(): boolean {
      return untold.size > 0;
    },

    /** A position was stored. One look-up when its device has no emergency. */
    located(fix: LatestFix): void {
      for (const raiser of raisers.of(fix.deviceId)) {
        if (raiser.fix !== null && !isNews(fix, raiser.fix, unixMs())) continue;
        raiser.fix = fix;
        if (nowMs() - raiser.toldAtMs >= TELL_MS) tell(raiser, fix);
        else untold.add(raiser);
      }
    },

    /** Called every 50 ms. */
    tick(now: number): void {
      for (const raiser of [...untold]) {
        const isOpen = raisers.get(raiser.emergency.id) === raiser;
        if (!isOpen || raiser.fix === null) untold.delete(raiser);
        else if (now - raiser.toldAtMs >= TELL_MS) tell(raiser, raiser.fix);
      }
    },
  };
}
