// Rotates the keys of talkgroups that members with keys have left, when their time has come. Every node does it.
import type { Database } from '../../db/client.js';
import { deadlineIn, REQUEST_MS } from '../../db/deadline.js';
import type { Notice, Tell } from '../../db/notice.js';
import { rotateDue } from './store.js';

export interface DueRotationsOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly log: { warn(fields: object, message: string): void };
  /** Time between two looks (ms). */
  readonly everyMs?: number;
}

/** Plain numbers. */
export interface DueFigures {
  readonly done: number;
  readonly failed: number;
}

const EVERY_MS = 10_000;

/** Looks until `close`, each time until nothing is due. A look that fails is repeated with the next one. */
export function createDueRotations({ database, tell, log, everyMs = EVERY_MS }: DueRotationsOptions) {
  let timer: NodeJS.Timeout | undefined;
  let isBusy = false;
  let isClosed = false;
  const counts = { done: 0, failed: 0 };

  async function look(): Promise<void> {
    if (isBusy || database.trouble() !== null) return;
    isBusy = true;
    try {
      let notices: readonly Notice[];
      do {
        notices = await rotateDue(database, deadlineIn(REQUEST_MS));
        counts.done += notices.length;
        // The database notifies the relays as well, so an unconfirmed one loses nothing.
        await Promise.allSettled(notices.map(tell));
      } while (notices.length > 0 && !isClosed);
    } catch (error) {
      counts.failed++;
      log.warn({ err: error }, 'due key rotation failed');
    } finally {
      isBusy = false;
    }
  }

  return {
    start(): void {
      timer = setInterval(() => void look(), everyMs).unref();
    },
    look,
    /** Rotations carried out here, and looks that failed. */
    figures: (): DueFigures => ({ ...counts }),
    close(): void {
      isClosed = true;
      clearInterval(timer);
    },
  };
}
