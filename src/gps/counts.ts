// Counts the results of position reports.
import type { Database } from '../db/client.js';
import { AHEAD_MS_MAX, type LatestFix } from '../protocol/fix.js';
import { createFixIntake, type StoreFix } from './intake.js';
import { storeFixes } from './store.js';

export interface FixCounts {
  stored: number;
  /** No such device. */
  unknown: number;
  /** The database did not take them, or not in time. */
  failed: number;
}

/** The way of positions into this database, counted. `latest` is called with those that are the latest of their devices. */
export const openFixIntake = (database: Database, latest: (fixes: readonly LatestFix[]) => void) =>
  countFixes(
    createFixIntake(
      (deadline, fixes) => storeFixes(database, deadline, { fixes, aheadMsMax: AHEAD_MS_MAX }),
      { latest },
    ),
  );

/** The same, counting. */
function countFixes(storeFix: StoreFix): { storeFix: StoreFix; counts: FixCounts } {
  const counts: FixCounts = { stored: 0, unknown: 0, failed: 0 };
  return {
    counts,
    async storeFix(deadline, fix) {
      try {
        const isStored = await storeFix(deadline, fix);
        if (isStored) counts.stored++;
        else counts.unknown++;
        return isStored;
      } catch (error) {
        // Expected: a refusal. Its caller answers it.
        counts.failed++;
        throw error;
      }
    },
  };
}
