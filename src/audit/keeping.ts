// Keeps the audit log of a node: logs and counts the acts over REST here, and deletes those that are too old.
import { setTimeout as delay } from 'node:timers/promises';
import { ACT_NAMES, type Noted } from '../db/acts.js';
import type { Database } from '../db/client.js';
import { deadlineIn, REQUEST_MS } from '../db/deadline.js';
import { DELETED_AT_ONCE, deleteOldActs, newestBackup } from './store.js';

export interface KeepingOptions {
  readonly config: { readonly AUDIT_DAYS: number };
  readonly database: Database;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

/** Plain numbers. */
export interface AuditFigures {
  /** Acts over REST at this node, by act. */
  readonly acts: Readonly<Record<string, number>>;
  /** Age (s). null: no backup is known. */
  readonly backupAgeS: number | null;
}

/** Between two looks for old acts, and for the newest backup (ms). */
const OLD_MS = 3_600_000;
const BACKUP_MS = 60_000;
/** Between two parts of a deletion (ms). */
const PAUSE_MS = 1000;
const MS_PER_S = 1000;

/** Its timers run from `start` to `close`. What fails is repeated with the next look. */
export function openAudit({ config: { AUDIT_DAYS: days }, database, log }: KeepingOptions) {
  const acts: Record<string, number> = Object.fromEntries(ACT_NAMES.map((act) => [act, 0]));
  let backupAtS: number | null = null;
  let timers: NodeJS.Timeout[] = [];
  let isClosed = false;

  async function deleteOld(): Promise<void> {
    while (!isClosed && (await deleteOldActs(database, deadlineIn(REQUEST_MS), days)) === DELETED_AT_ONCE)
      await delay(PAUSE_MS, undefined, { ref: false });
  }

  async function lookForBackup(): Promise<void> {
    backupAtS = await newestBackup(database, deadlineIn(REQUEST_MS));
  }

  async function look(work: () => Promise<void>): Promise<void> {
    if (database.trouble() !== null) return;
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, 'audit log not kept');
    }
  }

  return {
    /** Logs and counts an act over REST. */
    noted({ act, user_id, device_id, talkgroup_id, details, ...rest }: Noted): void {
      acts[act] = (acts[act] ?? 0) + 1;
      const { talkgroup: talkgroup_name, ...more } = details;
      const ids = { user: user_id, device: device_id, talkgroup: talkgroup_id };
      log.info({ act, ...rest, ...ids, talkgroup_name, ...more }, 'act');
    },
    start(): void {
      const every = (ms: number, work: () => Promise<void>) => setInterval(() => void look(work), ms).unref();
      timers = [every(OLD_MS, deleteOld), every(BACKUP_MS, lookForBackup)];
      void look(deleteOld);
      void look(lookForBackup);
    },
    /** For the metrics. */
    figures: (): AuditFigures => ({
      acts: { ...acts },
      backupAgeS: backupAtS === null ? null : Math.max(0, Date.now() / MS_PER_S - backupAtS),
    }),
    close(): void {
      isClosed = true;
      for (const timer of timers) clearInterval(timer);
    },
  };
}
