// Positions on their way to the database: thousands of radios report one a second, and one statement with one commit
// stores all that came while the one before was under way.
import { setTimeout as pause } from 'node:timers/promises';
import type { Deadline } from '../db/deadline.js';
import { AppError } from '../errors.js';
import type { DeviceId } from '../ids.js';
import type { DeviceFix } from './schemas.js';

/** Resolves after commit; false: no such device. Refuses like `Database.write`, the fixes of one statement all alike. */
export type StoreFix = (deadline: Deadline, fix: DeviceFix) => Promise<boolean>;

/** Stores fixes of different devices in one statement; resolves after commit with those of the devices that exist. */
type StoreFixes = (deadline: Deadline, fixes: readonly DeviceFix[]) => Promise<ReadonlySet<DeviceId>>;

/** From the beginning of a statement to the next one's: a fix alone is stored at once, a tide in a hundred a second. */
const GATHER_MS = 10;
/** In one statement, which takes PostgreSQL about 20 ms then. */
const FIXES_MAX = 1_000;
/** Waiting for their statement; who comes then is refused. A disk that stalls for a second is given so many. */
const WAITING_MAX = 10_000;

interface Report {
  readonly fix: DeviceFix;
  readonly deadline: Deadline;
  resolve(isStored: boolean): void;
  reject(error: unknown): void;
}

/** Of several fixes of a device that wait together the last one is stored, and all are answered as it is. */
export function createFixIntake(storeFixes: StoreFixes, { gatherMs = GATHER_MS } = {}): StoreFix {
  const waiting = new Set<Report>();
  let isDraining = false;

  /** One statement at a time: fixes of a device are stored in the order in which they came. */
  async function drain(): Promise<void> {
    isDraining = true;
    while (waiting.size > 0) {
      const startedAt = performance.now();
      await store(takeFirst());
      await pause(Math.max(0, startedAt + gatherMs - performance.now()));
    }
    isDraining = false;
  }

  function takeFirst(): Report[] {
    const first: Report[] = [];
    for (const report of waiting) {
      if (first.length === FIXES_MAX) break;
      waiting.delete(report);
      first.push(report);
    }
    return first;
  }

  async function store(reports: readonly Report[]): Promise<void> {
    const latest = new Map(reports.map(({ fix }) => [fix.deviceId, fix]));
    // Who has less time left than the others is told so below.
    const at = Math.max(...reports.map(({ deadline }) => deadline.at));
    try {
      const stored = await storeFixes({ at }, [...latest.values()]);
      for (const { fix, resolve } of reports) resolve(stored.has(fix.deviceId));
    } catch (error) {
      // Not a refusal: the statement did nothing, and one fix may be to blame, as that of a device deleted meanwhile.
      if (!(error instanceof AppError) && reports.length > 1) return storeHalves(reports);
      // LIMIT: after outcome_unknown the statement may still happen, behind newer fixes of its devices. A time of
      // receipt in the row, compared by the statement, would lift it.
      for (const { reject } of reports) reject(error); // a refusal, or a bug that is each caller's to report
    }
  }

  /** One after the other, so that in the end only who is to blame is refused: 20 statements to find one in 1,000. */
  async function storeHalves(reports: readonly Report[]): Promise<void> {
    const middle = Math.ceil(reports.length / 2);
    await store(reports.slice(0, middle));
    await store(reports.slice(middle));
  }

  return (deadline, fix) =>
    new Promise((resolve, reject) => {
      if (waiting.size >= WAITING_MAX) throw new AppError('database_unavailable');
      const giveUp = () => {
        // Nobody has sent it yet, or it is under way.
        reject(new AppError(waiting.delete(report) ? 'database_unavailable' : 'outcome_unknown'));
      };
      const timer = setTimeout(giveUp, Math.max(0, deadline.at - performance.now()));
      const report: Report = {
        fix,
        deadline,
        resolve(isStored) {
          clearTimeout(timer);
          resolve(isStored);
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      waiting.add(report);
      if (!isDraining) void drain();
    });
}
