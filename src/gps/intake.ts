// Gathers positions for the database: thousands of radios report one a second, and one statement with one commit stores
// all that arrived while the statement before it ran.
import { setTimeout as pause } from 'node:timers/promises';
import type { Deadline } from '../db/deadline.js';
import { AppError } from '../errors.js';
import type { DeviceId } from '../ids.js';
import type { LatestFix, ReportedFix } from '../protocol/fix.js';
import type { StoredTimes } from './store.js';

/** Resolves after commit. false: no such device. Refuses like `Database.write`, the fixes of one statement all alike. */
export type StoreFix = (deadline: Deadline, fix: ReportedFix) => Promise<boolean>;

/** Stores fixes of different devices in one statement. Resolves after commit. */
type StoreFixes = (deadline: Deadline, fixes: readonly ReportedFix[]) => Promise<StoredTimes>;

/** Time from the start of a statement to the start of the next (ms). A single position is stored at once. */
const GATHER_MS = 10;
/** Positions in one statement. PostgreSQL takes about 20 ms for that many. */
const FIXES_MAX = 1_000;
/** Positions that wait for a statement. One more is rejected. That many arrive while a disk stalls for a second. */
const WAITING_MAX = 10_000;

interface Report {
  readonly fix: ReportedFix;
  readonly deadline: Deadline;
  resolve(isStored: boolean): void;
  reject(error: unknown): void;
}

export interface IntakeOptions {
  readonly gatherMs?: number;
  /** Called after commit, before the reports are answered. */
  readonly latest?: (fixes: readonly LatestFix[]) => void;
}

/** When several positions of a device wait together, the newest one is stored, and all reports get its answer. */
export function createFixIntake(
  storeFixes: StoreFixes,
  { gatherMs = GATHER_MS, latest: tell = () => {} }: IntakeOptions = {},
): StoreFix {
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
    const latest = new Map<DeviceId, ReportedFix>();
    for (const { fix } of reports) if (isNewer(fix, latest.get(fix.deviceId))) latest.set(fix.deviceId, fix);
    // The latest deadline of the batch. Reports with an earlier deadline time out individually below.
    const at = Math.max(...reports.map(({ deadline }) => deadline.at));
    try {
      const stored = await storeFixes({ at }, [...latest.values()]);
      tell([...latest.values()].flatMap((fix) => latestOf(fix, stored.get(fix.deviceId))));
      for (const { fix, resolve } of reports) resolve(stored.has(fix.deviceId));
    } catch (error) {
      // Not a refusal: the statement did nothing, and one position may be the cause, as that of a deleted device.
      if (!(error instanceof AppError) && reports.length > 1) return storeHalves(reports);
      // LIMIT: after outcome_unknown the statement may still happen, behind newer fixes of its devices. A time of
      // receipt in the row, compared by the statement, would lift it.
      for (const { reject } of reports) reject(error); // a refusal, or a bug that is each caller's to report
    }
  }

  /** One half after the other, so that in the end only the cause is rejected: 20 statements find one in 1,000. */
  async function storeHalves(reports: readonly Report[]): Promise<void> {
    const middle = Math.ceil(reports.length / 2);
    await store(reports.slice(0, middle));
    await store(reports.slice(middle));
  }

  return (deadline, fix) =>
    new Promise((resolve, reject) => {
      if (waiting.size >= WAITING_MAX) throw new AppError('database_unavailable');
      const giveUp = () => {
        // Not sent yet, or sent and not answered.
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

/** One without a time is of now. */
const isNewer = ({ atMs }: ReportedFix, before: ReportedFix | undefined): boolean =>
  before === undefined || atMs === undefined || atMs >= (before.atMs ?? Date.now());

/** Nothing when there is no such device, or when a newer position is stored. */
function latestOf(fix: ReportedFix, atMs: number | null | undefined): LatestFix[] {
  if (atMs === undefined || atMs === null) return [];
  const { deviceId, lat, lng, alt, speed = null, course = null, accuracy = null, battery = null } = fix;
  return [{ deviceId, lat, lng, alt, speed, course, accuracy, battery, atMs }];
}
