// Logs handshakes that are answered with a close, so that an operator finds why a radio does not come in.
import type { UserId } from '../../ids.js';
import type { Close } from '../../protocol/closes.js';

/** Whose handshake it was. Without a user: nobody signed the token, or another key did. */
export interface Rejected {
  readonly user?: UserId;
  /** Where the account was read. */
  readonly username?: string;
}

/** Each relay logs so many a second. A fleet that comes back after a fault brings thousands. */
const LINES_PER_SECOND = 10;

interface RejectionsOptions {
  readonly nowMs: () => number;
  readonly log: { info(fields: object, message: string): void };
}

/** Returns what logs one. The first line after those that were left out has their number as `more`. */
export function createRejections({ nowMs, log }: RejectionsOptions) {
  let secondAtMs = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let more = 0;

  return (who: Rejected, { code, reason }: Close): void => {
    if (nowMs() - secondAtMs >= 1000) {
      secondAtMs = nowMs();
      lines = 0;
    }
    if (lines === LINES_PER_SECOND) {
      more++;
      return;
    }
    lines++;
    log.info({ ...who, code, reason, ...(more > 0 && { more }) }, 'handshake rejected');
    more = 0;
  };
}
